#include "cli/up_report.h"

#include "base/strbuf.h"

struct text {
    char text[32];
};

/* 85 ns, 1.2 us, 340 us, 3.4 ms, 1.2 s */
static struct text duration(uint64_t ns)
{
    static const struct {
        uint64_t unit;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}};
    struct text out = {""};
    for (size_t i = 0; i < DSQL_COUNT_OF(units); i++) {
        uint64_t unit = units[i].unit, whole = ns / unit;
        if (whole == 0)
            continue;
        if (whole < 100)
            (void)snprintf(out.text, sizeof(out.text), "%llu.%llu %s", (unsigned long long)whole,
                           (unsigned long long)(ns % unit / (unit / 10)), units[i].name);
        else
            (void)snprintf(out.text, sizeof(out.text), "%llu %s", (unsigned long long)whole,
                           units[i].name);
        return out;
    }
    (void)snprintf(out.text, sizeof(out.text), "%llu ns", (unsigned long long)ns);
    return out;
}

/* 1,234,567 */
static struct text grouped(uint64_t n)
{
    char digits[24];
    struct text out = {""};
    struct dsql_strbuf sb;
    int len = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)n);
    dsql_strbuf_init(&sb, out.text, sizeof(out.text));
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            dsql_strbuf_add_char(&sb, ',');
        dsql_strbuf_add_char(&sb, digits[i]);
    }
    return out;
}

void dsql_up_print_header(FILE *out)
{
    fprintf(out, "%7s %6s %7s %8s %12s %8s %12s %12s\n", "time", "ready", "in use", "opens/s",
            "checkouts/s", "tx/s", "conflicts/s", "checkout p99");
}

void dsql_up_print_second(FILE *out, int64_t second, const struct dsql_status_sample *sample)
{
    fprintf(out, "%5lld s %6llu %7llu %8llu %12s %8s %12llu %12s\n", (long long)second,
            (unsigned long long)sample->ready, (unsigned long long)sample->in_use,
            (unsigned long long)sample->opens, grouped(sample->checkouts).text,
            grouped(sample->commits).text, (unsigned long long)sample->conflicts,
            sample->p99_ns ? duration(sample->p99_ns).text : "-");
    if (sample->empties)
        fprintf(out, "%7s %s checkouts found nothing ready\n", "", grouped(sample->empties).text);
}

bool dsql_up_is_good(const struct dsql_up_outcome *outcome)
{
    return outcome->transfers > 0 && outcome->failed == 0 && outcome->sums_wrong == 0;
}

static void print_discards(FILE *out, const struct dsql_status_totals *totals)
{
    const char *between = "";
    fprintf(out, "  closed         ");
    for (size_t i = 0; i < DSQL_DISCARDS; i++) {
        if (totals->discards[i] == 0)
            continue;
        fprintf(out, "%s%s %s", between, grouped(totals->discards[i]).text,
                dsql_label_value(DSQL_LABEL_DISCARD_REASON, i));
        between = ",\n                 ";
    }
    fprintf(out, "%s\n", between[0] ? "" : "none");
}

void dsql_up_print_summary(FILE *out, const struct dsql_up_summary *summary)
{
    const struct dsql_status_totals *t = &summary->totals;
    const struct dsql_up_outcome *o = &summary->outcome;
    fprintf(out, "\n%lld.%lld s%s: %lld connections, %lld threads, %lld accounts\n",
            (long long)(summary->worked_ns / DSQL_S),
            (long long)(summary->worked_ns % DSQL_S / (100 * DSQL_MS)),
            summary->interrupted ? ", then stopped" : "", (long long)summary->connections,
            (long long)summary->threads, (long long)summary->accounts);
    fprintf(out, "  transactions   %s committed, %s conflicts, %s given up, %s lost, %s failed\n",
            grouped(o->transfers + o->audits).text, grouped(t->conflicts).text,
            grouped(o->gave_up).text, grouped(o->lost).text, grouped(o->failed).text);
    fprintf(out, "  checkouts      %s: p50 %s, p99 %s, p99.9 %s, longest %s\n",
            grouped(t->checkouts).text, duration(t->p50_ns).text, duration(t->p99_ns).text,
            duration(t->p999_ns).text, duration(t->max_ns).text);
    fprintf(out, "  found empty    %s; %s had to wait for a connection\n", grouped(t->empties).text,
            grouped(t->waits).text);
    fprintf(out,
            "  opens          %s, at most %s in a second; the budget is %.0f a second, %lld at "
            "once\n",
            grouped(t->opens).text, grouped(t->opens_peak).text, summary->rate,
            (long long)summary->burst);
    print_discards(out, t);
    if (o->sums_wrong)
        fprintf(out, "  THE SUM IS WRONG: %lld instead of %lld, in %s of %s audits\n",
                (long long)o->sum, (long long)o->expected_sum, grouped(o->sums_wrong).text,
                grouped(o->audits).text);
    else
        fprintf(out, "  sum            %lld in each of %s audits, as it must be\n",
                (long long)o->sum, grouped(o->audits).text);
    if (o->first.rc)
        fprintf(out, "  first failure  %s%s%s\n", o->first.message, o->first.hint[0] ? ": " : "",
                o->first.hint);
}

static void add_number(struct dsql_strbuf *sb, const char *name, uint64_t value)
{
    dsql_strbuf_addf(sb, ",\n  \"%s\": %llu", name, (unsigned long long)value);
}

static void add_text(struct dsql_strbuf *sb, const char *name, const char *text)
{
    dsql_strbuf_addf(sb, ",\n  \"%s\": ", name);
    if (text)
        dsql_strbuf_add_json(sb, dsql_span_of(text));
    else
        dsql_strbuf_add_str(sb, "null");
}

void dsql_up_print_json(FILE *out, const struct dsql_up_summary *summary)
{
    char memory[8192];
    struct dsql_strbuf sb;
    const struct dsql_status_totals *t = &summary->totals;
    const struct dsql_up_outcome *o = &summary->outcome;
    dsql_strbuf_init(&sb, memory, sizeof(memory));
    dsql_strbuf_addf(&sb, "{\n  \"good\": %s", dsql_up_is_good(o) ? "true" : "false");
    add_text(&sb, "endpoint", summary->endpoint);
    add_text(&sb, "status_page", summary->url);
    dsql_strbuf_add_str(&sb, ",\n  \"seconds\": ");
    dsql_strbuf_add_f64(&sb, (double)summary->worked_ns / (double)DSQL_S);
    dsql_strbuf_addf(&sb, ",\n  \"interrupted\": %s", summary->interrupted ? "true" : "false");
    add_number(&sb, "connections", (uint64_t)summary->connections);
    add_number(&sb, "threads", (uint64_t)summary->threads);
    add_number(&sb, "accounts", (uint64_t)summary->accounts);
    add_number(&sb, "transfers", o->transfers);
    add_number(&sb, "audits", o->audits);
    add_number(&sb, "conflicts", t->conflicts);
    add_number(&sb, "given_up", o->gave_up);
    add_number(&sb, "lost", o->lost);
    add_number(&sb, "failed", o->failed);
    add_text(&sb, "first_failure", o->first.rc ? o->first.message : NULL);
    dsql_strbuf_addf(&sb, ",\n  \"sum\": %lld,\n  \"expected_sum\": %lld", (long long)o->sum,
                     (long long)o->expected_sum);
    add_number(&sb, "sums_wrong", o->sums_wrong);
    add_number(&sb, "checkouts", t->checkouts);
    add_number(&sb, "waits", t->waits);
    add_number(&sb, "empties", t->empties);
    dsql_strbuf_addf(&sb,
                     ",\n  \"checkout_ns\": {\"p50\": %llu, \"p99\": %llu, \"p999\": %llu, "
                     "\"max\": %llu}",
                     (unsigned long long)t->p50_ns, (unsigned long long)t->p99_ns,
                     (unsigned long long)t->p999_ns, (unsigned long long)t->max_ns);
    add_number(&sb, "opens", t->opens);
    add_number(&sb, "opens_peak", t->opens_peak);
    dsql_strbuf_add_str(&sb, ",\n  \"discards\": {");
    for (size_t i = 0; i < DSQL_DISCARDS; i++)
        dsql_strbuf_addf(&sb, "%s\"%s\": %llu", i ? ", " : "",
                         dsql_label_value(DSQL_LABEL_DISCARD_REASON, i),
                         (unsigned long long)t->discards[i]);
    dsql_strbuf_add_str(&sb, "}\n}\n");
    fputs(memory, out);
}

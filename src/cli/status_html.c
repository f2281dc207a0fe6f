/*
 * The status page: status_page.html with two places filled in. NONCE becomes the answer's nonce;
 * the table of the moment goes where <!--TABLE--> stands, for browsers that run no scripts.
 */
#include "cli/status_page.h"
#include "cli/status_state.h"

static void add_escaped(struct dsql_strbuf *sb, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            dsql_strbuf_add_str(sb, "&lt;");
        else if (*text == '&')
            dsql_strbuf_add_str(sb, "&amp;");
        else if (*text == '"')
            dsql_strbuf_add_str(sb, "&quot;");
        else
            dsql_strbuf_add_char(sb, *text);
    }
}

static void add_row(struct dsql_strbuf *sb, const char *name, int64_t value)
{
    dsql_strbuf_addf(sb, "<tr><th scope=row>%s<td>%lld\n", name, (long long)value);
}

static void add_latency(struct dsql_strbuf *sb, const char *name, uint64_t ns)
{
    dsql_strbuf_addf(sb, "<tr><th scope=row>checkout %s<td>%llu.%03llu µs\n", name,
                     (unsigned long long)(ns / 1000), (unsigned long long)(ns % 1000));
}

static void add_table(struct dsql_strbuf *sb, struct dsql_status *status)
{
    struct dsql_status_view view = {0};
    struct dsql_status_totals totals;
    status->options.look(status->options.look_arg, &view);
    dsql_status_totals(status, &totals);
    dsql_strbuf_add_str(sb, "<table><caption>");
    add_escaped(sb, status->title);
    dsql_strbuf_add_str(sb, " at ");
    add_escaped(sb, status->endpoint);
    dsql_strbuf_addf(sb, ", %s</caption>\n", dsql_status_state(&view));
    add_row(sb, "target", view.pool.target);
    add_row(sb, "ready", view.pool.ready);
    add_row(sb, "in use", view.pool.in_use);
    add_row(sb, "opening", view.pool.opening);
    add_row(sb, "callers waiting", view.pool.waiting);
    add_row(sb, "opens in this second", view.pool.opens_per_second[0]);
    add_row(sb, "opens a second, budget", (int64_t)view.pool.rate);
    add_row(sb, "checkouts", (int64_t)totals.checkouts);
    add_row(sb, "checkouts that found nothing", (int64_t)totals.empties);
    add_latency(sb, "p50", totals.p50_ns);
    add_latency(sb, "p99", totals.p99_ns);
    add_latency(sb, "p99.9", totals.p999_ns);
    add_row(sb, "opens", (int64_t)totals.opens);
    for (size_t i = 0; i < DSQL_DISCARDS; i++) {
        if (totals.discards[i] == 0)
            continue;
        dsql_strbuf_add_str(sb, "<tr><th scope=row>closed: ");
        dsql_strbuf_addf(sb, "%s<td>%llu\n", dsql_label_value(DSQL_LABEL_DISCARD_REASON, i),
                         (unsigned long long)totals.discards[i]);
    }
    for (size_t i = 0; i < view.pool.error_count; i++) {
        dsql_strbuf_addf(sb, "<tr><th scope=row>error, %llu times<td>",
                         (unsigned long long)view.pool.errors[i].count);
        add_escaped(sb, view.pool.errors[i].message);
        dsql_strbuf_add_char(sb, '\n');
    }
    dsql_strbuf_add_str(sb, "</table>\n");
}

/* Copies what stands before the first of the two marks, and answers which it is. */
enum mark { MARK_END, MARK_NONCE, MARK_TABLE };

static enum mark copy_upto_mark(struct dsql_strbuf *sb, struct dsql_span *rest)
{
    static const struct dsql_span nonce = {"NONCE", 5}, table = {"<!--TABLE-->", 12};
    for (size_t i = 0; i < rest->len; i++) {
        struct dsql_span here = dsql_span_from(*rest, i);
        bool is_nonce = dsql_span_starts(here, nonce);
        if (!is_nonce && !dsql_span_starts(here, table))
            continue;
        dsql_strbuf_add(sb, dsql_span_first(*rest, i));
        *rest = dsql_span_from(here, is_nonce ? nonce.len : table.len);
        return is_nonce ? MARK_NONCE : MARK_TABLE;
    }
    dsql_strbuf_add(sb, *rest);
    return MARK_END;
}

void dsql_page_status_html(void *arg, struct dsql_httpd_reply *reply)
{
    struct dsql_span rest = {(const char *)dsql_status_page, dsql_status_page_len};
    enum mark mark;
    reply->type = "text/html; charset=utf-8";
    while ((mark = copy_upto_mark(&reply->body, &rest)) != MARK_END) {
        if (mark == MARK_NONCE)
            dsql_strbuf_add_str(&reply->body, reply->nonce);
        else
            add_table(&reply->body, arg);
    }
}

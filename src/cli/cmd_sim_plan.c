/* `dsql sim plan`: whether a fleet fits the budget, before it is deployed. */
#include <stdio.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/shown.h"
#include "cli/commands.h"
#include "sim/plan.h"

static const struct dsql_option options[] = {
    {"services", 'n', "N", "processes; default: 4"},
    {"conns", 'c', "N", "connections each keeps; default: 100"},
    {"lifetime", 0, "TIME", "how long a connection lives; default: 11m"},
    {"jitter", 0, "TIME", "spread around that; default: 2m"},
    {"guard", 0, "TIME", "guard window; default: 45s"},
    {"rate", 0, "N", "connects a second of the whole fleet; default: 100"},
    {"burst", 0, "N", "connects at once; default: 100"},
    {"cap", 0, "N", "connections of the whole cluster; default: 10000"},
    {"latency", 0, "TIME", "time a connect takes; default: 60ms"},
    {"stagger", 0, "TIME", "longest wait before a process connects; default: 5s"},
    {"runs", 0, "N", "seeds to try; default: 5"},
    {"seed", 's', "N", "the first of them; default: 42"},
    {"json", 0, NULL, "as JSON"},
};

struct number {
    const char *option;
    bool is_time;
    int64_t low, high;
    int64_t *value;
};

static enum dsql_rc read_numbers(const struct dsql_args *args, const struct number *numbers,
                                 size_t count, struct dsql_err *err)
{
    for (size_t i = 0; i < count; i++) {
        const struct number *number = &numbers[i];
        enum dsql_rc rc = (number->is_time ? dsql_args_duration : dsql_args_number)(
            args, number->option, number->low, number->high, number->value, err);
        if (rc)
            return rc;
    }
    return DSQL_OK;
}

static enum dsql_rc read_question(const struct dsql_args *args, struct dsql_sim_question *question,
                                  struct dsql_err *err)
{
    int64_t seed = 42;
    *question = (struct dsql_sim_question){
        .processes = 4,
        .connections_each = 100,
        .lifetime_ns = 11 * DSQL_M,
        .jitter_ns = 2 * DSQL_M,
        .guard_ns = 45 * DSQL_S,
        .rate = 100,
        .burst = 100,
        .cap = 10000,
        .latency_ns = 60 * DSQL_MS,
        .stagger_ns = 5 * DSQL_S,
        .runs = 5,
    };
    const struct number numbers[] = {
        {"services", false, 1, 10000, &question->processes},
        {"conns", false, 1, 10000, &question->connections_each},
        {"lifetime", true, 10 * DSQL_S, DSQL_H, &question->lifetime_ns},
        {"jitter", true, 0, DSQL_H, &question->jitter_ns},
        {"guard", true, 0, 30 * DSQL_M, &question->guard_ns},
        {"rate", false, 1, 1000, &question->rate},
        {"burst", false, 1, 1000, &question->burst},
        {"cap", false, 1, 1000000, &question->cap},
        {"latency", true, 0, DSQL_M, &question->latency_ns},
        {"stagger", true, 0, 10 * DSQL_M, &question->stagger_ns},
        {"runs", false, 1, 1000, &question->runs},
        {"seed", false, 0, INT64_MAX, &seed},
    };
    enum dsql_rc rc = read_numbers(args, numbers, DSQL_COUNT_OF(numbers), err);
    if (rc)
        return rc;
    question->seed = (uint64_t)seed;
    if (question->lifetime_ns - question->jitter_ns / 2 <= question->guard_ns)
        return dsql_err_set(err, DSQL_INVALID,
                            "--guard must be shorter than --lifetime less half of --jitter: such "
                            "connections would never be handed out");
    if (question->lifetime_ns + question->jitter_ns / 2 > DSQL_H - question->guard_ns)
        return dsql_err_set(err, DSQL_INVALID,
                            "--lifetime, half of --jitter and --guard together exceed the 60m that "
                            "the service lets a connection live");
    if (question->processes * question->connections_each > 1000000)
        return dsql_err_set(err, DSQL_INVALID,
                            "more than a million connections: no cluster holds "
                            "them, and neither does this program");
    return DSQL_OK;
}

static void show_progress(int64_t done, int64_t of)
{
    if (isatty(STDERR_FILENO) == 1)
        fprintf(stderr, "\r%lld of %lld runs%s", (long long)done, (long long)of,
                done == of ? "\r\033[K" : "");
}

static void print_text(const struct dsql_sim_question *question,
                       const struct dsql_sim_answer *answer)
{
    printf("%lld processes with %lld connections each: %lld of %lld; they live for %s\n",
           (long long)question->processes, (long long)question->connections_each,
           (long long)answer->wanted, (long long)question->cap,
           dsql_duration_shown(question->lifetime_ns).text);
    if (answer->by_arithmetic) {
        printf("  does NOT fit: %s\n", answer->advice[0]);
        return;
    }
    printf("  full after         %s\n",
           answer->full_ns < 0 ? "never" : dsql_duration_shown(answer->full_ns).text);
    printf(
        "  opens a second     %.0f at most while it starts; then %.1f on average, %.0f at most\n",
        answer->start_peak, answer->steady, answer->steady_peak);
    printf("  share of the rate  %.1f %% of %lld a second, to stay as it is\n", answer->share * 100,
           (long long)question->rate);
    printf("  connections        %lld at most, %.0f %% of the cap\n",
           (long long)answer->peak_connections,
           100 * (double)answer->peak_connections / (double)question->cap);
    printf("  refused (53400)    in %.0f %% of %lld runs\n", answer->refused * 100,
           (long long)question->runs);
    for (size_t i = 0; i < answer->advice_count; i++)
        printf("  -> %s\n", answer->advice[i]);
    if (!dsql_sim_plan_fits(answer))
        puts("  does NOT fit: it never fills");
    else if (answer->advice_count == 0)
        puts("  fits as it is");
}

static void print_json(const struct dsql_sim_question *question,
                       const struct dsql_sim_answer *answer)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init_heap(&sb, 1 << 16);
    dsql_strbuf_addf(&sb,
                     "{\"wanted\":%lld,\"cap\":%lld,\"full_seconds\":", (long long)answer->wanted,
                     (long long)question->cap);
    if (answer->full_ns < 0)
        dsql_strbuf_add_str(&sb, "null");
    else
        dsql_strbuf_add_f64(&sb, (double)answer->full_ns / (double)DSQL_S);
    dsql_strbuf_addf(&sb, ",\"simulated\":%s", answer->by_arithmetic ? "false" : "true");
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"start_peak_per_second", answer->start_peak},
        {"steady_per_second", answer->steady},
        {"steady_peak_per_second", answer->steady_peak},
        {"share_of_rate", answer->share},
        {"peak_connections", (double)answer->peak_connections},
        {"runs_refused", answer->refused},
        {"requests_throttled", answer->throttled},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(numbers) && !answer->by_arithmetic; i++) {
        dsql_strbuf_addf(&sb, ",\"%s\":", numbers[i].name);
        dsql_strbuf_add_f64(&sb, numbers[i].value);
    }
    dsql_strbuf_addf(&sb, ",\"fits\":%s,\"advice\":[",
                     dsql_sim_plan_fits(answer) ? "true" : "false");
    for (size_t i = 0; i < answer->advice_count; i++) {
        dsql_strbuf_add_str(&sb, i > 0 ? "," : "");
        dsql_strbuf_add_json(&sb, dsql_span_of(answer->advice[i]));
    }
    dsql_strbuf_add_str(&sb, "]}\n");
    fputs(sb.ptr, stdout);
    dsql_strbuf_fini(&sb);
}

static int run(const struct dsql_args *args)
{
    struct dsql_sim_question question;
    struct dsql_sim_answer answer;
    struct dsql_err err;
    if (read_question(args, &question, &err) ||
        dsql_sim_plan(&question, show_progress, &answer, &err))
        return dsql_complain(&err);
    if (dsql_args_has(args, "json"))
        print_json(&question, &answer);
    else
        print_text(&question, &answer);
    return dsql_sim_plan_fits(&answer) ? DSQL_EXIT_OK : DSQL_EXIT_FAILED;
}

const struct dsql_command dsql_cmd_sim_plan = {
    .name = "sim plan",
    .summary = "whether a fleet fits the budget, and what to change",
    .text =
        "Runs a fleet of equal processes on paper, from a start of all at once until every "
        "connection has been replaced, with the code of the production pool and the budget "
        "that fleets share. Says how long it takes to fill, how many connects a second it "
        "makes, what part of the cluster's budget that is, and which settings would serve "
        "better. A fleet that arithmetic already refuses is told so at once, without a run. Ends "
        "with 1 if the fleet never fills.",
    .operand_words = "",
    DSQL_COMMAND_OPTIONS(options),
    .run = run,
};

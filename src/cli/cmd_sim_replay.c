/* `dsql sim replay`: what a pool has decided, done again by this program. */
#include <errno.h>
#include <stdio.h>

#include "base/duration.h"
#include "base/shown.h"
#include "cli/commands.h"
#include "cli/trace_file.h"
#include "sim/replay.h"
#include "sim/replay_page.h"

static const struct dsql_option options[] = {
    {"all", 'a', NULL, "every record: what the keeper asked and was told, and its sleeps, too"},
    {"json", 0, NULL, "one JSON object a line instead of text; the last one is the summary"},
    {"html", 0, "FILE", "write a page with charts"},
    {"quiet", 'q', NULL, "the summary only"},
};

struct printer {
    bool all, json;
    enum dsql_keeper_why sleeping; /* why it slept last */
};

/* What changes the pool is shown; what the keeper asks, and sleeps for the reason shown last, is
 * not. */
static bool is_shown(struct printer *p, const struct dsql_sim_replay_event *e)
{
    const struct dsql_keeper_step *step = &e->reply->step;
    if (p->all)
        return true;
    switch (e->call->kind) {
    case DSQL_KEEPER_CALL_NEXT:
        if (step->what == DSQL_KEEPER_SLEEP) {
            bool news = step->why != p->sleeping;
            p->sleeping = step->why;
            return news;
        }
        return step->what == DSQL_KEEPER_OPEN || step->what == DSQL_KEEPER_CLOSE ||
               step->what == DSQL_KEEPER_CUT || step->what == DSQL_KEEPER_REPORT;
    case DSQL_KEEPER_CALL_UNPREPARED:
    case DSQL_KEEPER_CALL_OPENED:
    case DSQL_KEEPER_CALL_FAILED:
    case DSQL_KEEPER_CALL_ABANDONED:
    case DSQL_KEEPER_CALL_DRAIN:
        return true;
    case DSQL_KEEPER_CALL_TURN:
    case DSQL_KEEPER_CALL_SLOTS:
    case DSQL_KEEPER_CALL_CLAIMED:
    case DSQL_KEEPER_CALL_PERMIT:
    case DSQL_KEEPER_CALL_PREPARED:
    case DSQL_KEEPER_CALL_CLOSED:
    case DSQL_KEEPER_CALL_DISCARD:
    case DSQL_KEEPER_CALL_DISCARD_NOW:
    case DSQL_KEEPER_CALLS:
        break;
    }
    return false;
}

static void print_event(void *arg, const struct dsql_sim_replay_event *e)
{
    struct printer *p = arg;
    char text[400];
    struct dsql_strbuf sb;
    if (e->gap && !p->json)
        puts("           ... a part of the recording is missing ...");
    if (!is_shown(p, e))
        return;
    const struct dsql_slots *slots = &e->keeper->slots;
    dsql_strbuf_init(&sb, text, sizeof(text));
    dsql_sim_replay_describe(&sb, e);
    if (!p->json) {
        printf("%5lld.%06lld  %4u open %3u opening  %s\n", (long long)(e->at.ns / DSQL_S),
               (long long)(e->at.ns % DSQL_S / DSQL_US), slots->open, slots->opening, text);
        return;
    }
    bool step = e->call->kind == DSQL_KEEPER_CALL_NEXT;
    printf(
        "{\"record\":%llu,\"at_ns\":%lld,\"what\":\"%s\",\"open\":%u,\"opening\":%u,\"text\":\"%s\"}\n",
        (unsigned long long)e->number, (long long)e->at.ns,
        step ? dsql_keeper_do_name(e->reply->step.what) : dsql_keeper_call_name(e->call->kind),
        slots->open, slots->opening, text); /* words of this program: nothing to escape */
}

static void print_summary(const struct dsql_sim_replay *r, bool json)
{
    char began[40];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, began, sizeof(began));
    dsql_wall_format(&sb, r->began);
    int64_t lasted_ns = dsql_mono_since(r->last, r->base);
    if (json) {
        printf("{\"began\":\"%s\",\"lasted_ns\":%lld,\"version\":\"%s\",\"turns\":%llu,"
               "\"records\":%llu,\"decisions\":%llu,\"gaps\":%llu,\"closed\":%s,\"equal\":%s",
               began, (long long)lasted_ns, r->version, (unsigned long long)r->turns,
               (unsigned long long)r->records, (unsigned long long)r->decisions,
               (unsigned long long)r->gaps, r->closed ? "true" : "false",
               r->differs ? "false" : "true");
        printf(r->differs ? ",\"difference\":\"%s\"}\n" : "}\n", r->difference);
        return;
    }
    printf("recorded from %s for %s by libdsql %s: a pool of %u, target %u\n", began,
           dsql_duration_shown(lasted_ns).text, r->version, r->config.max_open, r->config.target);
    printf("%llu turns, %llu records, %llu gaps%s\n", (unsigned long long)r->turns,
           (unsigned long long)r->records, (unsigned long long)r->gaps,
           r->closed ? "" : "; it was not ended: the pool goes on, or was killed");
    if (r->differs)
        printf("DIFFERS after %llu equal decisions: %s\n", (unsigned long long)r->decisions,
               r->difference);
    else
        printf("all %llu decisions equal\n", (unsigned long long)r->decisions);
}

static enum dsql_rc write_page(const char *html, const char *path, struct dsql_span file,
                               const struct dsql_sim_replay *replay, struct dsql_err *err)
{
    FILE *out = fopen(html, "we");
    enum dsql_rc rc = DSQL_OK;
    if (out)
        rc = dsql_sim_replay_page(file, path, replay, out, err);
    if (!out || ferror(out) || fclose(out) != 0)
        return dsql_err_set(err, DSQL_IO, "%s: %s", dsql_shown_str(html).text, strerror(errno));
    return rc;
}

static int run(const struct dsql_args *args)
{
    const char *path = args->operands[0], *html = dsql_args_get(args, "html");
    struct printer printer = {
        .all = dsql_args_has(args, "all"),
        .json = dsql_args_has(args, "json"),
    };
    struct dsql_sim_replay replay;
    struct dsql_err err = {0}, page_err = {0};
    struct dsql_span file = {0};
    if (dsql_trace_file_map(path, &file, &err))
        return dsql_complain(&err);
    enum dsql_rc rc = dsql_sim_replay(file, dsql_args_has(args, "quiet") ? NULL : print_event,
                                      &printer, &replay, &err);
    if (rc)
        dsql_trace_file_blame(path, &err);
    if (replay.records > 0)
        print_summary(&replay, printer.json);
    enum dsql_rc drawn = DSQL_OK;
    if (html && replay.records > 0)
        drawn = write_page(html, path, file, &replay, &page_err);
    dsql_trace_file_unmap(file);
    if (rc || drawn)
        return dsql_complain(rc ? &err : &page_err);
    return replay.differs ? DSQL_EXIT_FAILED : DSQL_EXIT_OK;
}

const struct dsql_command dsql_cmd_sim_replay = {
    .name = "sim replay",
    .operands = "FILE",
    .summary = "do again what a recorded pool decided",
    .text =
        "Reads a recording that a pool with DSQL_TRACE has made, tells the keeper of this program "
        "what that pool's keeper was told, and compares each decision with the recorded one. Prints "
        "the decisions with their reasons: when it was, how many connections were open and coming, "
        "what was done and why.\n\n"
        "Ends with 1 at the first decision that differs, and says which: this program is another "
        "one than that which recorded, or its randomness or clock is not where it should be. A "
        "file that is cut off or damaged is replayed up to there; that ends with 2.",
    .operands_min = 1,
    .operands_max = 1,
    DSQL_COMMAND_OPTIONS(options),
    .run = run,
};

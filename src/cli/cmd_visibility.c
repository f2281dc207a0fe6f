/* `dsql visibility check | repair | compact`: Temporal's visibility in a cluster. */
#include <stdlib.h>

#include "base/strbuf.h"
#include "cli/commands.h"
#include "dsql/pool.h"
#include "dsql/visibility.h"

struct teller {
    bool json;
    struct dsql_strbuf list; /* JSON: the findings so far */
    int64_t told_runs;       /* progress: up to here */
};

enum { LIST_MAX = 8 << 20, CONNECTIONS = 2, PROGRESS_EVERY = 10000 };

static struct dsql_span span_of(struct dsql_slice slice)
{
    return (struct dsql_span){slice.ptr ? slice.ptr : "", slice.len};
}

static void see(void *arg, const struct dsql_visibility_finding *finding)
{
    struct teller *teller = arg;
    if (!teller->json) {
        printf("%s: namespace %.*s%s%.*s: %s%s\n", finding->kind,
               DSQL_SPAN_ARG(span_of(finding->namespace_id)), finding->run_id.len ? " run " : "",
               DSQL_SPAN_ARG(span_of(finding->run_id)), finding->detail,
               finding->repaired ? " (repaired)" : "");
        (void)fflush(stdout);
        return;
    }
    struct dsql_strbuf *list = &teller->list;
    dsql_strbuf_addf(list, "%s\n  {\"kind\": \"%s\", \"namespace\": ", list->len ? "," : "",
                     finding->kind);
    dsql_strbuf_add_json(list, span_of(finding->namespace_id));
    dsql_strbuf_add_str(list, ", \"run\": ");
    dsql_strbuf_add_json(list, span_of(finding->run_id));
    dsql_strbuf_add_str(list, ", \"detail\": ");
    dsql_strbuf_add_json(list, dsql_span_of(finding->detail));
    dsql_strbuf_addf(list, ", \"repaired\": %s}", finding->repaired ? "true" : "false");
}

static void progress(void *arg, int64_t runs, int64_t postings)
{
    struct teller *teller = arg;
    if (teller->json || runs - teller->told_runs < PROGRESS_EVERY)
        return;
    teller->told_runs = runs;
    printf("%lld runs, %lld postings so far\n", (long long)runs, (long long)postings);
    (void)fflush(stdout);
}

static void override(char *field, size_t cap, const char *value)
{
    if (value)
        (void)snprintf(field, cap, "%s", value);
}

struct place {
    struct dsql_pool *pool;
    struct dsql_visibility *visibility;
};

static enum dsql_rc place_open(const struct dsql_args *args, struct place *place,
                               struct dsql_err *err)
{
    struct dsql_pool_options options;
    enum dsql_rc rc = dsql_pool_options_env(&options, err);
    if (rc)
        return rc;
    override(options.connection.endpoint, sizeof(options.connection.endpoint),
             dsql_args_get(args, "endpoint"));
    override(options.connection.region, sizeof(options.connection.region),
             dsql_args_get(args, "region"));
    override(options.connection.user, sizeof(options.connection.user), dsql_args_get(args, "user"));
    if (!options.connection.endpoint[0]) {
        (void)dsql_err_set(err, DSQL_INVALID, "which cluster?");
        dsql_err_hint(err, "give --endpoint or set DSQL_ENDPOINT");
        return DSQL_INVALID;
    }
    dsql_pool_options_resize(&options, CONNECTIONS);
    options.budget.staggered_startup_ns = 0;
    rc = dsql_pool_open(&options, &place->pool, err);
    if (!rc)
        rc = dsql_visibility_open(place->pool, NULL, &place->visibility, err);
    if (!rc)
        rc = dsql_visibility_verify_schema(place->visibility, 30 * INT64_C(1000000000), err);
    return rc;
}

static void place_close(struct place *place)
{
    dsql_visibility_close(place->visibility);
    if (place->pool)
        dsql_pool_close(place->pool);
}

static void print_checked(const struct teller *teller, const struct dsql_visibility_checked *c,
                          bool repairs)
{
    if (teller->json) {
        printf("{\"ok\": %s, \"runs\": %lld, \"tombstones\": %lld, \"postings\": %lld, "
               "\"namespaces\": %lld, \"repaired\": %lld, \"findings\": [%.*s%s]}\n",
               c->findings == c->repaired ? "true" : "false", (long long)c->runs,
               (long long)c->tombstones, (long long)c->postings, (long long)c->namespaces,
               (long long)c->repaired, DSQL_SPAN_ARG(dsql_strbuf_span(&teller->list)),
               teller->list.len ? "\n" : "");
        return;
    }
    printf("%lld runs, %lld tombstones, %lld postings, counters of %lld namespaces: ",
           (long long)c->runs, (long long)c->tombstones, (long long)c->postings,
           (long long)c->namespaces);
    if (c->findings == 0)
        printf("all agree\n");
    else if (!repairs)
        printf("%lld findings; 'dsql visibility repair' mends them\n", (long long)c->findings);
    else
        printf("%lld findings, %lld repaired\n", (long long)c->findings, (long long)c->repaired);
}

static int run(const struct dsql_args *args, bool repairs)
{
    struct teller teller = {.json = dsql_args_has(args, "json")};
    const struct dsql_visibility_watch watch = {see, progress, &teller};
    struct dsql_visibility_checked checked = {0};
    struct place place = {0};
    struct dsql_err err;
    dsql_strbuf_init_heap(&teller.list, LIST_MAX);
    enum dsql_rc rc = place_open(args, &place, &err);
    if (!rc)
        rc = repairs ? dsql_visibility_repair(place.visibility, &watch, NULL, &checked, &err)
                     : dsql_visibility_check(place.visibility, &watch, NULL, &checked, &err);
    if (!rc)
        print_checked(&teller, &checked, repairs);
    place_close(&place);
    dsql_strbuf_fini(&teller.list);
    if (rc)
        return dsql_complain(&err);
    return checked.findings == checked.repaired ? DSQL_EXIT_OK : DSQL_EXIT_FAILED;
}

static int run_check(const struct dsql_args *args)
{
    return run(args, false);
}

static int run_repair(const struct dsql_args *args)
{
    return run(args, true);
}

static int run_compact(const struct dsql_args *args)
{
    struct dsql_visibility_compacted total = {0}, done = {.more = true};
    struct place place = {0};
    struct dsql_err err;
    enum dsql_rc rc = place_open(args, &place, &err);
    while (!rc && done.more) {
        rc = dsql_visibility_compact(place.visibility, NULL, &done, &err);
        total.counters += done.counters;
        total.tombstones += done.tombstones;
    }
    place_close(&place);
    if (rc)
        return dsql_complain(&err);
    printf(dsql_args_has(args, "json") ? "{\"counters\": %lld, \"tombstones\": %lld}\n"
                                       : "%lld counters replaced by their sums, %lld tombstones "
                                         "that had ended removed\n",
           (long long)total.counters, (long long)total.tombstones);
    return DSQL_EXIT_OK;
}

static const struct dsql_option options[] = {
    {"endpoint", 0, "HOST", "the cluster (DSQL_ENDPOINT)"},
    {"region", 0, "REGION", "AWS region, when the host name does not tell it (DSQL_REGION)"},
    {"user", 0, "ROLE", "database role (DSQL_USER, which is admin)"},
    {"json", 0, NULL, "one JSON object instead of lines"},
};

const struct dsql_command dsql_cmd_visibility = {
    .name = "visibility",
    .summary = "Temporal's visibility in the cluster",
    .text = "Compares, mends and compacts the tables of Temporal's visibility, while the server "
            "runs. `dsql schema` creates them.",
};

const struct dsql_command dsql_cmd_visibility_check = {
    .name = "visibility check",
    .summary = "compare runs, their search attributes and the counters",
    .text =
        "Reads every run with its postings and the parts of its memo, 100 at a time, and "
        "compares the counters of each namespace with its runs in one snapshot. Writes that are under way are no finding. "
        "Ends with status 1 if there is a finding. Changes nothing.\n"
        "\n"
        "    dsql visibility check --json",
    DSQL_COMMAND_OPTIONS(options),
    .run = run_check,
};

const struct dsql_command dsql_cmd_visibility_repair = {
    .name = "visibility repair",
    .summary = "check, and mend what is found",
    .text = "Does what `dsql visibility check` does, and mends each run in a transaction of its "
            "own: the row counts, postings and counters follow it. May be run at any time, and "
            "again. Ends with status 1 if something could not be mended.",
    DSQL_COMMAND_OPTIONS(options),
    .run = run_repair,
};

const struct dsql_command dsql_cmd_visibility_compact = {
    .name = "visibility compact",
    .summary = "sum up counters, remove ended tombstones",
    .text = "The Temporal server does this by itself every half minute. It is for clusters whose "
            "servers were down or could not keep up, when a count says so.",
    DSQL_COMMAND_OPTIONS(options),
    .run = run_compact,
};

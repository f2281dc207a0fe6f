/* `dsql schema apply | verify | version | drop`: the tables of Temporal's store and visibility. */
#include <libpq-fe.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/schema_connect.h"
#include "schema/schema.h"
#include "temporal/schema_deep.h"

/* What is told on the way: lines for people on standard output, or one JSON object at the end. */
struct teller {
    bool json, quiet;
    size_t steps, total;
    size_t created, existed, added;
    struct dsql_strbuf list; /* JSON: the items so far */
};

static void tell(void *arg, const char *state, const char *what, struct dsql_span name,
                 const char *detail)
{
    struct teller *teller = arg;
    bool waiting = strcmp(state, "waiting") == 0, added = strcmp(state, "added") == 0;
    bool within = waiting || added; /* a step that is not over yet */
    teller->steps += !within;
    teller->added += added;
    if (strcmp(state, "exists") == 0)
        teller->existed++;
    if (strcmp(state, "created") == 0 || strcmp(state, "rebuilt") == 0)
        teller->created++;
    if (teller->json && !waiting) {
        dsql_strbuf_add_str(&teller->list,
                            teller->list.len ? ",\n  {\"state\": " : "\n  {\"state\": ");
        dsql_strbuf_add_json(&teller->list, dsql_span_of(state));
        dsql_strbuf_addf(&teller->list, ", \"what\": \"%s\", \"name\": ", what);
        dsql_strbuf_add_json(&teller->list, name);
        dsql_strbuf_add_str(&teller->list, ", \"detail\": ");
        dsql_strbuf_add_json(&teller->list, dsql_span_of(detail));
        dsql_strbuf_add_char(&teller->list, '}');
    } else if (!teller->json && !(teller->quiet && strcmp(state, "exists") == 0)) {
        if (teller->total > 0)
            printf("[%2zu/%zu] ", teller->steps + within, teller->total);
        printf("%s %s %.*s%s%s\n", state, what, DSQL_SPAN_ARG(name), detail[0] ? ": " : "", detail);
        (void)fflush(stdout);
    }
}

enum { LIST_MAX = 1 << 20 };

static enum dsql_rc begin(const struct dsql_args *args, struct teller *teller, PGconn **conn,
                          struct dsql_err *err)
{
    *teller = (struct teller){.json = dsql_args_has(args, "json")};
    dsql_strbuf_init_heap(&teller->list, LIST_MAX);
    return dsql_schema_connect(dsql_args_get(args, "endpoint"), dsql_args_get(args, "region"),
                               dsql_args_get(args, "user"), conn, err);
}

static int finish(struct teller *teller, PGconn *conn, enum dsql_rc rc, const struct dsql_err *err,
                  int status)
{
    PQfinish(conn);
    dsql_strbuf_fini(&teller->list);
    return rc ? dsql_complain(err) : status;
}

static void print_list(const struct teller *teller, const char *name)
{
    printf("\"%s\": [%.*s%s]}\n", name, DSQL_SPAN_ARG(dsql_strbuf_span(&teller->list)),
           teller->list.len ? "\n" : "");
}

static const struct dsql_schema *const schemas[] = {&dsql_schema_store, &dsql_schema_visibility};

/* The versions of this program, as members of a JSON object. */
static void print_versions(void)
{
    printf("{\"version\": \"%s\", \"visibility\": \"%s\", ", dsql_schema_store.version,
           dsql_schema_visibility.version);
}

static int run_apply(const struct dsql_args *args)
{
    struct teller teller;
    struct dsql_schema_watch watch = {.see = tell, .arg = &teller};
    struct dsql_err err;
    PGconn *conn = NULL;
    enum dsql_rc rc = begin(args, &teller, &conn, &err);
    for (size_t i = 0; i < DSQL_COUNT_OF(schemas); i++)
        teller.total += dsql_schema_steps(schemas[i]);
    teller.total--; /* a row is no step to speak of */
    for (size_t i = 0; !rc && i < DSQL_COUNT_OF(schemas); i++)
        rc = dsql_schema_apply(schemas[i], conn, &watch, &err);
    if (!rc && teller.json) {
        print_versions();
        printf("\"created\": %zu, \"existed\": %zu, \"columns_added\": %zu, ", teller.created,
               teller.existed, teller.added);
        print_list(&teller, "steps");
    } else if (!rc) {
        printf("schema version %s, visibility %s: %zu created, %zu already there",
               dsql_schema_store.version, dsql_schema_visibility.version, teller.created,
               teller.existed);
        if (teller.added > 0)
            printf(", %zu columns added", teller.added);
        printf("\n");
    }
    return finish(&teller, conn, rc, &err, DSQL_EXIT_OK);
}

static void print_verdict(const struct dsql_schema_findings *found, size_t values, bool deep)
{
    if (found->mendable + found->shapes == 0)
        printf("schema version %s, visibility %s: complete%s\n", dsql_schema_store.version,
               dsql_schema_visibility.version,
               deep && values == 0 ? ", and so is every large value" : "");
    if (values > 0)
        printf("%zu problems with large values: keep the output, and ask the maintainers\n",
               values);
    if (found->mendable > 0)
        printf("%zu problems that 'dsql schema apply' mends\n", found->mendable);
    if (found->shapes > 0)
        printf("%zu problems that it does not touch: " DSQL_SCHEMA_SHAPES_HINT "\n", found->shapes);
}

static enum dsql_rc verify_all(PGconn *conn, const struct dsql_schema_watch *watch,
                               struct dsql_schema_findings *found, struct dsql_err *err)
{
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; !rc && i < DSQL_COUNT_OF(schemas); i++) {
        struct dsql_schema_findings one = {0};
        rc = dsql_schema_verify(schemas[i], conn, watch, &one, err);
        found->mendable += one.mendable;
        found->shapes += one.shapes;
    }
    return rc;
}

static int run_verify(const struct dsql_args *args)
{
    struct teller teller;
    struct dsql_schema_watch watch = {.see = tell, .arg = &teller};
    struct dsql_err err;
    PGconn *conn = NULL;
    struct dsql_schema_findings found = {0};
    bool deep = dsql_args_has(args, "deep");
    size_t values = 0;
    enum dsql_rc rc = begin(args, &teller, &conn, &err);
    if (!rc)
        rc = verify_all(conn, &watch, &found, &err);
    size_t problems = found.mendable + found.shapes;
    if (!rc && deep && problems == 0) /* in tables that are as they should be */
        rc = dsql_schema_verify_values(conn, &watch, &values, &err);
    problems += values;
    if (!rc && teller.json) {
        print_versions();
        printf("\"ok\": %s, \"mendable\": %zu, \"other_shape\": %zu, \"large_values\": %zu, ",
               problems ? "false" : "true", found.mendable, found.shapes, values);
        print_list(&teller, "problems");
    } else if (!rc) {
        print_verdict(&found, values, deep);
    }
    return finish(&teller, conn, rc, &err, problems ? DSQL_EXIT_FAILED : DSQL_EXIT_OK);
}

/* "cluster" and "program" of one schema, as members of a JSON object. */
static void print_version_json(const struct dsql_schema *schema, const char *version)
{
    fputs("\"cluster\": ", stdout);
    if (version[0])
        dsql_print_json(dsql_span_of(version));
    else
        fputs("null", stdout);
    printf(", \"program\": \"%s\"", schema->version);
}

static int run_version(const struct dsql_args *args)
{
    struct teller teller;
    struct dsql_err err;
    PGconn *conn = NULL;
    char store[DSQL_SCHEMA_VERSION_MAX] = "", visibility[DSQL_SCHEMA_VERSION_MAX] = "";
    enum dsql_rc rc = begin(args, &teller, &conn, &err);
    if (!rc)
        rc = dsql_schema_read_version(&dsql_schema_store, conn, store, &err);
    if (!rc)
        rc = dsql_schema_read_version(&dsql_schema_visibility, conn, visibility, &err);
    if (!rc && teller.json) {
        printf("{");
        print_version_json(&dsql_schema_store, store);
        printf(", \"visibility\": {");
        print_version_json(&dsql_schema_visibility, visibility);
        printf("}}\n");
    } else if (!rc) {
        printf("cluster  %s, visibility %s\nprogram  %s, visibility %s\n",
               store[0] ? store : "(none)", visibility[0] ? visibility : "(none)",
               dsql_schema_store.version, dsql_schema_visibility.version);
    }
    return finish(&teller, conn, rc, &err, store[0] ? DSQL_EXIT_OK : DSQL_EXIT_FAILED);
}

static int run_drop(const struct dsql_args *args)
{
    struct teller teller;
    struct dsql_schema_watch watch = {.see = tell, .arg = &teller};
    struct dsql_err err;
    PGconn *conn = NULL;
    if (!dsql_args_has(args, "yes")) {
        (void)dsql_err_set(&err, DSQL_INVALID,
                           "drop deletes every table of the store and of visibility, and its data");
        dsql_err_hint(&err, "say --yes if that is what you want");
        return dsql_complain(&err);
    }
    enum dsql_rc rc = begin(args, &teller, &conn, &err);
    for (size_t i = 0; !rc && i < DSQL_COUNT_OF(schemas); i++)
        rc = dsql_schema_drop(schemas[i], conn, &watch, &err);
    if (!rc && teller.json) {
        printf("{");
        print_list(&teller, "steps");
    } else if (!rc) {
        printf("%zu tables dropped\n", teller.steps);
    }
    return finish(&teller, conn, rc, &err, DSQL_EXIT_OK);
}

#define COMMON_OPTIONS                                                                             \
    {"endpoint", 0, "HOST",                                                                        \
     "the cluster (DSQL_ENDPOINT); without one, where PGHOST or PGSERVICE say"},                   \
        {"region", 0, "REGION", "AWS region, when the host name does not tell it (DSQL_REGION)"},  \
        {"user", 0, "ROLE", "database role (DSQL_USER, which is admin)"},                          \
    {                                                                                              \
        "json", 0, NULL, "one JSON object instead of lines"                                        \
    }

static const struct dsql_option options[] = {COMMON_OPTIONS};
static const struct dsql_option verify_options[] = {
    COMMON_OPTIONS,
    {"deep", 0, NULL, "also compare large values with their parts; reads every row"}};
static const struct dsql_option drop_options[] = {COMMON_OPTIONS,
                                                  {"yes", 0, NULL, "yes, delete it all"}};

const struct dsql_command dsql_cmd_schema = {
    .name = "schema",
    .summary = "the tables of Temporal's store and visibility",
    .text =
        "Creates, compares and removes the tables that Temporal's store and its visibility keep in the cluster. "
        "The cluster is the one of --endpoint or DSQL_ENDPOINT.\n"
        "\n"
        "    dsql schema apply --endpoint HOST\n"
        "    dsql schema verify --endpoint HOST\n"
        "    dsql local exec -- dsql schema apply",
};

const struct dsql_command dsql_cmd_schema_apply = {
    .name = "schema apply",
    .summary = "create the tables of Temporal's store and visibility",
    .text =
        "Creates what is missing of the 40 tables of the store and the 6 of visibility, and their indexes, one "
        "statement per transaction, waits for each index to be built, says so meanwhile, and "
        "rebuilds one that is not valid. Adds the columns that the tables of an older version lack; "
        "the servers may go on meanwhile. When a build fails it says why and ends with status 1. "
        "May be run again at any time, also after it was killed half-way: the version is "
        "written last. Refuses a cluster whose schema is newer than this program's, and one whose "
        "tables have another shape (those of the Go plugin, say): it lists what differs and "
        "changes nothing.\n"
        "\n"
        "    dsql local exec -- sh -c 'dsql schema apply && psql -c \\\\dt'",
    DSQL_COMMAND_OPTIONS(options),
    .run = run_apply,
};

const struct dsql_command dsql_cmd_schema_verify = {
    .name = "schema verify",
    .summary = "compare Temporal's tables with the schema",
    .text =
        "Looks at every table, column, key and index and at the version, and says what is missing, "
        "different or not valid. Ends with status 1 if there is such a thing. Changes nothing.\n"
        "\n"
        "With --deep it also reads every row, and tells of large values that lack parts and of "
        "parts of large_values that belong to no value.",
    DSQL_COMMAND_OPTIONS(verify_options),
    .run = run_verify,
};

const struct dsql_command dsql_cmd_schema_version = {
    .name = "schema version",
    .summary = "print the version of the schema in the cluster",
    .text = "Prints the version in the cluster and the one this program would bring in. Ends with "
            "status 1 if the cluster has none.",
    DSQL_COMMAND_OPTIONS(options),
    .run = run_version,
};

const struct dsql_command dsql_cmd_schema_drop = {
    .name = "schema drop",
    .summary = "delete Temporal's tables with everything in them",
    .text = "Drops the tables one by one, the version tables last. There is no way back.",
    DSQL_COMMAND_OPTIONS(drop_options),
    .run = run_drop,
};

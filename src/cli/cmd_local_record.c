/* `dsql local record`: what an endpoint answers otherwise than this version believes. */
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

#include "base/shown.h"
#include "base/strbuf.h"
#include "cli/commands.h"
#include "cli/schema_connect.h"
#include "local/rules/sql_dialect.h"
#include "local/rules/sql_stmt.h"

enum { ANSWER_MAX = 512, TRIES = 5 };

static const struct probe {
    const char *sql;
    const char *answer; /* if the rules let it pass; NULL: any */
} probes[] = {
#define DSQL_PROBE(sql)          {sql, NULL},
#define DSQL_ANSWER(sql, answer) {sql, answer},
#include "cli/record_probes.def"
#undef DSQL_PROBE
#undef DSQL_ANSWER
};

static const char *const set_up[] = {
    "create table if not exists dsql_record_t (id int primary key, a text, b int, c int)",
    "create table if not exists dsql_record_u (id int primary key)",
};

static const char *const tear_down[] = {
    "rollback",
    "drop view if exists dsql_record_v",
    "drop table if exists dsql_record_k",
    "drop table if exists dsql_record_t",
    "drop table if exists dsql_record_u",
    "drop table if exists dsql_record_a",
    "drop table if exists dsql_record_b",
    "drop table if exists dsql_record_c",
    "drop table if exists dsql_record_i",
    "drop table if exists dsql_record_x",
    "drop sequence if exists dsql_record_s",
    "drop sequence if exists dsql_record_x",
    "drop function if exists dsql_record_f()",
    "drop domain if exists dsql_record_n",
};

struct outcome {
    char expected[ANSWER_MAX], answered[ANSWER_MAX];
    bool differs;
};

struct recording {
    PGconn *conn;
    struct dsql_sql_dialect dialect;
    struct outcome outcomes[DSQL_COUNT_OF(probes)];
    size_t differing;
};

static void quiet(void *arg, const char *message)
{
    (void)arg, (void)message;
}

/* Runs a statement, again if the catalogue or another transaction was in its way, and says what it
 * answered: the first row, or the error. *failed says which of them. */
static void ask(PGconn *conn, const char *sql, char *answered, bool *failed)
{
    struct dsql_strbuf out;
    PGresult *result = NULL;
    const char *code = "";
    for (int i = 0; i < TRIES; i++) {
        PQclear(result);
        result = PQexec(conn, sql);
        code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
        if (!code || strcmp(code, "40001") != 0)
            break;
    }
    ExecStatusType status = PQresultStatus(result);
    *failed = status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK;
    dsql_strbuf_init(&out, answered, ANSWER_MAX);
    if (*failed) {
        const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
        dsql_strbuf_addf(&out, "%s: %s", code ? code : "no answer",
                         message ? message : PQerrorMessage(conn));
    }
    for (int i = 0; !*failed && PQntuples(result) > 0 && i < PQnfields(result); i++)
        dsql_strbuf_addf(&out, "%s%s", i > 0 ? "|" : "", PQgetvalue(result, 0, i));
    PQclear(result);
}

/* What the rules say. */
static enum dsql_rc expect(const struct recording *recording, const char *sql, char *expected,
                           bool *refused)
{
    struct dsql_sql_script *script = NULL;
    const struct dsql_sql_session session = {.in_block = false};
    enum dsql_rc rc = dsql_sql_script_new_as(dsql_span_of(sql), recording->dialect, &script);
    if (rc)
        return rc;
    const struct dsql_sql_refusal *refusal = script->refusal;
    if (!refusal && script->count > 0)
        refusal = dsql_sql_stmt_refusal(&script->stmts[0], &session);
    *refused = refusal != NULL;
    struct dsql_strbuf out;
    dsql_strbuf_init(&out, expected, ANSWER_MAX);
    if (refusal)
        dsql_strbuf_addf(&out, "%s: %s", refusal->sqlstate, refusal->message);
    else
        dsql_strbuf_add_str(&out, "passes");
    dsql_sql_script_unref(script);
    return DSQL_OK;
}

static enum dsql_rc probe(struct recording *recording, size_t i, struct dsql_err *err)
{
    struct outcome *outcome = &recording->outcomes[i];
    bool refused, failed;
    if (expect(recording, probes[i].sql, outcome->expected, &refused))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    bool told = !refused && probes[i].answer;
    if (told)
        (void)snprintf(outcome->expected, ANSWER_MAX, "%s", probes[i].answer);
    ask(recording->conn, probes[i].sql, outcome->answered, &failed);
    if (!told && !failed) /* whatever it answers */
        (void)snprintf(outcome->answered, ANSWER_MAX, "passes");
    outcome->differs = strcmp(outcome->expected, outcome->answered) != 0;
    recording->differing += outcome->differs;
    return PQstatus(recording->conn) == CONNECTION_OK
               ? DSQL_OK
               : dsql_err_set(err, DSQL_IO, "the connection was lost at '%s'", probes[i].sql);
}

static enum dsql_rc run_probes(struct recording *recording, struct dsql_err *err)
{
    char answered[ANSWER_MAX];
    bool failed = false;
    enum dsql_rc rc = DSQL_OK;
    (void)PQsetNoticeProcessor(recording->conn, quiet, NULL);
    for (size_t i = 0; i < DSQL_COUNT_OF(set_up) && !rc; i++) {
        ask(recording->conn, set_up[i], answered, &failed);
        if (failed)
            rc = dsql_err_set(err, DSQL_IO, "can't make the tables to try things on: %s", answered);
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(probes) && !rc; i++)
        rc = probe(recording, i, err);
    for (size_t i = 0; i < DSQL_COUNT_OF(tear_down); i++)
        ask(recording->conn, tear_down[i], answered, &failed);
    return rc;
}

static void print_table(const struct recording *recording, bool all)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(probes); i++) {
        const struct outcome *outcome = &recording->outcomes[i];
        if (!outcome->differs && !all)
            continue;
        printf("%s %s\n", outcome->differs ? "DIFFERS" : "as expected", probes[i].sql);
        if (outcome->differs)
            printf("    expected  %s\n", outcome->expected);
        printf("    answered  %s\n", dsql_shown_str(outcome->answered).text);
    }
    printf("%zu of %zu answered as expected, %zu otherwise\n",
           DSQL_COUNT_OF(probes) - recording->differing, DSQL_COUNT_OF(probes),
           recording->differing);
}

static void print_field(const char *name, const char *value)
{
    char memory[2 * ANSWER_MAX * 6];
    struct dsql_strbuf out;
    dsql_strbuf_init(&out, memory, sizeof(memory));
    dsql_strbuf_add_json(&out, dsql_span_of(value));
    printf("\"%s\": %s, ", name, memory);
}

static void print_json(const struct recording *recording)
{
    printf("{\"dialect\": %d, \"probes\": %zu, \"differing\": %zu, \"answers\": [\n",
           (int)recording->dialect.day, DSQL_COUNT_OF(probes), recording->differing);
    for (size_t i = 0; i < DSQL_COUNT_OF(probes); i++) {
        const struct outcome *outcome = &recording->outcomes[i];
        printf("  {");
        print_field("statement", probes[i].sql);
        print_field("expected", outcome->expected);
        print_field("answered", outcome->answered);
        printf("\"differs\": %s}%s\n", outcome->differs ? "true" : "false",
               i + 1 < DSQL_COUNT_OF(probes) ? "," : "");
    }
    printf("]}\n");
}

static enum dsql_rc read_args(const struct dsql_args *args, struct recording *recording, bool *json,
                              struct dsql_err *err)
{
    const char *dialect = dsql_args_get(args, "dialect"), *format = dsql_args_get(args, "format");
    *json = format && strcmp(format, "json") == 0;
    if (format && !*json && strcmp(format, "table") != 0)
        return dsql_err_set(err, DSQL_INVALID, "--format=%s is neither table nor json",
                            dsql_shown_str(format).text);
    if (dialect && !dsql_sql_dialect_read(dsql_span_of(dialect), &recording->dialect))
        return dsql_err_set(err, DSQL_INVALID, "--dialect=%s is no month or day such as 2026-08",
                            dsql_shown_str(dialect).text);
    return DSQL_OK;
}

static int run_record(const struct dsql_args *args)
{
    static struct recording recording;
    struct dsql_err err;
    bool json = false;
    enum dsql_rc rc = read_args(args, &recording, &json, &err);
    if (!rc)
        rc = dsql_schema_connect(dsql_args_get(args, "endpoint"), dsql_args_get(args, "region"),
                                 dsql_args_get(args, "user"), &recording.conn, &err);
    if (rc)
        return dsql_complain(&err);
    rc = run_probes(&recording, &err);
    PQfinish(recording.conn);
    if (rc)
        return dsql_complain(&err);
    if (json)
        print_json(&recording);
    else
        print_table(&recording, dsql_args_has(args, "all"));
    return recording.differing > 0 ? DSQL_EXIT_FAILED : DSQL_EXIT_OK;
}

static const struct dsql_option options[] = {
    {"endpoint", 'e', "HOST[:PORT]", "the cluster (DSQL_ENDPOINT); or PGHOST and so on"},
    {"region", 0, "REGION", "AWS region, when the host name does not tell it (DSQL_REGION)"},
    {"user", 'u', "NAME", "database role (admin)"},
    {"dialect", 0, "MONTH", "compare with the service as it was, such as 2026-08"},
    {"format", 0, "FORMAT", "table or json (table)"},
    {"all", 0, NULL, "show what was answered as expected, too"},
};

const struct dsql_command dsql_cmd_local_record = {
    .name = "local record",
    .summary = "show where a cluster differs from 'dsql local'",
    .text =
        "Sends a hundred statements to a cluster of yours, or to any endpoint, and compares the answers with those that "
        "'dsql local' would give: code and words of refusals, and what passes. The service changes every month; this says "
        "where it has gone on. It makes tables and other things called dsql_record_* in the schema public and drops them "
        "again. Ends with 1 if anything differs.\n"
        "\n"
        "    dsql local record --endpoint ID.dsql.us-east-1.on.aws\n"
        "    dsql local exec --dialect 2026-07 -- dsql local record",
    DSQL_COMMAND_OPTIONS(options),
    .run = run_record,
};

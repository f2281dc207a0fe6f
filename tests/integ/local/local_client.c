/*
 * A stock libpq against the endpoint in the environment.
 *
 *     local_client pipeline       batches under way at the same time, an error in the middle
 *     local_client cancel         a request to cancel changes nothing
 *     local_client strikes DSQL   faults at COMMIT in the extended protocol; DSQL is the program
 *     local_client share N        N clients take turns on fewer sessions at PostgreSQL
 */
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "base/span.h"

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fputc('\n', stderr);
    exit(1);
}

static PGconn *connect_one(void)
{
    PGconn *conn = PQconnectdb("");
    if (PQstatus(conn) != CONNECTION_OK)
        fail("%s", PQerrorMessage(conn));
    return conn;
}

/* Runs it and wants this SQLSTATE ("" for success) and, if not NULL, this first value. */
static void want(PGconn *conn, PGresult *result, const char *sqlstate, const char *value)
{
    const char *got = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    got = got ? got : PQstatus(conn) == CONNECTION_BAD ? "closed" : "";
    if (strcmp(got, sqlstate) != 0)
        fail("SQLSTATE '%s', not '%s': %s", got, sqlstate, PQresultErrorMessage(result));
    if (value && (PQntuples(result) < 1 || strcmp(PQgetvalue(result, 0, 0), value) != 0))
        fail("'%s', not '%s'", PQntuples(result) < 1 ? "nothing" : PQgetvalue(result, 0, 0), value);
    PQclear(result);
}

static void simple(PGconn *conn, const char *sql, const char *sqlstate, const char *value)
{
    want(conn, PQexec(conn, sql), sqlstate, value);
}

static void extended(PGconn *conn, const char *sql, const char *sqlstate, const char *value)
{
    want(conn, PQexecParams(conn, sql, 0, NULL, NULL, NULL, NULL, 0), sqlstate, value);
}

/* One result of a pipeline and the NULL behind it. */
static void want_next(PGconn *conn, ExecStatusType status, const char *value)
{
    PGresult *result = PQgetResult(conn);
    if (PQresultStatus(result) != status)
        fail("status %s, not %s: %s", PQresStatus(PQresultStatus(result)), PQresStatus(status),
             PQresultErrorMessage(result));
    if (value && strcmp(PQgetvalue(result, 0, 0), value) != 0)
        fail("'%s', not '%s'", PQgetvalue(result, 0, 0), value);
    PQclear(result);
    if (status != PGRES_PIPELINE_SYNC && PQgetResult(conn))
        fail("a second result");
}

static void put(PGconn *conn, const char *sql)
{
    if (!PQsendQueryParams(conn, sql, 0, NULL, NULL, NULL, NULL, 0))
        fail("%s", PQerrorMessage(conn));
}

static void pipeline(void)
{
    PGconn *conn = connect_one();
    simple(conn, "create table p (id int primary key, v int)", "", NULL);
    if (!PQenterPipelineMode(conn))
        fail("no pipeline mode");
    /* Four batches under way at once: a transaction, an error, what follows it, a refusal. */
    put(conn, "begin");
    put(conn, "insert into p values (1, 1)");
    put(conn, "commit");
    (void)PQpipelineSync(conn);
    put(conn, "select 1 / 0");
    put(conn, "insert into p values (2, 2)"); /* skipped */
    (void)PQpipelineSync(conn);
    put(conn, "select count(*) from p");
    (void)PQpipelineSync(conn);
    put(conn, "truncate p");
    (void)PQpipelineSync(conn);
    for (int i = 0; i < 3; i++)
        want_next(conn, PGRES_COMMAND_OK, NULL);
    want_next(conn, PGRES_PIPELINE_SYNC, NULL);
    want_next(conn, PGRES_FATAL_ERROR, NULL);
    want_next(conn, PGRES_PIPELINE_ABORTED, NULL);
    want_next(conn, PGRES_PIPELINE_SYNC, NULL);
    want_next(conn, PGRES_TUPLES_OK, "1");
    want_next(conn, PGRES_PIPELINE_SYNC, NULL);
    want_next(conn, PGRES_FATAL_ERROR, NULL);
    want_next(conn, PGRES_PIPELINE_SYNC, NULL);

    /* Many statements without waiting: more than a socket's buffer holds. */
    if (PQsetnonblocking(conn, 1) != 0)
        fail("can't be made non-blocking");
    for (int i = 0; i < 300; i++) {
        char sql[64];
        (void)snprintf(sql, sizeof(sql), "select %d, repeat('x', 2000)", i);
        put(conn, sql);
        (void)PQpipelineSync(conn);
    }
    for (int i = 0; i < 300; i++) {
        char value[16];
        (void)snprintf(value, sizeof(value), "%d", i);
        want_next(conn, PGRES_TUPLES_OK, value);
        want_next(conn, PGRES_PIPELINE_SYNC, NULL);
    }
    PQfinish(conn);
}

static void cancel(void)
{
    PGconn *conn = connect_one();
    char why[256] = "";
    simple(conn, "select 1", "", "1");
    if (!PQsendQuery(conn, "select 'slept' from pg_sleep(1)"))
        fail("%s", PQerrorMessage(conn));
    PGcancel *request = PQgetCancel(conn);
    if (!PQcancel(request, why, sizeof(why)))
        fail("PQcancel: %s", why);
    PQfreeCancel(request);
    want(conn, PQgetResult(conn), "", "slept");
    PQfinish(conn);
}

/* `dsql local fault WHAT`, WHAT being one word. */
static void fault(const char *dsql, const char *what)
{
    char program[256], word[256], local[] = "local", fault_word[] = "fault";
    char *const argv[] = {program, local, fault_word, word, NULL};
    int status = 0;
    pid_t pid;
    (void)snprintf(program, sizeof(program), "%s", dsql);
    (void)snprintf(word, sizeof(word), "%s", what);
    if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0 ||
        waitpid(pid, &status, 0) != pid || status != 0)
        fail("dsql local fault %s ended with %d", what, status);
}

/* A transaction in the extended protocol that adds a row; COMMIT ends as it is wanted. */
static void add_row(const char *commit, const char *count)
{
    PGconn *conn = connect_one();
    extended(conn, "begin", "", NULL);
    extended(conn, "insert into s values (gen_random_uuid())", "", NULL);
    extended(conn, "commit", commit, NULL);
    if (strcmp(commit, "closed") != 0) { /* the session goes on, outside a transaction */
        if (PQtransactionStatus(conn) != PQTRANS_IDLE)
            fail("the transaction is not over");
        extended(conn, "select 5", "", "5");
    }
    PQfinish(conn);
    conn = connect_one();
    simple(conn, "select count(*) from s", "", count);
    PQfinish(conn);
}

static void strikes(const char *dsql)
{
    PGconn *conn = connect_one();
    simple(conn, "create table s (id uuid primary key)", "", NULL);
    PQfinish(conn);
    add_row("", "1");
    fault(dsql, "conflict-commit=1x");
    add_row("40001", "1");
    fault(dsql, "unavailable-commit=1x");
    add_row("XX000", "1");
    fault(dsql, "close-commit=1x");
    add_row("closed", "1");
    fault(dsql, "close-applied=1x");
    add_row("closed", "2");
    fault(dsql, "unavailable-applied=1x");
    add_row("XX000", "3");

    /* A statement of its own is a transaction too; one that only locks is struck as well, one that
     * only reads never. */
    conn = connect_one();
    fault(dsql, "conflict-commit=1,unavailable-commit=1");
    extended(conn, "insert into s values (gen_random_uuid())", "40001", NULL);
    simple(conn, "insert into s values (gen_random_uuid())", "40001", NULL);
    simple(conn, "select count(*) from s", "", "3");
    extended(conn, "select id from s for update", "40001", NULL);
    simple(conn, "begin", "", NULL);
    simple(conn, "select 1 from s for update", "", NULL);
    simple(conn, "commit", "40001", NULL);
    simple(conn, "begin", "", NULL);
    simple(conn, "select count(*) from s", "", "3");
    simple(conn, "commit", "", NULL);
    /* DEALLOCATE ALL takes the statement that stands in for COMMIT away; it comes back. */
    simple(conn, "deallocate all", "", NULL);
    extended(conn, "begin", "", NULL);
    extended(conn, "delete from s", "", NULL);
    extended(conn, "commit", "40001", NULL);
    fault(dsql, "clear");
    simple(conn, "select count(*) from s", "", "3");

    /* At a statement: the transaction is aborted. */
    fault(dsql, "conflict=1x");
    extended(conn, "begin", "", NULL);
    extended(conn, "delete from s", "40001", NULL);
    extended(conn, "select 1", "25P02", NULL);
    extended(conn, "rollback", "", NULL);
    fault(dsql, "unavailable=1x");
    extended(conn, "select 1", "XX000", NULL);
    extended(conn, "select 1", "", "1");

    /* Answered as if it had failed, in a pipeline whose earlier answers are on their way. */
    fault(dsql, "close-applied=1x");
    if (!PQenterPipelineMode(conn))
        fail("no pipeline mode");
    put(conn, "select 1");
    (void)PQpipelineSync(conn);
    put(conn, "begin");
    put(conn, "delete from s");
    put(conn, "commit");
    (void)PQpipelineSync(conn);
    want_next(conn, PGRES_TUPLES_OK, "1");
    want_next(conn, PGRES_PIPELINE_SYNC, NULL);
    for (PGresult *result; PQstatus(conn) == CONNECTION_OK;) {
        result = PQgetResult(conn);
        PQclear(result);
    }
    PQfinish(conn);
    conn = connect_one();
    simple(conn, "select count(*) from s", "", "0");
    PQfinish(conn);
}

static void share(int count)
{
    PGconn **conns = calloc((size_t)count, sizeof(PGconn *));
    char value[32];
    if (!conns)
        fail("out of memory");
    for (int i = 0; i < count; i++) {
        conns[i] = connect_one();
        (void)snprintf(value, sizeof(value), "select %d", i);
        want(conns[i], PQprepare(conns[i], "mine", value, 0, NULL), "", NULL);
        if (i % 16 == 0) /* some keep a setting, and so their session */
            simple(conns[i], i % 32 ? "set search_path = sys" : "prepare kept as select 'kept'", "",
                   NULL);
        /* Without a name, until the next simple query. */
        want(conns[i], PQprepare(conns[i], "", value, 0, NULL), "", NULL);
    }
    /* Everybody has what it prepared, its settings, and nobody else's. */
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < count; i++) {
            (void)snprintf(value, sizeof(value), "%d", i);
            want(conns[i], PQexecPrepared(conns[i], "", 0, NULL, NULL, NULL, 0),
                 round == 0 ? "" : "26000", round == 0 ? value : NULL);
            want(conns[i], PQexecPrepared(conns[i], "mine", 0, NULL, NULL, NULL, 0), "", value);
            simple(conns[i], "show search_path", "", i % 32 == 16 ? "sys" : "\"$user\", public");
            simple(conns[i], "execute kept", i % 32 == 0 ? "" : "26000",
                   i % 32 == 0 ? "kept" : NULL);
        }
    }
    /* A transaction keeps its session whatever the others do. */
    for (int i = 0; i < count; i += 4) {
        simple(conns[i], "begin", "", NULL);
        simple(conns[i], "select set_config('search_path', 'pg_catalog', true)", "", NULL);
    }
    for (int i = 1; i < count; i += 2)
        simple(conns[i], "select 1", "", "1");
    for (int i = 0; i < count; i += 4) {
        simple(conns[i], "show search_path", "", "pg_catalog");
        simple(conns[i], "commit", "", NULL);
    }
    for (int i = 0; i < count; i++)
        PQfinish(conns[i]);
    free(conns);
}

int main(int argc, char **argv)
{
    int64_t count;
    if (argc == 2 && strcmp(argv[1], "pipeline") == 0)
        pipeline();
    else if (argc == 2 && strcmp(argv[1], "cancel") == 0)
        cancel();
    else if (argc == 3 && strcmp(argv[1], "strikes") == 0)
        strikes(argv[2]);
    else if (argc == 3 && strcmp(argv[1], "share") == 0 &&
             dsql_span_to_i64(dsql_span_of(argv[2]), &count) && count > 0 && count <= 1000)
        share((int)count);
    else
        return 2;
    return 0;
}

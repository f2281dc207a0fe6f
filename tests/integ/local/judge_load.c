/*
 * Transactions whose history can be judged: many threads append to few lists, or read and write few
 * registers, and what each transaction saw and did is printed. tests/integ/local/judge.py says
 * whether that was snapshot isolation.
 *
 *     judge_load make                                 makes the two tables
 *     judge_load append|register THREADS EACH SEED    THREADS make EACH transactions; at the end
 *                                                     one more reads all keys
 *     judge_load drop                                 drops the tables
 *
 * One line a transaction: who, when it began and ended in nanoseconds, how it ended (ok; fail: it
 * changed nothing; info: nobody told), and its operations in their order:
 *
 *     3 1200 5600 ok a:7:31 r:7:30,31 r:8:
 *
 * a:KEY:VALUE appends to a list and r:KEY:VALUES reads one; w:KEY:VALUE writes a register and
 * g:KEY:VALUE reads one, which is 0 if it was never written. Each value is written once. A register
 * is only written by a transaction that has read it, so that the order of its values is known.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/rng.h"
#include "base/strbuf.h"

enum {
    THREADS_MAX = 64,
    OPS_MAX = 5,
    KEYS = 5,      /* in use at a time */
    KEY_TURN = 60, /* transactions until the oldest of them gives way to a new one */
    LINE_MAX_LEN = 1 << 20,
    RECONNECT_TRIES = 3000,
    DDL_TRIES = 100
};

enum outcome { OK, FAILED, UNKNOWN, LOST /* the connection, before COMMIT was sent */ };

struct worker {
    pthread_t thread;
    int number, each;
    bool lists;
    PGconn *conn;
    struct dsql_rng rng;
    struct dsql_strbuf ops;
    int writes; /* so far; each value is the thread's number and this */
};

static atomic_int begun; /* transactions, of all threads */

__attribute__((noreturn)) static void fail(const char *what, const char *detail)
{
    (void)fprintf(stderr, "judge_load: %s: %s\n", what, detail);
    exit(1);
}

static PGconn *reach(void)
{
    char last[256] = "";
    for (int i = 0; i < RECONNECT_TRIES; i++) {
        PGconn *conn = PQconnectdb("");
        if (PQstatus(conn) == CONNECTION_OK)
            return conn;
        (void)snprintf(last, sizeof(last), "%.200s", PQerrorMessage(conn));
        PQfinish(conn);
        (void)usleep(20000);
    }
    fail("no connection in a minute", last);
}

/* Whether the server says that it is not there now, which a COMMIT may outlive; 08007 says so of a
 * COMMIT whose answer `dsql proxy` did not get. */
static bool is_unavailable(const char *code)
{
    return strcmp(code, "XX000") == 0 || strcmp(code, "08007") == 0 || strncmp(code, "57", 2) == 0;
}

/* Whether the transaction is certainly rolled back: a conflict, or what `dsql proxy` says of a
 * connection that was lost or not to be had before COMMIT. */
static bool is_rolled_back(const char *code)
{
    return strncmp(code, "40", 2) == 0 || strcmp(code, "08006") == 0 || strcmp(code, "53300") == 0;
}

/* Runs one statement. *value, if not NULL, gets what it answered, as text of the caller's; "" for
 * no row. */
static enum outcome run(struct worker *worker, const char *sql, char **value)
{
    PGresult *result = PQexec(worker->conn, sql);
    ExecStatusType status = PQresultStatus(result);
    const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    bool ok = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    enum outcome outcome = OK;
    if (ok && value) {
        *value = strdup(PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
        if (!*value)
            fail(sql, "out of memory");
    }
    if (ok && strcmp(PQcmdStatus(result), "ROLLBACK") == 0)
        outcome = FAILED;
    if (!ok && (PQstatus(worker->conn) != CONNECTION_OK || !code))
        outcome = LOST;
    else if (!ok && is_unavailable(code))
        outcome = UNKNOWN;
    else if (!ok && is_rolled_back(code))
        outcome = FAILED;
    else if (!ok)
        fail(sql, PQerrorMessage(worker->conn));
    PQclear(result);
    return outcome;
}

static int next_value(struct worker *worker)
{
    return (worker->number + 1) * 100000 + ++worker->writes;
}

static enum outcome read_key(struct worker *worker, int key)
{
    char sql[128], *value = NULL;
    (void)snprintf(sql, sizeof(sql), "select v from judge_%s where k = %d",
                   worker->lists ? "list" : "register", key);
    enum outcome outcome = run(worker, sql, &value);
    if (outcome == OK && worker->lists)
        dsql_strbuf_addf(&worker->ops, " r:%d:%s", key, value);
    else if (outcome == OK)
        dsql_strbuf_addf(&worker->ops, " g:%d:%s", key, value[0] ? value : "0");
    free(value);
    return outcome;
}

static enum outcome write_key(struct worker *worker, int key)
{
    char sql[256];
    int value = next_value(worker);
    if (worker->lists)
        (void)snprintf(sql, sizeof(sql),
                       "insert into judge_list values (%d, '%d') on conflict (k) do update "
                       "set v = judge_list.v || ',' || excluded.v",
                       key, value);
    else
        (void)snprintf(sql, sizeof(sql),
                       "insert into judge_register values (%d, %d) on conflict (k) do update "
                       "set v = excluded.v",
                       key, value);
    enum outcome outcome = worker->lists ? OK : read_key(worker, key);
    /* What was asked for is said even if no answer came: it may have been done. */
    dsql_strbuf_addf(&worker->ops, " %c:%d:%d", worker->lists ? 'a' : 'w', key, value);
    return outcome == OK ? run(worker, sql, NULL) : outcome;
}

static enum outcome transact(struct worker *worker, int turn)
{
    int count = 1 + (int)dsql_rng_below(&worker->rng, OPS_MAX);
    enum outcome so_far = run(worker, "begin", NULL);
    for (int i = 0; i < count && so_far == OK; i++) {
        int key = turn / KEY_TURN + (int)dsql_rng_below(&worker->rng, KEYS);
        so_far = dsql_rng_below(&worker->rng, 2) ? read_key(worker, key) : write_key(worker, key);
    }
    if (so_far == OK) {
        so_far = run(worker, "commit", NULL);
        return so_far == LOST ? UNKNOWN : so_far;
    }
    if (so_far != LOST && run(worker, "rollback", NULL) == LOST)
        so_far = LOST;
    return so_far == LOST ? LOST : FAILED; /* COMMIT was not sent */
}

static int64_t now_ns(void)
{
    return dsql_clock_mono(&dsql_clock_system).ns;
}

static void say(const struct worker *worker, int64_t from, enum outcome end)
{
    static const char *const names[] = {"ok", "fail", "info", "fail"};
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int64_t to = now_ns();
    if (worker->ops.cut)
        fail("a transaction", "its operations do not fit into a line");
    (void)pthread_mutex_lock(&lock);
    printf("%d %lld %lld %s%s\n", worker->number, (long long)from, (long long)to, names[end],
           worker->ops.len > 0 ? worker->ops.ptr : "");
    (void)pthread_mutex_unlock(&lock);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    worker->conn = reach();
    dsql_strbuf_init_heap(&worker->ops, LINE_MAX_LEN);
    for (int i = 0; i < worker->each; i++) {
        dsql_strbuf_clear(&worker->ops);
        int64_t from = now_ns();
        enum outcome end = transact(worker, atomic_fetch_add(&begun, 1));
        say(worker, from, end);
        if (PQstatus(worker->conn) != CONNECTION_OK) {
            PQfinish(worker->conn);
            worker->conn = reach();
        }
    }
    PQfinish(worker->conn);
    dsql_strbuf_fini(&worker->ops);
    return NULL;
}

/* The last word: all keys in one transaction, tried until it is committed. */
static void read_all(bool lists)
{
    struct worker worker = {.number = THREADS_MAX, .lists = lists, .conn = reach()};
    int last = atomic_load(&begun) / KEY_TURN + KEYS;
    dsql_strbuf_init_heap(&worker.ops, LINE_MAX_LEN);
    enum outcome end = FAILED;
    for (int tries = 0; end != OK && tries < RECONNECT_TRIES; tries++) {
        dsql_strbuf_clear(&worker.ops);
        int64_t from = now_ns();
        end = run(&worker, "begin", NULL);
        for (int key = 0; key < last && end == OK; key++)
            end = read_key(&worker, key);
        end = end == OK ? run(&worker, "commit", NULL) : end;
        if (end == OK)
            say(&worker, from, end);
        if (end != OK &&
            (PQstatus(worker.conn) != CONNECTION_OK || run(&worker, "rollback", NULL))) {
            PQfinish(worker.conn);
            worker.conn = reach();
        }
    }
    if (end != OK)
        fail("the last read", PQerrorMessage(worker.conn));
    PQfinish(worker.conn);
    dsql_strbuf_fini(&worker.ops);
}

static void run_all(const char *const *sqls, size_t count)
{
    struct worker worker = {.conn = reach()};
    for (size_t i = 0; i < count; i++) {
        /* It may meet a catalogue that changed, or a fault; each of them can be done twice. */
        for (int tries = 0; run(&worker, sqls[i], NULL) != OK; tries++) {
            if (tries == DDL_TRIES)
                fail(sqls[i], PQerrorMessage(worker.conn));
            if (PQstatus(worker.conn) != CONNECTION_OK) {
                PQfinish(worker.conn);
                worker.conn = reach();
            }
        }
    }
    PQfinish(worker.conn);
}

static int number(const char *text, int most)
{
    long value = strtol(text, NULL, 10);
    if (value < 1 || value > most)
        fail("no number in range", text);
    return (int)value;
}

int main(int argc, char **argv)
{
    static const char *const make[] = {
        "create table if not exists judge_list (k int primary key, v text not null)",
        "create table if not exists judge_register (k int primary key, v int not null)"};
    static const char *const drop[] = {"drop table if exists judge_list",
                                       "drop table if exists judge_register"};
    static struct worker workers[THREADS_MAX];
    if (argc == 2 && strcmp(argv[1], "make") == 0) {
        run_all(make, DSQL_COUNT_OF(make));
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "drop") == 0) {
        run_all(drop, DSQL_COUNT_OF(drop));
        return 0;
    }
    if (argc != 5 || (strcmp(argv[1], "append") != 0 && strcmp(argv[1], "register") != 0))
        fail("usage", "judge_load make | drop | append|register THREADS EACH SEED");
    bool lists = argv[1][0] == 'a';
    int threads = number(argv[2], THREADS_MAX), each = number(argv[3], 90000);
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.number = i, .each = each, .lists = lists};
        workers[i].rng =
            dsql_rng_seeded((uint64_t)number(argv[4], 1 << 30) * THREADS_MAX + (uint64_t)i);
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            fail("pthread_create", "");
    }
    for (int i = 0; i < threads; i++)
        (void)pthread_join(workers[i].thread, NULL);
    read_all(lists);
    return 0;
}

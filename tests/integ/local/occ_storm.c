/*
 * Many threads at the same instant, on few rows; what must hold afterwards whatever happened.
 *
 *     occ_storm make                    makes the tables
 *     occ_storm run FIRST THREADS EACH  threads FIRST.. make EACH transactions, retried until each
 *                                       is committed, refused or of unknown outcome; then checks
 *     occ_storm hot THREADS SECONDS     all update one row; prints commits a second and latencies
 *     occ_storm way OTHERS SECONDS      one updates a row that others have updated and not
 * committed
 *
 * A transaction of `run` reads a counter, writes what it read plus one, and a row of the ledger
 * under its own number: so a lost update, a lost commit, half a transaction or one that came back
 * from the dead all show. Others keep a pair of rows from falling below zero (FOR UPDATE against
 * write skew), add children to parents that others delete, and insert the same unique keys.
 * Connections that break are made anew.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/hist.h"
#include "base/rng.h"

enum {
    THREADS_MAX = 64,
    COUNTERS = 3,
    PAIRS = 2,
    PARENTS = 3,
    UNIQUES = 40,
    RECONNECT_TRIES = 3000
};

enum outcome { COMMITTED, CONFLICT, REFUSED, UNKNOWN, LOST /* before COMMIT was sent */ };

struct worker {
    pthread_t thread;
    int number, each;
    PGconn *conn;
    struct dsql_rng rng;
    char *ends; /* of its ledger rows: enum outcome */
    unsigned long counts[5];
    bool timed;
    struct dsql_mono until;
};

static struct dsql_hist latency; /* of statements, in nanoseconds */

__attribute__((noreturn)) static void fail(const char *what, const char *detail)
{
    (void)fprintf(stderr, "occ_storm: %s: %s\n", what, detail);
    exit(1);
}

static void quiet(void *arg, const char *message)
{
    (void)arg;
    (void)message;
}

/* PostgreSQL may be on its way up again. */
static PGconn *reach(void)
{
    for (int i = 0; i < RECONNECT_TRIES; i++) {
        PGconn *conn = PQconnectdb("");
        PQsetNoticeProcessor(conn, quiet, NULL);
        PGresult *result = PQexec(conn, "select 1");
        bool ok = PQresultStatus(result) == PGRES_TUPLES_OK;
        PQclear(result);
        if (ok)
            return conn;
        PQfinish(conn);
        (void)usleep(20000);
    }
    fail("connect", "no connection in a minute");
}

static int below(struct worker *worker, int bound)
{
    return (int)dsql_rng_below(&worker->rng, (uint64_t)bound);
}

/* Runs one statement; value gets its first number. */
static enum outcome run(struct worker *worker, const char *sql, long *value)
{
    struct dsql_mono start = dsql_clock_mono(&dsql_clock_system);
    PGresult *result = PQexec(worker->conn, sql);
    if (worker->timed)
        dsql_hist_record(&latency,
                         (uint64_t)dsql_mono_since(dsql_clock_mono(&dsql_clock_system), start));
    ExecStatusType status = PQresultStatus(result);
    const char *code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    enum outcome outcome = COMMITTED;
    if (status == PGRES_TUPLES_OK && value && PQntuples(result) > 0)
        *value = strtol(PQgetvalue(result, 0, 0), NULL, 10);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        bool alive = PQstatus(worker->conn) == CONNECTION_OK && code && strncmp(code, "57", 2) != 0;
        outcome = !alive ? LOST : (strcmp(code, "40001") == 0 ? CONFLICT : REFUSED);
        if (outcome == REFUSED && strncmp(code, "23", 2) != 0)
            fail(sql, PQerrorMessage(worker->conn));
    }
    PQclear(result);
    return outcome;
}

/* The end of a transaction of which everything so far went well, or not. */
static enum outcome finish(struct worker *worker, enum outcome so_far)
{
    enum outcome end = so_far;
    if (so_far == COMMITTED) {
        end = run(worker, "commit", NULL);
        end = end == LOST ? UNKNOWN : end;
    } else if (so_far != LOST && run(worker, "rollback", NULL) == LOST) {
        end = LOST;
    }
    if (end == UNKNOWN || end == LOST) {
        PQfinish(worker->conn);
        worker->conn = reach();
    }
    return end;
}

/* Statements of one transaction, until one fails. */
#define RUN(value, ...)                                                                            \
    do {                                                                                           \
        char sql_[256];                                                                            \
        (void)snprintf(sql_, sizeof(sql_), __VA_ARGS__);                                           \
        if (so_far == COMMITTED)                                                                   \
            so_far = run(worker, sql_, value);                                                     \
    } while (0)

static enum outcome count_up(struct worker *worker, int n)
{
    int counter = below(worker, COUNTERS);
    long v = 0;
    enum outcome so_far = COMMITTED;
    RUN(NULL, "begin");
    RUN(&v, "select v from counter where id = %d", counter);
    RUN(NULL, "update counter set v = %ld where id = %d", v + 1, counter);
    RUN(NULL, "insert into ledger values (%d, %d, %d)", worker->number, n, counter);
    return finish(worker, so_far);
}

static enum outcome take_from_pair(struct worker *worker)
{
    int pair = below(worker, PAIRS), side = below(worker, 2);
    long sum = 0;
    enum outcome so_far = COMMITTED;
    RUN(NULL, "begin");
    RUN(&sum, "select sum(v) from (select v from pair where p = %d for update) x", pair);
    RUN(NULL, "update pair set v = v + %d where p = %d and side = %d", sum > 0 ? -1 : 1, pair,
        side);
    return finish(worker, so_far);
}

static enum outcome parent_or_child(struct worker *worker, int n)
{
    int parent = below(worker, PARENTS);
    enum outcome so_far = COMMITTED;
    RUN(NULL, "begin");
    switch (below(worker, 4)) {
    case 0:
        RUN(NULL, "delete from child where p = %d", parent);
        RUN(NULL, "delete from parent where id = %d", parent);
        break;
    case 1:
        RUN(NULL, "insert into parent values (%d, 0) on conflict do nothing", parent);
        break;
    case 2:
        RUN(NULL, "update parent set v = v + 1 where id = %d", parent);
        break;
    default:
        RUN(NULL, "insert into child values (%d, %d)", worker->number * 1000000 + n, parent);
    }
    return finish(worker, so_far);
}

static enum outcome same_key(struct worker *worker)
{
    int key = below(worker, UNIQUES);
    enum outcome so_far = COMMITTED;
    RUN(NULL, "begin");
    if (below(worker, 3) == 0)
        RUN(NULL, "delete from uniq where id = %d", key);
    else
        RUN(NULL, "insert into uniq values (%d, %d)", key, worker->number);
    return finish(worker, so_far);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    worker->conn = reach();
    for (int n = 0; n < worker->each; n++) {
        enum outcome end;
        int kind = below(worker, 8);
        do {
            end = kind < 3    ? count_up(worker, n)
                  : kind == 3 ? take_from_pair(worker)
                  : kind < 6  ? parent_or_child(worker, n)
                              : same_key(worker);
            worker->counts[end]++;
        } while (end == CONFLICT || end == LOST);
        worker->ends[n] = (char)(kind < 3 ? end : REFUSED);
    }
    PQfinish(worker->conn);
    return NULL;
}

static long number(PGconn *conn, const char *sql)
{
    PGresult *result = PQexec(conn, sql);
    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        fail(sql, PQerrorMessage(conn));
    long n = strtol(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return n;
}

static void check_invariants(PGconn *conn)
{
    static const char *const none[] = {
        "select count(*) from counter c where v <> (select count(*) from ledger where counter = c.id)",
        "select count(*) from (select p from pair group by p having sum(v) < 0 or count(*) <> 2) x",
        "select count(*) from child where p not in (select id from parent)",
        "select count(*) - count(distinct id) from uniq",
        "select count(*) - count(distinct id) from parent",
        "select count(*) - count(distinct (thread, n)) from ledger",
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(none); i++)
        if (number(conn, none[i]) != 0)
            fail("this must be 0", none[i]);
}

/* What was said to be committed is there, and what was said not to be is not. */
static void check_ledger(PGconn *conn, const struct worker *worker)
{
    char sql[128];
    (void)snprintf(sql, sizeof(sql), "select n from ledger where thread = %d", worker->number);
    PGresult *result = PQexec(conn, sql);
    char *there = calloc((size_t)worker->each + 1, 1);
    if (!there || PQresultStatus(result) != PGRES_TUPLES_OK)
        fail(sql, PQerrorMessage(conn));
    for (int i = 0; i < PQntuples(result); i++)
        there[strtol(PQgetvalue(result, i, 0), NULL, 10)] = 1;
    for (int n = 0; n < worker->each; n++) {
        if (worker->ends[n] == COMMITTED && !there[n])
            fail("a committed transaction is lost", sql);
        if (worker->ends[n] == REFUSED && there[n])
            fail("a transaction that failed is there", sql);
    }
    free(there);
    PQclear(result);
}

static void storm(int first, int threads, int each)
{
    static struct worker workers[THREADS_MAX];
    unsigned long counts[5] = {0};
    for (int i = 0; i < threads; i++) {
        struct worker *worker = &workers[i];
        *worker = (struct worker){.number = first + i,
                                  .each = each,
                                  .rng = dsql_rng_seeded((uint64_t)first + (uint64_t)i),
                                  .ends = calloc((size_t)each, 1)};
        if (!worker->ends || pthread_create(&worker->thread, NULL, work, worker) != 0)
            fail("start", "no thread");
    }
    for (int i = 0; i < threads; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        for (int k = 0; k < 5; k++)
            counts[k] += workers[i].counts[k];
    }
    PGconn *conn = reach();
    check_invariants(conn);
    for (int i = 0; i < threads; i++) {
        check_ledger(conn, &workers[i]);
        free(workers[i].ends);
    }
    PQfinish(conn);
    printf("%lu committed, %lu conflicts, %lu refused, %lu unknown, %lu lost\n", counts[COMMITTED],
           counts[CONFLICT], counts[REFUSED], counts[UNKNOWN], counts[LOST]);
}

static void *heat(void *arg)
{
    struct worker *worker = arg;
    worker->conn = reach();
    while (dsql_mono_since(dsql_clock_mono(&dsql_clock_system), worker->until) < 0) {
        enum outcome so_far = COMMITTED;
        RUN(NULL, "begin");
        RUN(NULL, "update counter set v = v + 1 where id = 0");
        worker->counts[finish(worker, so_far)]++;
    }
    PQfinish(worker->conn);
    return NULL;
}

static void hot(int threads, int seconds)
{
    static struct worker workers[THREADS_MAX];
    unsigned long counts[5] = {0};
    struct dsql_mono until = {dsql_clock_mono(&dsql_clock_system).ns + seconds * DSQL_S};
    for (int i = 0; i < threads; i++) {
        workers[i] = (struct worker){.number = i, .timed = true, .until = until};
        if (pthread_create(&workers[i].thread, NULL, heat, &workers[i]) != 0)
            fail("start", "no thread");
    }
    for (int i = 0; i < threads; i++) {
        (void)pthread_join(workers[i].thread, NULL);
        for (int k = 0; k < 5; k++)
            counts[k] += workers[i].counts[k];
    }
    printf("%d clients, one row: %lu commits/s, %lu conflicts/s; a statement takes p50 %.1f ms, "
           "p99 %.1f ms, at most %.1f ms\n",
           threads, counts[COMMITTED] / (unsigned long)seconds,
           counts[CONFLICT] / (unsigned long)seconds,
           (double)dsql_hist_quantile(&latency, 0.5) / 1e6,
           (double)dsql_hist_quantile(&latency, 0.99) / 1e6, (double)dsql_hist_max(&latency) / 1e6);
}

/* A statement with somebody in its way, beside the same with nobody. */
static void in_the_way(int others, int seconds)
{
    static struct worker holders[THREADS_MAX];
    struct worker one = {.timed = true, .conn = reach()};
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < others && round == 0; i++) {
            enum outcome so_far = COMMITTED;
            struct worker *worker = &holders[i];
            worker->conn = reach();
            RUN(NULL, "begin");
            RUN(NULL, "update counter set v = v + 1");
        }
        struct dsql_mono until = {dsql_clock_mono(&dsql_clock_system).ns + seconds * DSQL_S};
        latency = (struct dsql_hist){0};
        while (dsql_mono_since(dsql_clock_mono(&dsql_clock_system), until) < 0) {
            struct worker *worker = &one;
            enum outcome so_far = COMMITTED;
            RUN(NULL, "begin");
            RUN(NULL, "update counter set v = v + 1 where id = 0");
            RUN(NULL, "rollback");
        }
        printf("%d others in the way: a statement takes p50 %.2f ms, p99 %.2f ms\n",
               round == 0 ? others : 0, (double)dsql_hist_quantile(&latency, 0.5) / 1e6,
               (double)dsql_hist_quantile(&latency, 0.99) / 1e6);
        for (int i = 0; i < others && round == 0; i++)
            PQfinish(holders[i].conn);
    }
    PQfinish(one.conn);
}

static void make(void)
{
    static const char *const statements[] = {
        "create table counter (id int primary key, v bigint)",
        "create table ledger (thread int, n int, counter int, primary key (thread, n))",
        "create table pair (p int, side int, v int, primary key (p, side))",
        "create table parent (id int primary key, v int)",
        "create table child (id int primary key, p int references parent)",
        "create table uniq (id int primary key, who int)",
        "insert into counter select i, 0 from generate_series(0, 2) i",
        "insert into pair select p, s, 3 from generate_series(0, 1) p, generate_series(0, 1) s",
    };
    PGconn *conn = reach();
    for (size_t i = 0; i < DSQL_COUNT_OF(statements); i++) {
        PGresult *result = PQexec(conn, statements[i]);
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            fail(statements[i], PQerrorMessage(conn));
        PQclear(result);
    }
    PQfinish(conn);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "make") == 0)
        make();
    else if (argc == 5 && strcmp(argv[1], "run") == 0)
        storm((int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10),
              (int)strtol(argv[4], NULL, 10));
    else if (argc == 4 && strcmp(argv[1], "hot") == 0)
        hot((int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10));
    else if (argc == 4 && strcmp(argv[1], "way") == 0)
        in_the_way((int)strtol(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10));
    else
        return 2;
    return 0;
}

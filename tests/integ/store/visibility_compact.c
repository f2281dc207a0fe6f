/*
 * Counters and tombstones: what compaction leaves, alone and by several threads at once while runs
 * are written. Run by visibility.sh.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dsql/metrics.h"
#include "dsql/visibility.h"
#include "support/store.h"

enum { RUNS = 40, CHANGES = 4 * RUNS, COMPACTORS = 3, WRITERS = 3 };

static struct fixture fix;
static struct dsql_visibility *visibility;

static void write_run(const char *name_space, const char *run, int32_t status, int64_t version)
{
    struct dsql_err err = {0};
    struct dsql_visibility_record it = {
        .namespace_id = dsql_slice_str(name_space),
        .run_id = dsql_slice_str(run),
        .version = version,
        .status = status,
        .close_us = DSQL_VISIBILITY_OPEN,
    };
    REQUIRE_OK(dsql_visibility_record(visibility, DSQL_VISIBILITY_UPSERT, &it, NULL, NULL, &err));
}

static int64_t sum(const char *name_space, int status)
{
    char sql[256];
    (void)snprintf(sql, sizeof(sql),
                   "SELECT CAST(coalesce(sum(delta), 0) AS BIGINT) FROM visibility_counts "
                   "WHERE namespace_id = '%s' AND status = %d",
                   name_space, status);
    return fixture_sql(&fix, sql);
}

static int64_t counters(void)
{
    return fixture_sql(&fix, "SELECT count(*) FROM visibility_counts");
}

static void compact(struct dsql_visibility_compacted *done)
{
    struct dsql_err err = {0};
    REQUIRE_OK(dsql_visibility_compact(visibility, NULL, done, &err));
}

/* One row for each sum that is not 0; a second time there is nothing to do. */
static void counters_become_their_sums(void)
{
    struct dsql_visibility_compacted done;
    char run[32];
    for (int i = 0; i < RUNS; i++) {
        (void)snprintf(run, sizeof(run), "run %d", i);
        write_run("a", run, 1, 1);
        write_run("a", run, 2, 2);
        write_run("b", run, 1, 1);
    }
    REQUIRE(counters() == CHANGES);
    compact(&done);
    REQUIRE(done.counters >= CHANGES && done.conflicts == 0 && !done.more, "%lld",
            (long long)done.counters);
    REQUIRE(counters() == 2);
    REQUIRE(sum("a", 1) == 0 && sum("a", 2) == RUNS && sum("b", 1) == RUNS);
    compact(&done);
    REQUIRE(done.counters == 0);
    REQUIRE(counters() == 2);
}

/* More than a transaction takes, and more than a call does. */
static void many_counters_take_many_transactions(void)
{
    struct dsql_visibility_compacted done;
    for (int i = 0; i < 4; i++)
        (void)fixture_sql(&fix, "INSERT INTO visibility_counts SELECT 'many', '', 1, '', "
                                "gen_random_uuid(), 1 FROM generate_series(1, 1700) RETURNING 1");
    compact(&done);
    REQUIRE(sum("many", 1) == 6800 && counters() == 3);
    REQUIRE(done.counters >= 6800);
    for (int i = 0; i < 210; i++) {
        char sql[200];
        (void)snprintf(
            sql, sizeof(sql),
            "INSERT INTO visibility_counts SELECT 'n%d', '', 1, '', gen_random_uuid(), 1 "
            "FROM generate_series(1, 2) RETURNING 1",
            i);
        (void)fixture_sql(&fix, sql);
    }
    compact(&done);
    REQUIRE(done.more);
    for (int i = 0; i < 10 && done.more; i++)
        compact(&done);
    REQUIRE(!done.more && counters() == 3 + 210);
    REQUIRE(fixture_sql(&fix, "SELECT count(*) FROM visibility_counts WHERE delta = 2") == 210);
}

static atomic_bool over;

static void *keep_compacting(void *arg)
{
    struct dsql_visibility_compacted done;
    (void)arg;
    while (!atomic_load(&over))
        compact(&done);
    return NULL;
}

static void *keep_writing(void *arg)
{
    char run[32];
    for (int i = 0; i < RUNS; i++) {
        (void)snprintf(run, sizeof(run), "%p %d", arg, i);
        write_run("c", run, 1, 1);
        write_run("c", run, 2, 2);
    }
    return NULL;
}

/* Whoever sums up meanwhile sees every run once. */
static void nobody_sees_a_wrong_sum(void)
{
    pthread_t compactors[COMPACTORS], writers[WRITERS];
    struct dsql_visibility_compacted done;
    int names[WRITERS];
    for (size_t i = 0; i < COMPACTORS; i++)
        REQUIRE(pthread_create(&compactors[i], NULL, keep_compacting, NULL) == 0);
    for (size_t i = 0; i < WRITERS; i++)
        REQUIRE(pthread_create(&writers[i], NULL, keep_writing, &names[i]) == 0);
    for (int i = 0; i < 30; i++) {
        int64_t difference =
            fixture_sql(&fix, "SELECT CAST((SELECT count(*) FROM executions_visibility WHERE "
                              "namespace_id = 'c') - (SELECT coalesce(sum(delta), 0) FROM "
                              "visibility_counts WHERE namespace_id = 'c') AS BIGINT)");
        REQUIRE(difference == 0, "%lld", (long long)difference);
    }
    for (size_t i = 0; i < WRITERS; i++)
        (void)pthread_join(writers[i], NULL);
    atomic_store(&over, true);
    for (size_t i = 0; i < COMPACTORS; i++)
        (void)pthread_join(compactors[i], NULL);
    compact(&done);
    REQUIRE(sum("c", 1) == 0 && sum("c", 2) == (int64_t)RUNS * WRITERS);
}

static int64_t gauge(const char *name_space, const char *status)
{
    char wanted[400], *text = NULL;
    size_t len = 0;
    REQUIRE(dsql_metrics_text(fix.metrics, &text, &len) == DSQL_OK);
    (void)snprintf(wanted, sizeof(wanted), ",namespace=\"%s\",status=\"%s\"} ", name_space, status);
    const char *at = strstr(text, wanted);
    int64_t value = at ? strtoll(at + strlen(wanted), NULL, 10) : -1;
    free(text);
    return value;
}

/* Whatever is in the counters, in whatever portions; schedules are not runs of the namespace's own,
 * and who has no name is there by its id. */
static void gauges_are_the_sums(void)
{
    static const char id[] = "0a0b0c0d-0000-4000-8000-00000000000e";
    struct dsql_visibility_compacted done;
    char sql[300];
    (void)fixture_sql(&fix, "DELETE FROM visibility_counts RETURNING 1");
    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO namespaces (partition_id, id, name, notification_version, data, "
                   "data_encoding, is_global) VALUES (54321, '%s', 'a \"name\"', 1, '', '', false) "
                   "RETURNING 1",
                   id);
    (void)fixture_sql(&fix, sql);
    write_run(id, "gauge 1", 1, 1);
    write_run(id, "gauge 2", 1, 1);
    write_run(id, "gauge 2", 2, 2);
    write_run("unnamed", "gauge 3", 3, 1);
    (void)fixture_sql(&fix, "INSERT INTO visibility_counts VALUES ('unnamed', 'Scheduler', 1, '', "
                            "gen_random_uuid(), 7) RETURNING 1");
    compact(&done);
    REQUIRE(gauge("a \\\"name\\\"", "Running") == 1);
    REQUIRE(gauge("a \\\"name\\\"", "Completed") == 1);
    REQUIRE(gauge("unnamed", "Failed") == 1 && gauge("unnamed", "Running") == 0);
    REQUIRE(gauge("unnamed", "Completed") == -1 && gauge("other namespaces", "Running") == -1);
    /* A namespace that is gone leaves no series; too many share one. */
    (void)fixture_sql(&fix, "DELETE FROM visibility_counts WHERE namespace_id = 'unnamed' "
                            "RETURNING 1");
    (void)fixture_sql(&fix,
                      "INSERT INTO visibility_counts SELECT 'ns-' || n, '', 2, '', "
                      "gen_random_uuid(), 1000 - n FROM generate_series(1, 120) n RETURNING 1");
    compact(&done);
    REQUIRE(gauge("unnamed", "Running") == -1);
    REQUIRE(gauge("ns-100", "Completed") == 900 && gauge("ns-101", "Completed") == -1);
    /* 20 of ns-101 to ns-120 and the two runs of the first one */
    REQUIRE(gauge("other namespaces", "Completed") == 20 * 1000 - (101 + 120) * 10 + 1);
    REQUIRE(gauge("other namespaces", "Running") == 1);
}

/* Those that have ended go, the others stay. */
static void tombstones_are_swept(void)
{
    struct dsql_visibility_compacted done;
    struct dsql_visibility_options options;
    struct dsql_visibility *brief;
    struct dsql_err err = {0};
    char run[32];
    dsql_visibility_options_default(&options);
    options.tombstone_ns = 0;
    REQUIRE_OK(dsql_visibility_open(fix.pool, &options, &brief, &err));
    for (int i = 0; i < RUNS; i++) {
        (void)snprintf(run, sizeof(run), "run %d", i);
        REQUIRE_OK(dsql_visibility_delete(i % 2 ? brief : visibility, dsql_slice_str("a"),
                                          dsql_slice_str(run), NULL, NULL, &err));
    }
    compact(&done);
    REQUIRE(done.tombstones == RUNS / 2, "%lld", (long long)done.tombstones);
    REQUIRE(fixture_sql(&fix, "SELECT count(*) FROM executions_visibility "
                              "WHERE namespace_id = 'a'") == RUNS / 2);
    REQUIRE(fixture_sql(&fix, "SELECT count(*) FROM executions_visibility "
                              "WHERE namespace_id = 'b'") == RUNS);
    REQUIRE(sum("a", 2) == 0);
    dsql_visibility_close(brief);
}

int main(void)
{
    struct dsql_err err = {0};
    fixture_open(&fix, 8, NULL);
    REQUIRE_OK(dsql_visibility_open(fix.pool, NULL, &visibility, &err));
    (void)fixture_sql(&fix, "DELETE FROM visibility_counts RETURNING 1");
    (void)fixture_sql(&fix, "DELETE FROM executions_visibility RETURNING 1");
    counters_become_their_sums();
    many_counters_take_many_transactions();
    nobody_sees_a_wrong_sum();
    tombstones_are_swept();
    gauges_are_the_sums();
    dsql_visibility_close(visibility);
    fixture_close(&fix);
    printf("visibility: counters and tombstones\n");
    return 0;
}

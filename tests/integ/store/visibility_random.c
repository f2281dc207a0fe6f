/*
 * Visibility under fire: threads write, repeat, overtake and delete the same few runs while others
 * compact, whatever the endpoint does. Afterwards
 *
 *   (VR1) each run holds a record that was written, and no newer one was written as upsert or
 * close; (VR2) a run that was deleted is deleted; (VR3) rows, postings and counters agree: check
 * finds nothing; (VR4) every kind of damage is found by check, and repair mends it; (VR5) so does a
 * repair while runs are written and others do damage: with a last one, all is well.
 *
 * Run by visibility.sh, with and without faults.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "dsql/visibility.h"
#include "support/store.h"

enum { THREADS = 5, RUNS = 15, WRITES = 60, VERSIONS = 100, DELETED = 3 };

static struct fixture fix;
static struct dsql_visibility *visibility;
static struct dsql_tx_policy policy;
static atomic_bool over;
static atomic_bool written[RUNS][VERSIONS + 1]; /* as upsert or close */
static atomic_bool started[RUNS][VERSIONS + 1];

/* What the record of a run with this version holds: all follows from the two numbers. */
struct content {
    char run[24], keyword[32], number[24];
    int status;
    bool closed, list, text, division, low;
};

static struct content content_of(int run, int version)
{
    struct content c = {.status = 1 + (run * 7 + version) % 3,
                        .closed = version % 3 == 0,
                        .list = version % 2 == 0,
                        .text = version % 5 == 0,
                        .division = version % 7 == 0,
                        .low = version % 4 == 0};
    (void)snprintf(c.run, sizeof(c.run), "run %d", run);
    (void)snprintf(c.keyword, sizeof(c.keyword), "k%d", version % 6);
    (void)snprintf(c.number, sizeof(c.number), "%d", version);
    return c;
}

static struct dsql_visibility_attribute one(const char *name, enum dsql_visibility_type type,
                                            const struct dsql_slice *value)
{
    return (struct dsql_visibility_attribute){dsql_slice_str(name), type, value, 1};
}

static void write_run(enum dsql_visibility_write how, int run, int version)
{
    const struct content c = content_of(run, version);
    const struct dsql_slice keyword = dsql_slice_str(c.keyword), number = dsql_slice_str(c.number),
                            text = dsql_slice_str("to be or not to be"),
                            division = dsql_slice_str("Division"), low = dsql_slice_str("low");
    const struct dsql_slice list[] = {keyword, number};
    struct dsql_visibility_attribute attributes[6];
    struct dsql_err err = {0};
    size_t count = 0;
    attributes[count++] = one("Keyword01", DSQL_VISIBILITY_KEYWORD, &keyword);
    attributes[count++] = one("Int01", DSQL_VISIBILITY_INT, &number);
    if (c.list)
        attributes[count++] = (struct dsql_visibility_attribute){
            dsql_slice_str("BuildIds"), DSQL_VISIBILITY_KEYWORD_LIST, list, 2};
    if (c.text)
        attributes[count++] = one("Text01", DSQL_VISIBILITY_TEXT, &text);
    if (c.division)
        attributes[count++] = one("TemporalNamespaceDivision", DSQL_VISIBILITY_KEYWORD, &division);
    if (c.low)
        attributes[count++] = one("TemporalLowCardinalityKeyword01", DSQL_VISIBILITY_KEYWORD, &low);
    const struct dsql_visibility_record record = {
        .namespace_id = dsql_slice_str("random"),
        .run_id = dsql_slice_str(c.run),
        .version = version,
        .status = c.status,
        .start_us = 1000,
        .close_us = c.closed ? 990 + version : DSQL_VISIBILITY_OPEN,
        .workflow_id = keyword,
        .attributes = attributes,
        .attribute_count = count,
    };
    REQUIRE_OK(dsql_visibility_record(visibility, how, &record, &policy, NULL, &err));
}

static void erase(int run)
{
    struct dsql_err err = {0};
    char name[24];
    (void)snprintf(name, sizeof(name), "run %d", run);
    REQUIRE_OK(dsql_visibility_delete(visibility, dsql_slice_str("random"), dsql_slice_str(name),
                                      &policy, NULL, &err));
}

static void *keep_writing(void *arg)
{
    struct dsql_rng rng = dsql_rng_from_os();
    const int *thread = arg;
    for (int i = 0; i < WRITES; i++) {
        int run = (int)dsql_rng_between(&rng, 0, RUNS - 1);
        int version = (int)dsql_rng_between(&rng, 1, VERSIONS);
        int64_t how = dsql_rng_between(&rng, 0, 3);
        if (*thread == 0 && i == WRITES / 2)
            for (int deleted = 0; deleted < DELETED; deleted++)
                erase(deleted);
        atomic_store(how == 0 ? &started[run][version] : &written[run][version], true);
        write_run(how == 0 ? DSQL_VISIBILITY_STARTED : DSQL_VISIBILITY_UPSERT, run, version);
        if (how == 3) /* the task is made twice */
            write_run(DSQL_VISIBILITY_CLOSED, run, version);
    }
    return NULL;
}

static void *keep_compacting(void *arg)
{
    struct dsql_err err = {0};
    (void)arg;
    while (!atomic_load(&over))
        REQUIRE_OK(dsql_visibility_compact(visibility, &policy, NULL, &err));
    return NULL;
}

static int64_t version_of(int run)
{
    char sql[200];
    (void)snprintf(sql, sizeof(sql),
                   "SELECT coalesce((SELECT CASE WHEN deleted_until IS NULL THEN _version ELSE -1 "
                   "END FROM executions_visibility WHERE namespace_id = 'random' "
                   "AND run_id = 'run %d'), 0)",
                   run);
    return fixture_sql(&fix, sql);
}

static void holds_its_version(int run, int version)
{
    const struct content c = content_of(run, version);
    char sql[700];
    (void)snprintf(
        sql, sizeof(sql),
        "SELECT count(*) FROM executions_visibility WHERE namespace_id = 'random' "
        "AND run_id = '%s' AND status = %d AND division = '%s' AND count_keyword = '%s' "
        "AND workflow_id = '%s' AND close_inv = %s%d "
        "AND search_attributes->>'Keyword01' = '%s' AND search_attributes->>'Int01' = '%s' "
        "AND (search_attributes->'BuildIds' IS NOT NULL) = %s "
        "AND (search_attributes->'Text01' IS NOT NULL) = %s",
        c.run, c.status, c.division ? "Division" : "", c.low ? "low" : "", c.keyword,
        c.closed ? "" : "CAST('-9223372036854775808' AS BIGINT) + 0 * ",
        c.closed ? -(990 + version) : 0, c.keyword, c.number, c.list ? "true" : "false",
        c.text ? "true" : "false");
    REQUIRE(fixture_sql(&fix, sql) == 1, "run %d, version %d", run, version);
}

static void compare_with_the_model(void)
{
    for (int run = 0; run < RUNS; run++) {
        int64_t version = version_of(run);
        if (run < DELETED) {
            REQUIRE(version == -1, "run %d: version %lld", run, (long long)version);
            continue;
        }
        int newest = 0;
        bool any = false;
        for (int v = 1; v <= VERSIONS; v++) {
            if (atomic_load(&written[run][v]))
                newest = v;
            any |= atomic_load(&written[run][v]) || atomic_load(&started[run][v]);
        }
        if (!any)
            continue;
        REQUIRE(version >= newest && version > 0, "run %d: %lld, not %d", run, (long long)version,
                newest);
        REQUIRE(version == newest || atomic_load(&started[run][version]), "run %d: %lld", run,
                (long long)version);
        holds_its_version(run, (int)version);
    }
}

/* -- Damage. */

static char kinds[1000];

static void see(void *arg, const struct dsql_visibility_finding *finding)
{
    (void)arg;
    size_t len = strlen(kinds);
    (void)snprintf(kinds + len, sizeof(kinds) - len, "%s: %s%s\n", finding->kind, finding->detail,
                   finding->repaired ? ", repaired" : "");
}

static struct dsql_visibility_checked look(bool repair)
{
    static const struct dsql_visibility_watch watch = {.see = see};
    struct dsql_visibility_checked checked;
    struct dsql_err err = {0};
    kinds[0] = '\0';
    REQUIRE_OK(repair ? dsql_visibility_repair(visibility, &watch, &policy, &checked, &err)
                      : dsql_visibility_check(visibility, &watch, &policy, &checked, &err));
    return checked;
}

static void finds_nothing(const char *when)
{
    struct dsql_visibility_checked checked = look(false);
    REQUIRE(checked.findings == 0, "%s: %s", when, kinds);
    REQUIRE(checked.namespaces > 0 && checked.runs + checked.tombstones > 0);
}

#define OF_A_RUN       " WHERE namespace_id = 'whole' AND run_id = 'run 7'"
#define OF_A_LONG_MEMO " WHERE namespace_id = 'whole' AND run_id = 'run 8'"

static const struct {
    const char *damage, *kind;
} damages[] = {
    {"DELETE FROM visibility_postings" OF_A_RUN " AND attribute = 'Keyword01' RETURNING 1",
     "missing posting"},
    {"UPDATE visibility_postings SET value = 'other'" OF_A_RUN
     " AND attribute = 'Keyword01' RETURNING 1",
     "posting"},
    {"UPDATE visibility_postings SET close_inv = close_inv + 1" OF_A_RUN " RETURNING 1",
     "wrong posting: other times"},
    {"UPDATE visibility_postings SET bucket = bucket + 1" OF_A_RUN " RETURNING 1",
     "wrong posting: other times or another bucket"},
    {"INSERT INTO visibility_postings SELECT namespace_id, run_id, 'Keyword99', 'x', bucket, "
     "close_inv, start_inv FROM executions_visibility" OF_A_RUN " RETURNING 1",
     "wrong posting: a value that the run does not have"},
    {"INSERT INTO visibility_postings VALUES ('whole', 'run 70', 'Keyword01', 'x', 0, 0, 0), "
     "('whole', 'run 70', 'Keyword02', 'x', 0, 0, 0), ('a', 'nobody', 'K', 'x', 0, 0, 0), "
     "('zz', 'nobody', 'K', 'x', 0, 0, 0) RETURNING 1",
     "orphaned postings: of no run"},
    {"INSERT INTO visibility_postings VALUES ('whole', 'run 0', 'Keyword01', 'x', 0, 0, 0) "
     "RETURNING 1",
     "orphaned postings: of a deleted run"},
    {"UPDATE executions_visibility SET bucket = bucket + 1" OF_A_RUN " RETURNING 1",
     "row: another bucket"},
    {"UPDATE executions_visibility SET division = 'X'" OF_A_RUN " RETURNING 1",
     "row: another division"},
    {"UPDATE executions_visibility SET count_keyword = 'X'" OF_A_RUN " RETURNING 1",
     "row: another count_keyword"},
    {"UPDATE executions_visibility SET division = NULL" OF_A_RUN " RETURNING 1",
     "row: another division"},
    {"UPDATE executions_visibility SET division = 'X', status = 1 WHERE namespace_id = 'whole' "
     "AND run_id = 'run 0' RETURNING 1",
     "tombstone: values of a deleted run"},
    {"DELETE FROM executions_visibility" OF_A_RUN " RETURNING 1", "orphaned postings: of no run"},
    {"INSERT INTO visibility_memos VALUES ('whole', 'run 7', 1, 'x') RETURNING 1",
     "orphaned memo parts: of a run whose memo has none"},
    {"INSERT INTO visibility_memos VALUES ('whole', 'run 0', 1, 'x') RETURNING 1",
     "orphaned memo parts: of a deleted run"},
    {"INSERT INTO visibility_memos VALUES ('whole', 'run 71', 1, 'x'), ('a', 'no one', 1, 'x'), "
     "('a', 'no one', 2, 'x'), ('zz', 'no one', 3, 'x') RETURNING 1",
     "orphaned memo parts: of no run"},
    {"DELETE FROM executions_visibility" OF_A_LONG_MEMO " RETURNING 1",
     "orphaned postings: of no run"},
    {"UPDATE executions_visibility SET memo = 'x'" OF_A_LONG_MEMO " RETURNING 1",
     "orphaned memo parts: of a run whose memo has none"},
    {"DELETE FROM visibility_memos" OF_A_LONG_MEMO " AND part = 1 RETURNING 1",
     "memo: parts are missing or wrong"},
    {"UPDATE visibility_memos SET data = 'x'" OF_A_LONG_MEMO " AND part = 1 RETURNING 1",
     "memo: parts are missing or wrong"},
    {"UPDATE executions_visibility SET memo = 'x' WHERE namespace_id = 'whole' "
     "AND run_id = 'run 0' RETURNING 1",
     "tombstone: values of a deleted run"},
    {"INSERT INTO visibility_counts VALUES ('whole', '', 1, '', gen_random_uuid(), 5) RETURNING 1",
     "counter: division '', status 1, keyword '': "},
    {"INSERT INTO visibility_counts VALUES ('gone', '', 1, '', gen_random_uuid(), 5), "
     "('gone', 'X', 1, 'y', gen_random_uuid(), -1) RETURNING 1",
     "counter: division 'X', status 1, keyword 'y': -1 counted, 0 runs"},
    {"DELETE FROM visibility_counts WHERE namespace_id = 'whole' RETURNING 1", "counter: "},
};

/* Of a column and two parts more. */
static struct dsql_slice long_memo(void)
{
    static char memo[(2 << 20) + 5];
    return dsql_slice(memo, sizeof(memo));
}

/* Runs 0 to 2 are deleted, the others have a version that brings all kinds of attributes. */
static void make_whole_runs(void)
{
    static int version;
    version++;
    for (int run = 0; run < 10; run++) {
        char name[24];
        struct dsql_err err = {0};
        const struct dsql_slice k = dsql_slice_str("k"), i = dsql_slice_str("5"),
                                d = dsql_slice_str("2.5"), whole = dsql_slice_str("3"),
                                t = dsql_slice_str("to be or not"), b = dsql_slice_str("true"),
                                at = dsql_slice_str("2026-11-18T03:00:00.000000001Z");
        const struct dsql_slice list[] = {k, i, k};
        const struct dsql_visibility_attribute attributes[] = {
            one("Keyword01", DSQL_VISIBILITY_KEYWORD, &k),
            one("Int01", DSQL_VISIBILITY_INT, &i),
            one("Double01", DSQL_VISIBILITY_DOUBLE, &d),
            one("Double02", DSQL_VISIBILITY_DOUBLE, &whole),
            one("Text01", DSQL_VISIBILITY_TEXT, &t),
            one("Bool01", DSQL_VISIBILITY_BOOL, &b),
            one("Datetime01", DSQL_VISIBILITY_DATETIME, &at),
            {dsql_slice_str("BuildIds"), DSQL_VISIBILITY_KEYWORD_LIST, list, 3},
        };
        (void)snprintf(name, sizeof(name), "run %d", run);
        const struct dsql_visibility_record record = {
            .namespace_id = dsql_slice_str("whole"),
            .run_id = dsql_slice_str(name),
            .version = version,
            .status = 1 + run % 2,
            .start_us = 1000,
            .close_us = run % 2 ? 999 + run % 4 : DSQL_VISIBILITY_OPEN, /* some are skewed */
            .attributes = attributes,
            .attribute_count = DSQL_COUNT_OF(attributes),
            .memo = run == 8 ? long_memo() : dsql_slice_str("memo"),
        };
        REQUIRE_OK(dsql_visibility_record(visibility, DSQL_VISIBILITY_UPSERT, &record, &policy,
                                          NULL, &err));
        if (run < DELETED)
            REQUIRE_OK(dsql_visibility_delete(visibility, record.namespace_id, record.run_id,
                                              &policy, NULL, &err));
    }
}

static void damage_is_found_and_mended(void)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(damages); i++) {
        make_whole_runs();
        (void)look(true);
        finds_nothing("before damage");
        REQUIRE(fixture_sql(&fix, damages[i].damage) > 0, "%s", damages[i].damage);
        struct dsql_visibility_checked checked = look(false);
        REQUIRE(checked.findings > 0 && checked.repaired == 0 && strstr(kinds, damages[i].kind),
                "%s: %s", damages[i].damage, kinds);
        checked = look(true);
        REQUIRE(checked.findings > 0 && checked.repaired == checked.findings, "%s: %s",
                damages[i].damage, kinds);
        finds_nothing(damages[i].damage);
        /* What a repair leaves can be written again. */
        (void)fixture_sql(&fix, "DELETE FROM executions_visibility WHERE deleted_until IS NOT NULL "
                                "AND namespace_id = 'whole' AND run_id IN ('run 7', 'run 8') "
                                "RETURNING 1");
    }
}

/* -- Damage while runs are written. */

#define OF_ANY_RUN " WHERE namespace_id = 'random' AND run_id = $1"

/* What is not there is left alone. */
static const char *const vandalism[] = {
    "DELETE FROM visibility_postings" OF_ANY_RUN,
    "UPDATE visibility_postings SET close_inv = 7" OF_ANY_RUN,
    "INSERT INTO visibility_postings VALUES ('random', $1, 'Keyword77', 'x', 0, 0, 0) "
    "ON CONFLICT DO NOTHING",
    "INSERT INTO visibility_memos VALUES ('random', $1, 1, 'x') ON CONFLICT DO NOTHING",
    "UPDATE executions_visibility SET bucket = bucket + 1" OF_ANY_RUN,
    "INSERT INTO visibility_counts SELECT 'random', '', 1, $1, gen_random_uuid(), 3",
};

struct vandal {
    struct dsql_stmt stmt;
    struct dsql_param run;
};

static enum dsql_rc destroy(struct dsql_tx *tx, void *arg, struct dsql_err *error)
{
    const struct vandal *vandal = arg;
    return dsql_tx_exec(tx, &vandal->stmt, &vandal->run, 1, NULL, error);
}

/* Not under faults: what became of a transaction is known. */
static void *keep_destroying(void *arg)
{
    static const uint32_t types[] = {25};
    struct dsql_rng rng = dsql_rng_from_os();
    (void)arg;
    while (!atomic_load(&over)) {
        struct dsql_err err = {0};
        char run[24];
        (void)snprintf(run, sizeof(run), "run %d", (int)dsql_rng_between(&rng, 0, RUNS - 1));
        int64_t how = dsql_rng_between(&rng, 0, (int64_t)DSQL_COUNT_OF(vandalism) - 1);
        struct vandal vandal = {{.name = "destroy", .sql = vandalism[how], .types = types},
                                dsql_text(run)};
        REQUIRE_OK(dsql_tx_run(fix.pool, "destroy", destroy, &vandal, &policy, &err));
    }
    return NULL;
}

static void run_threads(bool damage)
{
    pthread_t writers[THREADS], compactor, vandal;
    int names[THREADS];
    atomic_store(&over, false);
    REQUIRE(pthread_create(&compactor, NULL, keep_compacting, NULL) == 0);
    if (damage)
        REQUIRE(pthread_create(&vandal, NULL, keep_destroying, NULL) == 0);
    for (int i = 0; i < THREADS; i++) {
        names[i] = i;
        REQUIRE(pthread_create(&writers[i], NULL, keep_writing, &names[i]) == 0);
    }
    for (int i = 0; i < 3; i++)
        if (damage)
            (void)look(true);
        else
            finds_nothing("while runs are written"); /* what is under way is no damage */
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(writers[i], NULL);
    atomic_store(&over, true);
    (void)pthread_join(compactor, NULL);
    if (damage) {
        (void)pthread_join(vandal, NULL);
        struct dsql_visibility_checked checked = look(true);
        REQUIRE(checked.repaired == checked.findings, "%s", kinds);
    }
    compare_with_the_model();
    finds_nothing("in the end");
}

int main(int argc, char **argv)
{
    struct dsql_err err = {0};
    fixture_open(&fix, 10, NULL);
    dsql_tx_policy_default(&policy);
    policy.retry.max_retries = 60;
    policy.retry.reconnects = 60;
    policy.retry.base_delay_ns = INT64_C(1000000);
    policy.retry.max_delay_ns = INT64_C(20000000);
    policy.retry.budget = NULL;
    REQUIRE_OK(dsql_visibility_open(fix.pool, NULL, &visibility, &err));
    (void)fixture_sql(&fix, "DELETE FROM executions_visibility RETURNING 1");
    (void)fixture_sql(&fix, "DELETE FROM visibility_postings RETURNING 1");
    (void)fixture_sql(&fix, "DELETE FROM visibility_memos RETURNING 1");
    (void)fixture_sql(&fix, "DELETE FROM visibility_counts RETURNING 1");
    write_run(DSQL_VISIBILITY_STARTED, RUNS - 1, 1);
    atomic_store(&started[RUNS - 1][1], true);
    run_threads(false);
    if (argc > 1 && strcmp(argv[1], "damage") == 0) {
        damage_is_found_and_mended();
        run_threads(true);
    }
    dsql_visibility_close(visibility);
    fixture_close(&fix);
    printf("visibility: random writes%s\n", argc > 1 ? ", damage and repair" : "");
    return 0;
}

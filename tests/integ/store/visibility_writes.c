/*
 * Writes of visibility, one by one: what the row, the postings and the counters hold after each,
 * in which order they may come, and how many round trips they take. Run by visibility.sh.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dsql/visibility.h"
#include "dsql/visibility_query.h"
#include "metrics/metrics.h"
#include "support/store.h"

static struct fixture fix;
static struct dsql_visibility *visibility;
static struct dsql_err err;

enum { RUNNING = 1, COMPLETED = 2 };

static const struct dsql_slice red[] = {{"red", 3}}, blue[] = {{"blue", 4}},
                               both[] = {{"red", 3}, {"blue", 4}}, seven[] = {{"7", 1}},
                               low[] = {{"low", 3}}, scheduler[] = {{"Scheduler", 9}};

#define KEYWORD(name, values)                                                                      \
    {                                                                                              \
        {name, sizeof(name) - 1}, DSQL_VISIBILITY_KEYWORD, values, 1                               \
    }

/* A run with nothing but what it must have. */
static struct dsql_visibility_record record(const char *run, int64_t version)
{
    return (struct dsql_visibility_record){
        .namespace_id = dsql_slice_str("ns"),
        .run_id = dsql_slice_str(run),
        .version = version,
        .status = RUNNING,
        .start_us = 1000,
        .execution_us = 1001,
        .close_us = DSQL_VISIBILITY_OPEN,
        .workflow_id = dsql_slice_str("wf"),
        .workflow_type = dsql_slice_str("type"),
        .execution_duration_ns = DSQL_NULL_I64,
        .history_length = DSQL_NULL_I64,
        .history_size_bytes = DSQL_NULL_I64,
        .state_transition_count = DSQL_NULL_I64,
    };
}

static bool write_it(enum dsql_visibility_write how, const struct dsql_visibility_record *it)
{
    bool applied = false;
    REQUIRE_OK(dsql_visibility_record(visibility, how, it, NULL, &applied, &err));
    return applied;
}

static bool erase(struct dsql_visibility *with, const char *run)
{
    bool applied = false;
    REQUIRE_OK(dsql_visibility_delete(with, dsql_slice_str("ns"), dsql_slice_str(run), NULL,
                                      &applied, &err));
    return applied;
}

/* Whether a SELECT of one boolean says so. */
#define HOLDS(condition) REQUIRE(fixture_sql(&fix, "SELECT CAST((" condition ") AS INTEGER)") == 1)

static void counted(const char *division, int status, int64_t wanted)
{
    char sql[256];
    (void)snprintf(sql, sizeof(sql),
                   "SELECT CAST(coalesce(sum(delta), 0) AS BIGINT) FROM visibility_counts "
                   "WHERE division = '%s' AND status = %d",
                   division, status);
    int64_t found = fixture_sql(&fix, sql);
    REQUIRE(found == wanted, "%s %d: %lld", division, status, (long long)found);
}

static int64_t counters(void)
{
    return fixture_sql(&fix, "SELECT count(*) FROM visibility_counts");
}

static void a_run_starts_changes_and_closes(void)
{
    const struct dsql_visibility_attribute at_first[] = {
        KEYWORD("Keyword01", red),
        {{"Int01", 5}, DSQL_VISIBILITY_INT, seven, 1},
    };
    const struct dsql_visibility_attribute later[] = {
        {{"BuildIds", 8}, DSQL_VISIBILITY_KEYWORD_LIST, both, 2},
        KEYWORD("Keyword01", blue),
        {{"Int01", 5}, DSQL_VISIBILITY_INT, seven, 1},
    };
    struct dsql_visibility_record it = record("run", 10);
    it.attributes = at_first;
    it.attribute_count = 2;
    it.parent_workflow_id = dsql_slice_str("parent");
    it.memo = dsql_slice("\0m", 2);
    it.encoding = dsql_slice_str("Proto3");
    REQUIRE(write_it(DSQL_VISIBILITY_STARTED, &it));
    HOLDS("SELECT close_inv = -9223372036854775808 AND start_inv = -1000 AND execution_time = 1001 "
          "AND status = 1 AND _version = 10 AND division = '' AND deleted_until IS NULL "
          "AND workflow_id = 'wf' AND workflow_type_name = 'type' AND task_queue = '' "
          "AND parent_workflow_id = 'parent' AND parent_run_id IS NULL AND memo = '\\x006d' "
          "AND encoding = 'Proto3' AND history_length IS NULL AND execution_duration IS NULL "
          "AND search_attributes = '{\"Keyword01\": \"red\", \"Int01\": 7}' "
          "FROM executions_visibility WHERE namespace_id = 'ns' AND run_id = 'run'");
    HOLDS(
        "SELECT count(*) = 2 AND bool_and(close_inv = -9223372036854775808 AND start_inv = -1000) "
        "FROM visibility_postings");
    counted("", RUNNING, 1);

    /* Again, and as an older upsert: nothing happens. */
    REQUIRE(!write_it(DSQL_VISIBILITY_STARTED, &it));
    REQUIRE(!write_it(DSQL_VISIBILITY_UPSERT, &it));
    it.version = 9;
    it.status = COMPLETED;
    REQUIRE(!write_it(DSQL_VISIBILITY_CLOSED, &it));
    HOLDS("SELECT status = 1 FROM executions_visibility");
    REQUIRE(counters() == 1);

    /* A newer one replaces it; no counter changes as long as the status does not. */
    it.version = 11;
    it.status = RUNNING;
    it.attributes = later;
    it.attribute_count = 3;
    REQUIRE(!write_it(DSQL_VISIBILITY_STARTED, &it));
    REQUIRE(write_it(DSQL_VISIBILITY_UPSERT, &it));
    REQUIRE(counters() == 1);
    HOLDS("SELECT string_agg(attribute || '=' || value, ' ' ORDER BY attribute, value) = "
          "'BuildIds=blue BuildIds=red Int01=8000000000000007 Keyword01=blue' "
          "FROM visibility_postings");

    /* Closed: the postings move with the row. */
    it.version = 12;
    it.status = COMPLETED;
    it.close_us = 5000;
    it.history_length = 3;
    it.execution_duration_ns = 4000000;
    REQUIRE(write_it(DSQL_VISIBILITY_CLOSED, &it));
    REQUIRE(!write_it(DSQL_VISIBILITY_CLOSED, &it));
    HOLDS("SELECT close_inv = -5000 AND history_length = 3 AND execution_duration = 4000000 "
          "FROM executions_visibility");
    HOLDS("SELECT count(*) = 4 AND bool_and(p.close_inv = -5000 AND p.bucket = v.bucket) "
          "FROM visibility_postings p, executions_visibility v");
    counted("", RUNNING, 0);
    counted("", COMPLETED, 1);

    /* Deleted, and what comes late does not bring it back. */
    REQUIRE(erase(visibility, "run"));
    REQUIRE(!erase(visibility, "run"));
    it.version = 99;
    REQUIRE(!write_it(DSQL_VISIBILITY_UPSERT, &it));
    REQUIRE(!write_it(DSQL_VISIBILITY_STARTED, &it));
    counted("", COMPLETED, 0);
    HOLDS("SELECT count(*) = 0 FROM visibility_postings");
    HOLDS("SELECT count(*) = 1 AND bool_and(deleted_until IS NOT NULL AND division IS NULL "
          "AND workflow_id IS NULL AND memo IS NULL AND search_attributes IS NULL "
          "AND parent_workflow_id IS NULL AND root_workflow_id IS NULL AND status IS NULL) "
          "FROM executions_visibility");
}

/* A run that is deleted before its first record arrives stays deleted, until its tombstone ends. */
static void a_tombstone_ends(void)
{
    struct dsql_visibility_options options;
    struct dsql_visibility *brief;
    struct dsql_visibility_record it = record("early", 1);
    REQUIRE(!erase(visibility, "early"));
    REQUIRE(!write_it(DSQL_VISIBILITY_STARTED, &it));
    counted("", RUNNING, 0);
    dsql_visibility_options_default(&options);
    options.tombstone_ns = 0;
    REQUIRE_OK(dsql_visibility_open(fix.pool, &options, &brief, &err));
    REQUIRE(!erase(brief, "early"));
    REQUIRE(write_it(DSQL_VISIBILITY_STARTED, &it));
    counted("", RUNNING, 1);
    HOLDS("SELECT deleted_until IS NULL AND _version = 1 FROM executions_visibility "
          "WHERE run_id = 'early'");
    REQUIRE(erase(brief, "early"));
    counted("", RUNNING, 0);
    dsql_visibility_close(brief);
}

/* Clocks differ, and some runs take long: what says so is posted, and goes with it. */
static void runs_that_close_far_from_their_start_are_marked(void)
{
    struct dsql_visibility_record it = record("skewed", 1);
    it.close_us = it.start_us - 1;
    REQUIRE(write_it(DSQL_VISIBILITY_CLOSED, &it));
    HOLDS("SELECT attribute = '!skew' AND value = '1' AND close_inv = -999 AND start_inv = -1000 "
          "FROM visibility_postings WHERE run_id = 'skewed'");
    it.version = 2;
    it.close_us = it.start_us + INT64_C(600000001);
    REQUIRE(write_it(DSQL_VISIBILITY_CLOSED, &it));
    HOLDS("SELECT string_agg(attribute, ',') = '!long' FROM visibility_postings "
          "WHERE run_id = 'skewed'");
    it.version = 3;
    it.close_us--;
    REQUIRE(write_it(DSQL_VISIBILITY_CLOSED, &it));
    HOLDS("SELECT count(*) = 0 FROM visibility_postings WHERE run_id = 'skewed'");
    REQUIRE(erase(visibility, "skewed"));
}

static void memo_is(const char *run, const char *memo, size_t len)
{
    struct dsql_visibility_page page = {0};
    struct dsql_visibility_run found;
    REQUIRE_OK(dsql_visibility_get(visibility, dsql_slice_str("ns"), dsql_slice_str(run), NULL,
                                   &page, &err));
    REQUIRE(dsql_visibility_next(&page, &found));
    REQUIRE(found.memo.len == len, "%zu bytes of %zu", found.memo.len, len);
    REQUIRE(memcmp(found.memo.ptr, memo, len) == 0);
    REQUIRE(strncmp(found.workflow_id.ptr, "wf", found.workflow_id.len) == 0);
    dsql_visibility_page_fini(&page);
}

/* Temporal allows 2 MiB by default; a column of the service has one. Lists carry the whole memo,
 * and no part of an older one is left. */
static void a_memo_may_be_longer_than_a_column(void)
{
    const size_t column = (size_t)1 << 20;
    const size_t sizes[] = {2 * column, 3 * column + 5, column + 1, column, 7, 8 * column, 1};
    char *memo = malloc(8 * column + 16);
    REQUIRE(memo);
    for (size_t i = 0; i < 8 * column + 16; i++)
        memo[i] = (char)(i * 31 >> 7 ^ i);
    struct dsql_visibility_record it = record("memo", 0);
    it.encoding = dsql_slice_str("Proto3");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        it.version++;
        it.memo = dsql_slice(memo + i, sizes[i]);
        REQUIRE(write_it(DSQL_VISIBILITY_UPSERT, &it));
        memo_is("memo", memo + i, sizes[i]);
        int64_t parts = (int64_t)((sizes[i] - 1) / column);
        REQUIRE(fixture_sql(&fix, "SELECT CAST(count(*) AS INTEGER) FROM visibility_memos") ==
                parts);
    }
    it.version++;
    it.memo = dsql_slice(memo, 8 * column + 1);
    REQUIRE(dsql_visibility_record(visibility, DSQL_VISIBILITY_UPSERT, &it, NULL, NULL, &err) ==
            DSQL_TOO_LARGE);
    it.memo = dsql_slice(memo, 2 * column);
    REQUIRE(write_it(DSQL_VISIBILITY_UPSERT, &it));
    it.version--; /* an older one leaves the parts alone */
    it.memo = dsql_slice(memo, 5 * column);
    REQUIRE(!write_it(DSQL_VISIBILITY_UPSERT, &it));
    memo_is("memo", memo, 2 * column);
    REQUIRE(erase(visibility, "memo"));
    HOLDS("SELECT count(*) = 0 FROM visibility_memos");
    free(memo);
}

static int64_t findings(void)
{
    struct dsql_visibility_checked checked = {0};
    REQUIRE_OK(dsql_visibility_check(visibility, NULL, NULL, &checked, &err));
    return checked.findings;
}

/* A row alone says how its attributes are posted, whatever their names are. */
static void attributes_of_any_name_are_mended(void)
{
    static const struct dsql_slice words[] = {{"blue sky", 8}}, three[] = {{"3", 1}};
    const struct dsql_visibility_attribute attributes[] = {
        {{"Weather", 7}, DSQL_VISIBILITY_TEXT, words, 1},
        {{"Degrees", 7}, DSQL_VISIBILITY_DOUBLE, three, 1},
        {{"Days", 4}, DSQL_VISIBILITY_INT, three, 1},
    };
    struct dsql_visibility_record it = record("named", 1);
    it.attributes = attributes;
    it.attribute_count = 3;
    REQUIRE(write_it(DSQL_VISIBILITY_STARTED, &it));
    REQUIRE(findings() == 0);
    (void)fixture_sql(&fix, "DELETE FROM visibility_postings WHERE run_id = 'named'");
    REQUIRE(findings() == 1);
    REQUIRE_OK(dsql_visibility_repair(visibility, NULL, NULL, NULL, &err));
    HOLDS("SELECT string_agg(attribute || ' ' || value, ', ' ORDER BY attribute, value) = "
          "'Days 8000000000000003, Degrees c008000000000000, Weather blue, Weather sky' "
          "FROM visibility_postings WHERE run_id = 'named'");
    REQUIRE(erase(visibility, "named"));
}

/* Counters go by division, status and one keyword. */
static void counters_follow_the_row(void)
{
    const struct dsql_visibility_attribute division[] = {
        KEYWORD("TemporalNamespaceDivision", scheduler)};
    const struct dsql_visibility_attribute with_keyword[] = {
        KEYWORD("TemporalNamespaceDivision", scheduler),
        KEYWORD("TemporalLowCardinalityKeyword01", low)};
    struct dsql_visibility_record it = record("schedule", 1);
    it.attributes = division;
    it.attribute_count = 1;
    REQUIRE(write_it(DSQL_VISIBILITY_UPSERT, &it));
    counted("Scheduler", RUNNING, 1);
    HOLDS("SELECT count(*) = 0 FROM visibility_postings WHERE run_id = 'schedule'");
    it.version = 2;
    it.attributes = with_keyword;
    it.attribute_count = 2;
    REQUIRE(write_it(DSQL_VISIBILITY_UPSERT, &it));
    counted("Scheduler", RUNNING, 1);
    HOLDS("SELECT sum(delta) = 1 FROM visibility_counts "
          "WHERE division = 'Scheduler' AND count_keyword = 'low'");
    it.version = 3;
    it.attribute_count = 0;
    REQUIRE(write_it(DSQL_VISIBILITY_UPSERT, &it));
    counted("Scheduler", RUNNING, 0);
    counted("", RUNNING, 1);
    REQUIRE(erase(visibility, "schedule"));
}

static void what_cannot_be_written_is_refused(void)
{
    static char memo[(8 << 20) + 1];
    struct dsql_visibility_record it = record("", 1);
    REQUIRE(dsql_visibility_record(visibility, DSQL_VISIBILITY_STARTED, &it, NULL, NULL, &err) ==
            DSQL_INVALID);
    REQUIRE(strstr(err.message, "a run without a run id"), "%s", err.message);
    it = record("large", 1);
    it.memo = dsql_slice(memo, sizeof(memo));
    REQUIRE(dsql_visibility_record(visibility, DSQL_VISIBILITY_STARTED, &it, NULL, NULL, &err) ==
            DSQL_TOO_LARGE);
    it.memo = dsql_slice(NULL, 0);
    it.status = 1 << 20;
    REQUIRE(dsql_visibility_record(visibility, DSQL_VISIBILITY_STARTED, &it, NULL, NULL, &err) ==
            DSQL_INVALID);
    HOLDS("SELECT count(*) = 0 FROM executions_visibility WHERE run_id = 'large'");
}

static uint64_t round_trips(const char *operation)
{
    unsigned op = dsql_metrics_operation(fix.metrics, operation);
    return dsql_counter_value(
        fix.metrics, (struct dsql_series){.metric = DSQL_METRIC_tx_round_trips, .operation = op});
}

static void a_write_is_one_round_trip(void)
{
    struct dsql_visibility_record it = record("trip", 1);
    uint64_t before = round_trips("RecordVisibility");
    REQUIRE(write_it(DSQL_VISIBILITY_STARTED, &it));
    it.version = 2;
    REQUIRE(write_it(DSQL_VISIBILITY_CLOSED, &it));
    REQUIRE(round_trips("RecordVisibility") == before + 2);
    before = round_trips("DeleteVisibility");
    REQUIRE(erase(visibility, "trip"));
    REQUIRE(round_trips("DeleteVisibility") == before + 1);
}

int main(void)
{
    fixture_open(&fix, 1, NULL);
    REQUIRE_OK(dsql_visibility_open(fix.pool, NULL, &visibility, &err));
    REQUIRE_OK(dsql_visibility_verify_schema(visibility, INT64_C(30000000000), &err));
    a_run_starts_changes_and_closes();
    a_tombstone_ends();
    runs_that_close_far_from_their_start_are_marked();
    a_memo_may_be_longer_than_a_column();
    attributes_of_any_name_are_mended();
    counters_follow_the_row();
    what_cannot_be_written_is_refused();
    a_write_is_one_round_trip();
    dsql_visibility_close(visibility);
    fixture_close(&fix);
    printf("visibility: writes one by one\n");
    return 0;
}

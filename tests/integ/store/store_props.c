/*
 * The eight properties of locking on Aurora DSQL, each with random cases against a real database.
 * With an argument, only the property of that number.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dsql/log.h"
#include "support/prop.h"
#include "support/store.h"
#include "support/test.h"
#include "temporal/ops.h"

#define STR(text) dsql_slice_str(text)

static struct fixture fix;
static struct dsql_store *one_by_one; /* the same without pipelining */
static struct dsql_err err;

static int32_t new_shard(int64_t range_id)
{
    struct dsql_InsertIntoShards in = {fixture_shard(&fix), range_id, STR("d"), STR("e")};
    enum dsql_rc rc;
    do
        rc = dsql_call_InsertIntoShards(fix.store, NULL, &in, 1, NULL, &err);
    while (rc ==
           DSQL_COMMIT_UNKNOWN); /* under faults: then it is there, or comes at the next try */
    REQUIRE(rc == DSQL_OK || rc == DSQL_DUPLICATE, "%s", err.message);
    return in.shard_id;
}

static int64_t range_of(int32_t shard)
{
    struct dsql_SelectFromShards in = {shard};
    struct dsql_SelectFromShards_row row;
    struct dsql_result result = {0};
    REQUIRE_OK(dsql_call_SelectFromShards(fix.store, NULL, &in, &result, &err));
    REQUIRE(dsql_next_SelectFromShards(&result, &row));
    dsql_result_fini(&result);
    return row.range_id;
}

/* Lock, compare, write: what Temporal does with a shard. */
static enum dsql_rc raise_range(struct dsql_store *store, struct dsql_store_tx *tx, int32_t shard,
                                int64_t expected, struct dsql_err *e)
{
    struct dsql_WriteLockShards lock = {shard};
    struct dsql_WriteLockShards_row row;
    struct dsql_UpdateShards update = {shard, expected + 1, STR("d"), STR("e")};
    struct dsql_result result = {0};
    enum dsql_rc rc = dsql_call_WriteLockShards(store, tx, &lock, &result, e);
    if (!rc && dsql_next_WriteLockShards(&result, &row) && row.range_id != expected)
        rc = dsql_err_set(e, DSQL_CONDITION_FAILED, "overtaken");
    if (!rc)
        rc = dsql_call_UpdateShards(store, tx, &update, 1, NULL, e);
    dsql_result_fini(&result);
    return rc;
}

/* -- Property 1: DSQL locking compatibility. Any operation with any input: nothing is sent that the
 * service does not support, nor anything it can't read. */

static char drawn_bytes[64], long_id[1000];

static struct dsql_param draw_value(struct prop *p, const struct dsql_op_field *field)
{
    struct dsql_slice text = {drawn_bytes, prop_below(p, 20)};
    if (field->nullable && prop_below(p, 2) == 0)
        return dsql_null();
    switch (field->type) {
    case DSQL_COLUMN_I4:
        return dsql_i32((int32_t)prop_between(p, -2, 3));
    case DSQL_COLUMN_BOOL:
        return dsql_bool(prop_below(p, 2));
    case DSQL_COLUMN_I8:
        return dsql_i64(prop_between(p, -3, 4));
    case DSQL_COLUMN_TIME:
        return dsql_i64(prop_between(p, 0, INT64_C(4000000000000000)));
    case DSQL_COLUMN_UUID:
        return dsql_uuid(drawn_bytes + prop_below(p, 3));
    case DSQL_COLUMN_ID: /* most are short, some as long as Temporal allows */
        memset(long_id, 'i', sizeof(long_id));
        return dsql_text_n(long_id, prop_below(p, 8) ? prop_below(p, 16) : sizeof(long_id));
    case DSQL_COLUMN_TEXT:
        return dsql_text_n("abcdefghijklmnopqrst", prop_below(p, 16));
    case DSQL_COLUMN_BYTES:
    case DSQL_COLUMN_KEY:
        break;
    }
    return dsql_bytes(text.ptr, text.len);
}

static bool locking_compatibility(struct prop *p)
{
    enum dsql_op op = (enum dsql_op)prop_below(p, DSQL_OP_COUNT);
    const struct dsql_op_info *info = dsql_op_info(op);
    struct dsql_param params[DSQL_OP_FIELDS_MAX];
    struct dsql_store *store = prop_below(p, 2) ? fix.store : one_by_one;
    struct dsql_store_tx *tx = NULL;
    bool inside = prop_below(p, 2);
    for (size_t i = 0; i < sizeof(drawn_bytes); i++)
        drawn_bytes[i] = (char)prop_below(p, 256);
    for (size_t i = 0; i < info->given_count; i++)
        params[i] = draw_value(p, &info->fields[i]);
    enum dsql_rc rc = DSQL_OK;
    if (inside)
        rc = dsql_store_begin(store, "any", NULL, &tx, &err);
    if (!rc)
        rc = dsql_store_call(store, tx, op, params, 1, NULL, NULL, &err);
    if (tx) { /* the schema and the version rows stay as they are */
        enum dsql_rc flushed = dsql_tx_flush(dsql_store_tx_of(tx), rc ? NULL : &err);
        rc = rc ? rc : flushed;
        dsql_store_rollback(tx);
    }
    bool fine = rc == DSQL_OK || rc == DSQL_NOT_FOUND || rc == DSQL_CONDITION_FAILED ||
                rc == DSQL_DUPLICATE || rc == DSQL_INVALID;
    /* LIMIT and OFFSET below 0, and a namespace's name that another has, are the caller's doing. */
    fine = fine || strcmp(err.sqlstate, "2201W") == 0 || strcmp(err.sqlstate, "2201X") == 0;
    return prop_that(p, fine, "%s: %s %s", info->name, dsql_rc_name(rc), err.message);
}

/* -- Property 2: conditional update atomicity. A compare-and-swap changes its row if and only if
 * the token is the expected one, and says which. */

static bool conditional_update(struct prop *p)
{
    int32_t type = fixture_shard(&fix);
    struct dsql_id id = fixture_id(&fix);
    int64_t expected = 1, queue = 0;
    struct dsql_InsertIntoQueueMetadata a = {type, STR("d"), STR("e"), 0};
    struct dsql_InsertIntoNexusEndpoints b = {id, STR("d"), STR("e")};
    struct dsql_result result = {0};
    REQUIRE_OK(dsql_call_InsertIntoQueueMetadata(fix.store, NULL, &a, 1, NULL, &err));
    REQUIRE_OK(dsql_call_InsertIntoNexusEndpoints(fix.store, NULL, &b, 1, NULL, &err));
    for (size_t steps = 1 + prop_below(p, 6); steps > 0; steps--) {
        int64_t off = prop_between(p, -1, 1);
        struct dsql_UpdateQueueMetadata set_a = {type, queue + off, STR("d"), STR("e")};
        struct dsql_UpdateNexusEndpoint set_b = {id, expected + off, STR("d"), STR("e")};
        enum dsql_rc rc_a =
            dsql_call_UpdateQueueMetadata(fix.store, NULL, &set_a, 1, &result, &err);
        bool hit_a = result.affected == 1;
        enum dsql_rc rc_b =
            dsql_call_UpdateNexusEndpoint(fix.store, NULL, &set_b, 1, &result, &err);
        bool hit_b = result.affected == 1;
        enum dsql_rc wanted = off ? DSQL_CONDITION_FAILED : DSQL_OK;
        if (!prop_that(p, rc_a == wanted && rc_b == wanted && hit_a == !off && hit_b == !off,
                       "off by %d: %s and %s", (int)off, dsql_rc_name(rc_a), dsql_rc_name(rc_b)))
            return false;
        expected += !off;
        queue += !off;
    }
    struct dsql_GetNexusEndpointByID get = {id};
    struct dsql_GetNexusEndpointByID_row row;
    REQUIRE_OK(dsql_call_GetNexusEndpointByID(fix.store, NULL, &get, &result, &err));
    REQUIRE(dsql_next_GetNexusEndpointByID(&result, &row));
    dsql_result_fini(&result);
    return prop_that(p, row.version == expected, "%lld", (long long)row.version);
}

/* -- Property 3: serialization conflict retry. A body that is overtaken k times is run k + 1 times,
 * and no more often than the policy says. */

struct overtaken {
    int32_t shard;
    int conflicts, runs;
};

static enum dsql_rc overtaken_body(struct dsql_store_tx *tx, void *arg, struct dsql_err *e)
{
    struct overtaken *o = arg;
    int64_t range = range_of(o->shard);
    enum dsql_rc rc = raise_range(fix.store, tx, o->shard, range, e);
    if (rc || o->runs++ >= o->conflicts)
        return rc;
    struct dsql_UpdateShards other = {o->shard, range + 1, STR("o"), STR("e")};
    return dsql_call_UpdateShards(fix.store, NULL, &other, 1, NULL, e);
}

static void quick_policy(struct dsql_tx_policy *policy)
{
    dsql_tx_policy_default(policy);
    policy->retry.base_delay_ns = policy->retry.max_delay_ns = 1000000;
    policy->retry.budget = NULL;
}

static bool conflict_retry(struct prop *p)
{
    struct overtaken o = {new_shard(0), (int)prop_below(p, 4), 0};
    struct dsql_tx_policy policy;
    quick_policy(&policy);
    policy.retry.max_retries = (int)prop_below(p, 4);
    enum dsql_rc rc = dsql_store_run(fix.store, "overtaken", overtaken_body, &o, &policy, &err);
    bool enough = o.conflicts <= policy.retry.max_retries;
    int runs = enough ? o.conflicts + 1 : policy.retry.max_retries + 1;
    return prop_that(p, rc == (enough ? DSQL_OK : DSQL_CONFLICT) && o.runs == runs,
                     "%d conflicts, %d retries: %s after %d runs", o.conflicts,
                     policy.retry.max_retries, dsql_rc_name(rc), o.runs);
}

/* -- Property 4: concurrency safety. Of transactions that interleave in any way and expect the same
 * token, exactly one commits. */

static bool concurrency_safety(struct prop *p)
{
    enum { TXS = 3 };
    struct dsql_store_tx *tx[TXS] = {NULL};
    enum dsql_rc outcome[TXS] = {DSQL_OK};
    bool written[TXS] = {false};
    int32_t shard = new_shard(5);
    size_t open = 0, n = 2 + prop_below(p, TXS - 1), winners = 0;
    for (size_t i = 0; i < n; i++) {
        REQUIRE_OK(
            dsql_store_begin(prop_below(p, 2) ? fix.store : one_by_one, "any", NULL, &tx[i], &err));
        open++;
    }
    while (open > 0) {
        size_t i = prop_below(p, n);
        while (!tx[i])
            i = (i + 1) % n;
        if (!written[i]) {
            outcome[i] = raise_range(fix.store, tx[i], shard, 5, &err);
            written[i] = true;
            if (outcome[i] == DSQL_OK)
                continue;
            dsql_store_rollback(tx[i]);
        } else {
            outcome[i] = dsql_store_commit(tx[i], &err);
        }
        tx[i] = NULL;
        open--;
    }
    for (size_t i = 0; i < n; i++) {
        winners += outcome[i] == DSQL_OK;
        if (!prop_that(p,
                       outcome[i] == DSQL_OK || outcome[i] == DSQL_CONFLICT ||
                           outcome[i] == DSQL_CONDITION_FAILED,
                       "%s", dsql_rc_name(outcome[i])))
            return false;
    }
    return prop_that(p, winners == 1 && range_of(shard) == 6, "%zu winners, range %lld", winners,
                     (long long)range_of(shard));
}

/* -- Property 5: error handling robustness. Each kind of failure has its own outcome, is run once,
 * and leaves the store usable. */

struct failing {
    size_t kind;
    int32_t shard;
    int runs;
};

static enum dsql_rc failing_body(struct dsql_store_tx *tx, void *arg, struct dsql_err *e)
{
    static const struct dsql_stmt for_share = {.name = "for_share",
                                               .sql = "SELECT range_id FROM shards FOR SHARE",
                                               .flags = DSQL_STMT_READ};
    static const struct dsql_stmt nonsense = {.name = "nonsense", .sql = "SELECT nothing"};
    struct failing *f = arg;
    struct dsql_InsertIntoShards twice = {f->shard, 1, STR("d"), STR("e")};
    struct dsql_SelectFromShards missing = {-7};
    f->runs++;
    switch (f->kind) {
    case 0:
        return dsql_call_InsertIntoShards(fix.store, tx, &twice, 1, NULL, e);
    case 1:
        return dsql_call_SelectFromShards(fix.store, tx, &missing, NULL, e);
    case 2:
        return raise_range(fix.store, tx, f->shard, 77, e);
    case 3:
        return dsql_tx_exec(dsql_store_tx_of(tx), &for_share, NULL, 0, NULL, e);
    case 4:
        return dsql_tx_exec(dsql_store_tx_of(tx), &nonsense, NULL, 0, NULL, e);
    default:
        return dsql_err_set(e, DSQL_INVALID, "the caller's own");
    }
}

static bool error_handling(struct prop *p)
{
    static const enum dsql_rc wanted[] = {DSQL_DUPLICATE,   DSQL_NOT_FOUND, DSQL_CONDITION_FAILED,
                                          DSQL_UNSUPPORTED, DSQL_DATABASE,  DSQL_INVALID};
    struct failing f = {prop_below(p, DSQL_COUNT_OF(wanted)), new_shard(1), 0};
    struct dsql_tx_policy policy;
    quick_policy(&policy);
    enum dsql_rc rc = dsql_store_run(fix.store, "failing", failing_body, &f, &policy, &err);
    return prop_that(p, rc == wanted[f.kind] && f.runs == 1 && err.rc == rc,
                     "kind %zu: %s, %d runs", f.kind, dsql_rc_name(rc), f.runs) &&
           prop_that(p, range_of(f.shard) == 1, "the store is not as it was");
}

/* -- Property 6: data integrity under failures. A transaction of several rows that is ended in any
 * way at any point is there as a whole or not at all, and there if it was said to be. */

static bool data_integrity(struct prop *p)
{
    enum { ROWS = 5 };
    int32_t shard = fixture_shard(&fix);
    size_t stop_at = prop_below(p, (uint64_t)2 * ROWS), how = prop_below(p, 4);
    struct dsql_cancel *cancel = NULL;
    struct dsql_store_tx *tx = NULL;
    struct dsql_tx_policy policy;
    REQUIRE_OK(dsql_cancel_new(&cancel, &err));
    quick_policy(&policy);
    policy.cancel = cancel;
    enum dsql_rc rc =
        dsql_store_begin(prop_below(p, 2) ? fix.store : one_by_one, "rows", &policy, &tx, &err);
    for (size_t i = 0; !rc && i < ROWS; i++) {
        int64_t id = (int64_t)i;
        if (i == stop_at && how == 1)
            dsql_cancel_fire(cancel);
        if (i == stop_at && how == 2)
            id = (int64_t)i - 1; /* a duplicate, except of the first */
        if (i == stop_at && how == 3)
            break;
        struct dsql_InsertIntoTransferTasks in = {shard, id, STR("t"), STR("e")};
        rc = dsql_call_InsertIntoTransferTasks(tx ? fix.store : NULL, tx, &in, 1, NULL, &err);
    }
    if (tx && (rc || (how == 3 && stop_at < ROWS)))
        dsql_store_rollback(tx);
    else if (tx)
        rc = dsql_store_commit(tx, &err);
    bool rolled_back = how == 3 && stop_at < ROWS;
    dsql_cancel_destroy(cancel);
    struct dsql_RangeSelectFromTransferTasks range = {shard, -10, 100, 100};
    struct dsql_result result = {0};
    REQUIRE_OK(dsql_call_RangeSelectFromTransferTasks(fix.store, NULL, &range, &result, &err));
    size_t there = result.rows;
    dsql_result_fini(&result);
    return prop_that(p, there == 0 || there == ROWS, "%zu rows of %d", there, ROWS) &&
           prop_that(p, rc != DSQL_OK || rolled_back || there == ROWS, "committed and not there") &&
           prop_that(p, rc == DSQL_OK || rc == DSQL_COMMIT_UNKNOWN || there == 0,
                     "%s and yet there", dsql_rc_name(rc)) &&
           prop_that(p, !rolled_back || there == 0, "rolled back and yet there");
}

/* -- Property 7: metrics and observability. The counters say what happened. */

static double metric(char *text, const char *name)
{
    double value = 0;
    for (char *line = strstr(text, name); line; line = strstr(line + 1, name)) {
        char *end = strchr(line, '\n');
        if (line[strlen(name)] == '{' && (line == text || line[-1] == '\n')) {
            *end = 0;
            if (strstr(line, "operation=\"counted\""))
                value += strtod(strrchr(line, ' '), NULL);
            *end = '\n';
        }
    }
    return value;
}

struct counters {
    double conflicts, retries, failed, operations, unsupported;
};

static struct counters read_counters(void)
{
    char *text;
    size_t len;
    REQUIRE(dsql_metrics_text(fix.metrics, &text, &len) == DSQL_OK);
    struct counters c = {metric(text, "dsql_tx_conflicts_total"),
                         metric(text, "dsql_tx_retries_total"),
                         metric(text, "dsql_condition_failed_total"),
                         metric(text, "dsql_operation_duration_seconds_count"),
                         metric(text, "dsql_unsupported_feature_total")};
    free(text);
    return c;
}

static bool metrics_and_observability(struct prop *p)
{
    struct counters before = read_counters(), after;
    struct dsql_tx_policy policy;
    quick_policy(&policy);
    struct overtaken o = {new_shard(0), (int)prop_below(p, 3), 0};
    REQUIRE_OK(dsql_store_run(fix.store, "counted", overtaken_body, &o, &policy, &err));
    bool lose = prop_below(p, 2);
    struct failing f = {2, o.shard, 0};
    if (lose)
        REQUIRE(dsql_store_run(fix.store, "counted", failing_body, &f, &policy, &err) ==
                DSQL_CONDITION_FAILED);
    after = read_counters();
    return prop_that(p, after.conflicts - before.conflicts == o.conflicts, "conflicts") &&
           prop_that(p, after.retries - before.retries == o.conflicts, "retries") &&
           prop_that(p, after.failed - before.failed == lose, "condition failed") &&
           prop_that(p, after.operations - before.operations == 1 + lose, "operations") &&
           prop_that(p, after.unsupported == 0, "unsupported");
}

/* -- Property 8: service initialization. Services with any settings start against the same cluster,
 * all settle on the lock that it takes, and can work. */

static bool service_initialization(struct prop *p)
{
    struct dsql_store *stores[3];
    size_t n = 1 + prop_below(p, 2);
    int32_t shard = new_shard(0);
    bool holds = true;
    for (size_t i = 0; i < n; i++) {
        struct dsql_store_options options;
        dsql_store_options_default(&options);
        options.shard_lock = (enum dsql_shard_lock)prop_below(p, 3);
        options.pipelined = prop_below(p, 2);
        options.node = (int)prop_between(p, -1, 1023);
        stores[i] = fixture_store(&fix, &options);
        enum dsql_shard_lock lock = dsql_store_shard_lock(stores[i]);
        holds =
            holds &&
            prop_that(p,
                      lock == (options.shard_lock ? options.shard_lock : DSQL_SHARD_LOCK_KEY_SHARE),
                      "lock %d", (int)lock);
    }
    for (size_t i = 0; holds && i < n; i++) {
        struct dsql_store_tx *tx;
        struct dsql_ReadLockShards lock = {shard};
        struct dsql_UpdateShards update = {shard, (int64_t)i + 1, STR("d"), STR("e")};
        REQUIRE_OK(dsql_store_begin(stores[i], "start", NULL, &tx, &err));
        REQUIRE_OK(dsql_call_ReadLockShards(stores[i], tx, &lock, NULL, &err));
        REQUIRE_OK(dsql_call_UpdateShards(stores[i], tx, &update, 1, NULL, &err));
        REQUIRE_OK(dsql_store_commit(tx, &err));
    }
    for (size_t i = 0; i < n; i++)
        dsql_store_close(stores[i]);
    return holds && prop_that(p, range_of(shard) == (int64_t)n, "the services did not all work");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        prop_fn *fn;
        unsigned cases;
    } properties[] = {
        {"1: DSQL locking compatibility", locking_compatibility, 400},
        {"2: conditional update atomicity", conditional_update, 100},
        {"3: serialization conflict retry", conflict_retry, 100},
        {"4: concurrency safety", concurrency_safety, 100},
        {"5: error handling robustness", error_handling, 100},
        {"6: data integrity under failures", data_integrity, 120},
        {"7: metrics and observability", metrics_and_observability, 100},
        {"8: service initialization", service_initialization, 100},
    };
    size_t only = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    struct dsql_store_options plain;
    char why[512];
    dsql_store_options_default(&plain);
    plain.pipelined = false;
    dsql_log_set_level(DSQL_LOG_ERROR);
    fixture_open(&fix, 6, NULL);
    one_by_one = fixture_store(&fix, &plain);
    for (size_t i = 0; i < DSQL_COUNT_OF(properties); i++) {
        if (only && only != i + 1)
            continue;
        if (!prop_holds(properties[i].name, properties[i].fn, properties[i].cases, why,
                        sizeof(why))) {
            fprintf(stderr, "property %s: %s\n", properties[i].name, why);
            return 1;
        }
    }
    dsql_store_close(one_by_one);
    fixture_close(&fix);
    return 0;
}

/*
 * 32 workers on one shard, one task queue and one workflow, each of which has a token that every
 * change raises. Whatever the endpoint does meanwhile:
 *
 *   (SC1) each value of a token has exactly one winner;
 *   (SC2) what a worker was told is applied is there, once: no update is lost;
 *   (SC3) what a worker was told has failed is not there;
 *   (SC4) what is there and not reported as applied was reported as unknown;
 *   (SC5) a loser gets condition failed, and nothing but a conflict is ever run again.
 *
 * Every change leaves a row behind that names its token and the try that made it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/store.h"

enum { WORKERS = 32, TOKENS = 40, CLAIMS_MAX = 200000 };

#define STR(text) dsql_slice_str(text)

enum kind { SHARD, QUEUE, WORKFLOW, KINDS };
static const char *const kind_names[] = {"shard", "task queue", "workflow"};

static struct fixture fix;
static int32_t shard;
static struct dsql_id ns, run;
static atomic_int stopped[KINDS];
static bool faults;

/* One try of a change, as it is named in the row that it leaves behind. */
struct claim {
    enum kind kind;
    int64_t token;
    uint64_t nonce;
    enum dsql_rc rc;
};
static struct claim claims[CLAIMS_MAX];
static atomic_size_t claim_count;

struct change {
    enum kind kind;
    int64_t expected; /* the token it was read at */
    uint64_t nonce;   /* of this try */
    struct dsql_rng *rng;
    struct claim *claim; /* of this try */
    enum dsql_rc last;   /* what the body answered before; a second run after that would be wrong */
};

static struct claim *record(const struct change *change)
{
    size_t at = atomic_fetch_add(&claim_count, 1);
    REQUIRE(at < CLAIMS_MAX);
    claims[at] = (struct claim){change->kind, change->expected + 1, change->nonce, DSQL_RC_COUNT};
    return &claims[at];
}

static enum dsql_rc condition_failed(struct dsql_err *err)
{
    return dsql_err_set(err, DSQL_CONDITION_FAILED, "somebody was faster");
}

/* What Temporal does: lock, compare, write. The row with the nonce rides along. */
static enum dsql_rc change_shard(struct dsql_store_tx *tx, const struct change *c,
                                 struct dsql_slice mark, struct dsql_err *err)
{
    struct dsql_WriteLockShards lock = {shard};
    struct dsql_WriteLockShards_row row;
    struct dsql_UpdateShards update = {shard, c->expected + 1, mark, STR("e")};
    struct dsql_InsertIntoReplicationTasks trace = {shard, c->expected + 1, mark, STR("e")};
    struct dsql_result result = {0};
    enum dsql_rc rc = dsql_call_WriteLockShards(fix.store, tx, &lock, &result, err);
    if (!rc && dsql_next_WriteLockShards(&result, &row) && row.range_id != c->expected)
        rc = condition_failed(err);
    if (!rc)
        rc = dsql_call_UpdateShards(fix.store, tx, &update, 1, NULL, err);
    if (!rc)
        rc = dsql_call_InsertIntoReplicationTasks(fix.store, tx, &trace, 1, NULL, err);
    dsql_result_fini(&result);
    return rc;
}

static enum dsql_rc change_queue(struct dsql_store_tx *tx, const struct change *c,
                                 struct dsql_slice mark, struct dsql_err *err)
{
    struct dsql_slice id = {&run, sizeof(run)};
    struct dsql_LockTaskQueues lock = {2, shard, id};
    struct dsql_LockTaskQueues_row row;
    struct dsql_UpdateTaskQueues update = {2, shard, id, c->expected + 1, mark, STR("e")};
    struct dsql_InsertIntoTasks trace = {shard, id, c->expected + 1, mark, STR("e")};
    struct dsql_result result = {0};
    enum dsql_rc rc = dsql_call_LockTaskQueues(fix.store, tx, &lock, &result, err);
    if (!rc && dsql_next_LockTaskQueues(&result, &row) && row.range_id != c->expected)
        rc = condition_failed(err);
    if (!rc)
        rc = dsql_call_InsertIntoTasks(fix.store, tx, &trace, 1, NULL, err);
    if (!rc)
        rc = dsql_call_UpdateTaskQueues(fix.store, tx, &update, 1, NULL, err);
    dsql_result_fini(&result);
    return rc;
}

static enum dsql_rc change_workflow(struct dsql_store_tx *tx, const struct change *c,
                                    struct dsql_slice mark, struct dsql_err *err)
{
    struct dsql_WriteLockExecutions lock = {shard, ns, STR("wf"), run};
    struct dsql_WriteLockExecutions_row row;
    struct dsql_UpdateExecutions update = {shard, ns,   STR("wf"), run,      c->expected + 1, 1,
                                           1,     mark, STR("e"),  STR("s"), STR("e")};
    struct dsql_InsertIntoTransferTasks trace = {shard, c->expected + 1, mark, STR("e")};
    struct dsql_result result = {0};
    enum dsql_rc rc = dsql_call_WriteLockExecutions(fix.store, tx, &lock, &result, err);
    if (!rc && dsql_next_WriteLockExecutions(&result, &row) && row.db_record_version != c->expected)
        rc = condition_failed(err);
    if (!rc)
        rc = dsql_call_UpdateExecutions(fix.store, tx, &update, 1, NULL, err);
    if (!rc)
        rc = dsql_call_InsertIntoTransferTasks(fix.store, tx, &trace, 1, NULL, err);
    dsql_result_fini(&result);
    return rc;
}

/* Every try gets a nonce of its own, so that a try which was applied and run again would show. */
static enum dsql_rc body(struct dsql_store_tx *tx, void *arg, struct dsql_err *err)
{
    struct change *c = arg;
    char text[24];
    REQUIRE(c->last != DSQL_CONDITION_FAILED, "a lost condition was run again");
    c->nonce = dsql_rng_next(c->rng) | 1;
    c->claim = record(c);
    (void)snprintf(text, sizeof(text), "%016llx", (unsigned long long)c->nonce);
    enum dsql_rc rc = c->kind == SHARD   ? change_shard(tx, c, STR(text), err)
                      : c->kind == QUEUE ? change_queue(tx, c, STR(text), err)
                                         : change_workflow(tx, c, STR(text), err);
    c->last = rc;
    /* If it is run again, this try has failed; its last outcome is written by the caller. */
    c->claim->rc = rc ? rc : DSQL_CONFLICT;
    return rc;
}

static int64_t read_token(enum kind kind, struct dsql_err *err)
{
    struct dsql_result result = {0};
    struct dsql_SelectFromShards a = {shard};
    struct dsql_SelectFromShards_row row_a;
    struct dsql_slice id = {&run, sizeof(run)}, none = {NULL, 0};
    struct dsql_SelectFromTaskQueues b = {2,    shard,        id, DSQL_NULL_I64, DSQL_NULL_I64,
                                          none, DSQL_NULL_I64};
    struct dsql_SelectFromTaskQueues_row row_b;
    struct dsql_SelectFromExecutions c = {shard, ns, STR("wf"), run};
    struct dsql_SelectFromExecutions_row row_c;
    enum dsql_rc rc = DSQL_OK;
    int64_t token = -1;
    switch (kind) {
    case SHARD:
        rc = dsql_call_SelectFromShards(fix.store, NULL, &a, &result, err);
        if (!rc && dsql_next_SelectFromShards(&result, &row_a))
            token = row_a.range_id;
        break;
    case QUEUE:
        rc = dsql_call_SelectFromTaskQueues(fix.store, NULL, &b, &result, err);
        if (!rc && dsql_next_SelectFromTaskQueues(&result, &row_b))
            token = row_b.range_id;
        break;
    case WORKFLOW:
    case KINDS:
        rc = dsql_call_SelectFromExecutions(fix.store, NULL, &c, &result, err);
        if (!rc && dsql_next_SelectFromExecutions(&result, &row_c))
            token = row_c.db_record_version;
        break;
    }
    dsql_result_fini(&result);
    return token; /* -1: the connection was lost on the way; the worker asks again */
}

static void *work(void *arg)
{
    struct dsql_rng rng = *(struct dsql_rng *)arg;
    struct dsql_tx_policy policy;
    struct dsql_err err = {0};
    dsql_tx_policy_default(&policy);
    policy.retry.base_delay_ns = 2000000;
    policy.retry.max_delay_ns = 50000000;
    policy.retry.max_retries = 20;
    policy.retry.budget = NULL;
    for (unsigned turn = 0;; turn++) {
        struct change c = {.kind = (enum kind)(turn % KINDS), .rng = &rng, .last = DSQL_OK};
        if (stopped[SHARD] && stopped[QUEUE] && stopped[WORKFLOW])
            return NULL;
        if (stopped[c.kind])
            continue;
        c.expected = read_token(c.kind, &err);
        if (c.expected >= TOKENS)
            stopped[c.kind] = 1;
        if (c.expected < 0 || c.expected >= TOKENS)
            continue;
        enum dsql_rc rc = dsql_store_run(fix.store, kind_names[c.kind], body, &c, &policy, &err);
        if (c.claim) /* the last try's outcome is the whole one's */
            c.claim->rc = rc;
        /* Who lost a conflict finds another token at the next try: C5. */
        bool expected = rc == DSQL_OK || rc == DSQL_CONDITION_FAILED || rc == DSQL_EMPTY;
        bool by_fault = rc == DSQL_CONFLICT || rc == DSQL_COMMIT_UNKNOWN || rc == DSQL_LOST;
        REQUIRE(expected || (faults && by_fault), "%s: %s", dsql_rc_name(rc), err.message);
    }
}

static const char *const traces[] = {"replication_tasks WHERE shard_id", "tasks WHERE range_hash",
                                     "transfer_tasks WHERE shard_id"};

static enum dsql_rc read_traces(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct dsql_rows **rows = arg;
    char sql[3][200];
    for (int k = 0; k < KINDS; k++) {
        (void)snprintf(sql[k], sizeof(sql[k]),
                       "SELECT task_id, encode(data, 'escape') FROM %s = %d", traces[k], shard);
        struct dsql_stmt stmt = {.name = kind_names[k], .sql = sql[k], .flags = DSQL_STMT_READ};
        enum dsql_rc rc = dsql_tx_query(tx, &stmt, NULL, 0, &rows[k], err);
        if (rc)
            return rc;
    }
    return DSQL_OK;
}

static struct claim *claim_of(uint64_t nonce)
{
    for (size_t i = 0; i < claim_count; i++)
        if (claims[i].nonce == nonce)
            return &claims[i];
    return NULL;
}

static void check(enum kind kind, const struct dsql_rows *rows)
{
    bool there[TOKENS + 1] = {false};
    size_t told[DSQL_RC_COUNT] = {0}, found_unknown = 0, found_ok = 0;
    for (size_t i = 0; i < dsql_rows_count(rows); i++) {
        int64_t token = 0;
        REQUIRE(dsql_rows_i64(rows, i, 0, &token) && token >= 1 && token <= TOKENS);
        REQUIRE(!there[token]); /* C1: the key of the trace says so too */
        there[token] = true;
        struct claim *claim =
            claim_of(strtoull((const char *)dsql_rows_bytes(rows, i, 1, NULL), NULL, 16));
        REQUIRE(claim && claim->kind == kind && claim->token == token);
        REQUIRE(claim->rc == DSQL_OK || claim->rc == DSQL_COMMIT_UNKNOWN, /* C3, C4 */
                "%s %lld is there, and was reported as %s", kind_names[kind], (long long)token,
                dsql_rc_name(claim->rc));
        found_ok += claim->rc == DSQL_OK;
        found_unknown += claim->rc == DSQL_COMMIT_UNKNOWN;
    }
    for (size_t i = 0; i < claim_count; i++)
        if (claims[i].kind == kind && claims[i].rc < DSQL_RC_COUNT)
            told[claims[i].rc]++;
    for (int64_t token = 1; token <= TOKENS; token++)
        REQUIRE(there[token], "%s %lld has no winner", kind_names[kind], (long long)token);
    REQUIRE(told[DSQL_OK] == found_ok, "%zu were told that they won, %zu have", told[DSQL_OK],
            found_ok); /* C2 */
    REQUIRE(faults || told[DSQL_COMMIT_UNKNOWN] + told[DSQL_LOST] == 0);
    printf(
        "%s: %d tokens, %zu won, %zu won without knowing; told: %zu condition failed, %zu tries in "
        "conflict, %zu unknown\n",
        kind_names[kind], TOKENS, found_ok, found_unknown, told[DSQL_CONDITION_FAILED],
        told[DSQL_CONFLICT], told[DSQL_COMMIT_UNKNOWN]);
}

int main(int argc, char **argv)
{
    faults = argc > 1 && strcmp(argv[1], "faults") == 0;
    static struct dsql_rng seeds[WORKERS];
    pthread_t threads[WORKERS];
    struct dsql_rows *rows[KINDS] = {NULL};
    struct dsql_tx_policy policy;
    struct dsql_err err = {0};
    fixture_open(&fix, WORKERS, NULL);
    shard = fixture_shard(&fix);
    ns = fixture_id(&fix);
    run = fixture_id(&fix);
    struct dsql_InsertIntoShards a = {shard, 0, STR("d"), STR("e")};
    struct dsql_InsertIntoTaskQueues b = {2, shard, {&run, 16}, 0, STR("d"), STR("e")};
    struct dsql_InsertIntoExecutions c = {shard, ns,       STR("wf"), run,      0,       1,
                                          1,     STR("d"), STR("e"),  STR("s"), STR("e")};
    while (read_token(SHARD, &err) < 0) /* the endpoint may close what it has just applied */
        (void)!dsql_call_InsertIntoShards(fix.store, NULL, &a, 1, NULL, &err);
    while (read_token(QUEUE, &err) < 0)
        (void)!dsql_call_InsertIntoTaskQueues(fix.store, NULL, &b, 1, NULL, &err);
    while (read_token(WORKFLOW, &err) < 0)
        (void)!dsql_call_InsertIntoExecutions(fix.store, NULL, &c, 1, NULL, &err);
    for (size_t i = 0; i < WORKERS; i++) {
        seeds[i] = dsql_rng_split(&fix.rng);
        REQUIRE(pthread_create(&threads[i], NULL, work, &seeds[i]) == 0);
    }
    for (size_t i = 0; i < WORKERS; i++)
        (void)pthread_join(threads[i], NULL);
    dsql_tx_policy_default(&policy);
    policy.retry.reconnects = 5;
    policy.read_only = true;
    REQUIRE_OK(dsql_tx_run(fix.pool, "traces", read_traces, rows, &policy, &err));
    for (int k = 0; k < KINDS; k++) {
        check((enum kind)k, rows[k]);
        dsql_rows_free(rows[k]);
    }
    fixture_close(&fix);
    return 0;
}

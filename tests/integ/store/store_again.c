/*
 * Scripts of the store that are run again without a conflict of the database's: what one expected
 * came true between its failure and the read behind ROLLBACK, or the id it drew for a buffered
 * event was another process's. dsql_wire_look() is wrapped by the linker, so that the row can
 * change at just that moment. Run by store.sh.
 */
#include <stdio.h>

#include "support/store.h"
#include "tx/wire.h"

static struct fixture fix;
static struct dsql_err err;
static int32_t shard;
static struct dsql_id ns, run_id;
static int looks;       /* reads behind ROLLBACK so far */
static int changes_at;  /* the read before which the shard is taken over; 0 for none */
static int64_t changed; /* the range it then has */

struct pg_result *__real_dsql_wire_look(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                                        const struct dsql_param *params, size_t count);
struct pg_result *__wrap_dsql_wire_look(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                                        const struct dsql_param *params, size_t count);
struct pg_result *__wrap_dsql_wire_look(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                                        const struct dsql_param *params, size_t count)
{
    if (++looks == changes_at) {
        char sql[128];
        (void)snprintf(sql, sizeof(sql), "UPDATE shards SET range_id = %lld WHERE shard_id = %d",
                       (long long)changed, shard);
        (void)fixture_sql(&fix, sql);
    }
    return __real_dsql_wire_look(wire, stmt, params, count);
}

static struct dsql_param text(const char *value)
{
    return dsql_bytes(value, strlen(value));
}

static struct dsql_param id(const struct dsql_id *value)
{
    return dsql_bytes(value->bytes, sizeof(value->bytes));
}

static int64_t number(const char *select)
{
    char sql[256];
    (void)snprintf(sql, sizeof(sql), "%s WHERE shard_id = %d", select, shard);
    return fixture_sql(&fix, sql);
}

/* A task, if the shard is at this range. */
static enum dsql_rc add_task(int64_t range, struct dsql_script_failure *failure)
{
    static int64_t tasks;
    const struct dsql_param expected[] = {dsql_i64(shard), dsql_i64(range)};
    const struct dsql_param task[] = {dsql_i64(shard), dsql_i64(++tasks), text("d"), text("e")};
    const struct dsql_script_call calls[] = {{DSQL_OP_InsertIntoTransferTasks, task, 1, NULL},
                                             {DSQL_OP_ExpectShard, expected, 1, NULL}};
    looks = 0;
    return dsql_store_run_script(fix.store, "later", calls, 2, NULL, NULL, failure, &err);
}

/* The new owner's first write meets its own take-over: it fails, and holds when it is looked at. */
static void what_holds_later_is_run_again(void)
{
    struct dsql_script_failure failure = {0};
    const struct dsql_param row[] = {dsql_i64(shard), dsql_i64(7), text("d"), text("e")};
    REQUIRE_OK(
        dsql_store_call(fix.store, NULL, DSQL_OP_InsertIntoShards, row, 1, NULL, NULL, &err));
    changes_at = 1;
    changed = 8;
    REQUIRE_OK(add_task(8, &failure));
    REQUIRE(looks == 1 && number("SELECT count(*) FROM transfer_tasks") == 1);
    /* Another change than the expected one is none: it is not run again. */
    changed = 9;
    REQUIRE(add_task(10, &failure) == DSQL_CONDITION_FAILED);
    REQUIRE(looks == 1 && failure.call == 1 && failure.why == DSQL_SCRIPT_WRONG);
    struct dsql_SelectFromShards_row found;
    REQUIRE(dsql_next_SelectFromShards(&failure.found, &found) && found.range_id == 9);
    dsql_result_fini(&failure.found);
    REQUIRE(number("SELECT count(*) FROM transfer_tasks") == 1);
    changes_at = 0;
}

/* What its own script undoes holds behind every ROLLBACK: it is run again as often as the policy
 * says, and then it is a conflict, of which nothing was applied. */
static void it_is_run_again_by_the_policy(void)
{
    struct dsql_tx_policy policy;
    const struct dsql_param changes[] = {dsql_i64(shard), dsql_i64(10), text("d"), text("e")};
    const struct dsql_param before[] = {dsql_i64(9)};
    const struct dsql_param expected[] = {dsql_i64(shard), dsql_i64(9)};
    const struct dsql_script_call calls[] = {{DSQL_OP_UpdateShards, changes, 1, before},
                                             {DSQL_OP_ExpectShard, expected, 1, NULL}};
    dsql_tx_policy_default(&policy);
    policy.retry.max_retries = 3;
    looks = 0;
    REQUIRE(dsql_store_run_script(fix.store, "undone", calls, 2, &policy, NULL, NULL, &err) ==
            DSQL_CONFLICT);
    REQUIRE(looks == 1 + policy.retry.max_retries, "%d", looks);
    REQUIRE(strstr(err.message, "came true meanwhile"), "%s", err.message);
    REQUIRE(number("SELECT range_id FROM shards") == 9);
}

#define EX4 dsql_i64(shard), id(&ns), text("wf"), id(&run_id)

/* An event with this id, or with one that the store draws; none if it expects a range that is not.
 */
static enum dsql_rc add_event(struct dsql_param event_id)
{
    const struct dsql_param event[] = {EX4, text("d"), text("e"), event_id};
    const struct dsql_param expected[] = {dsql_i64(shard), dsql_i64(9)};
    const struct dsql_script_call calls[] = {{DSQL_OP_ExpectShard, expected, 1, NULL},
                                             {DSQL_OP_InsertIntoBufferedEvents, event, 1, NULL}};
    return dsql_store_run_script(fix.store, "event", calls, 2, NULL, NULL, NULL, &err);
}

/* The next id of the store is known: it has read one of a far future, and the next is the first of
 * the millisecond behind it. Another process gave that one to the same execution. */
static void an_id_that_another_gave_is_drawn_anew(void)
{
    enum { NODE_SHIFT = 12, MS_SHIFT = 22, NODES = 1024 };
    const struct dsql_param execution[] = {EX4};
    const struct dsql_script_call read = {DSQL_OP_SelectFromBufferedEvents, execution, 1, NULL};
    struct dsql_result result = {0};
    REQUIRE_OK(add_event(dsql_null()));
    int64_t drawn = number("SELECT max(id) FROM buffered_events");
    int64_t far = ((drawn >> MS_SHIFT) + INT64_C(100000000000)) << MS_SHIFT;
    int64_t next = far + (INT64_C(1) << MS_SHIFT) + (drawn & ((NODES - 1) << NODE_SHIFT));
    REQUIRE_OK(add_event(dsql_i64(far)));
    REQUIRE_OK(dsql_store_run_script(fix.store, "read", &read, 1, NULL, &result, NULL, &err));
    REQUIRE(result.rows == 2);
    dsql_result_fini(&result);
    REQUIRE_OK(add_event(dsql_i64(next))); /* the other process's */
    REQUIRE_OK(add_event(dsql_null()));
    REQUIRE(number("SELECT max(id) FROM buffered_events") == next + 1);
    REQUIRE(number("SELECT count(*) FROM buffered_events") == 4);
    /* An id of the caller's own is not changed behind its back. */
    REQUIRE(add_event(dsql_i64(next)) == DSQL_DUPLICATE);
    REQUIRE(number("SELECT count(*) FROM buffered_events") == 4);
}

int main(void)
{
    fixture_open(&fix, 2, NULL);
    shard = fixture_shard(&fix);
    ns = fixture_id(&fix);
    run_id = fixture_id(&fix);
    what_holds_later_is_run_again();
    it_is_run_again_by_the_policy();
    an_id_that_another_gave_is_drawn_anew();
    printf("scripts run again\n");
    fixture_close(&fix);
    return 0;
}

/* Tasks that share a row, without a database. */
#include "temporal/pack.h"

#include <stdio.h>

#include "support/test.h"
#include "temporal/call.h"

enum { FIELDS = 4, INPUTS = 500 };
static struct dsql_param values[INPUTS * FIELDS];

static void set(size_t input, int64_t shard, int64_t id, const char *value, size_t len)
{
    struct dsql_param one[FIELDS] = {dsql_i64(shard), dsql_i64(id), dsql_bytes(value, len),
                                     dsql_text_n("Proto3", 6)};
    memcpy(values + input * FIELDS, one, sizeof(one));
}

static void convert(struct dsql_call *call, size_t count)
{
    *call = (struct dsql_call){.op = dsql_op_info(DSQL_OP_InsertIntoTransferTasks), .count = count};
    assert_int_equal(dsql_call_convert(call, values), DSQL_OK);
}

/* The rows hold these ids, all of them and in their order. */
static void expect_ids(const struct dsql_call *call, size_t count)
{
    size_t at = 0;
    for (size_t row = 0; row < call->count; row++) {
        const struct dsql_param *p = call->params + row * FIELDS;
        struct dsql_span value = {p[2].as.ptr, (size_t)p[2].len};
        size_t tasks = 1;
        if (dsql_pack_is((struct dsql_span){p[3].as.ptr, (size_t)p[3].len})) {
            struct dsql_packed task;
            tasks = dsql_pack_count(value);
            assert_in_range(tasks, 2, DSQL_PACK_MAX);
            for (size_t i = 0; dsql_pack_next(&value, &task); i++) {
                const struct dsql_param *input = values + (at + i) * FIELDS;
                assert_int_equal(task.value.len, input[2].len);
                assert_memory_equal(task.value.ptr, input[2].as.ptr, task.value.len);
                assert_true(dsql_span_eq(task.encoding, DSQL_SPAN("Proto3")));
                /* Consecutive up to the row's own id. */
                assert_int_equal(input[1].as.i64, p[1].as.i64 - (int64_t)(tasks - 1 - i));
                assert_int_equal(input[0].as.i64, p[0].as.i64);
            }
        }
        at += tasks;
        assert_int_equal(values[(at - 1) * FIELDS + 1].as.i64, p[1].as.i64);
    }
    assert_int_equal(at, count);
    assert_int_equal(call->count + call->spared, count);
}

TEST(few_keep_rows_of_their_own)
{
    struct dsql_call call;
    for (size_t i = 0; i < DSQL_PACK_MIN; i++)
        set(i, 1, (int64_t)i, "task", 4);
    convert(&call, DSQL_PACK_MIN - 1);
    assert_int_equal(call.count, DSQL_PACK_MIN - 1);
    assert_int_equal(call.spared, 0);
    dsql_call_fini(&call);
    convert(&call, DSQL_PACK_MIN);
    assert_int_equal(call.count, 1);
    expect_ids(&call, DSQL_PACK_MIN);
    dsql_call_fini(&call);
}

TEST(only_consecutive_ids_of_one_shard_share_a_row)
{
    struct dsql_call call;
    for (size_t i = 0; i < INPUTS; i++)
        set(i, i < 450 ? 1 : 2, (int64_t)(i + (i >= 10) + (i >= 11)), "task", i % 5);
    convert(&call, INPUTS);
    /* 10, one between two gaps, 439 as 200, 200, 39, and the other shard's. */
    assert_int_equal(call.count, 1 + 1 + 3 + 1);
    expect_ids(&call, INPUTS);
    dsql_call_fini(&call);
}

TEST(large_tasks_do_not_share)
{
    static char bytes[DSQL_PACK_BYTES];
    struct dsql_call call;
    for (size_t i = 0; i < 100; i++)
        set(i, 1, (int64_t)i, bytes, i == 50 ? sizeof(bytes) : 20000);
    convert(&call, 100);
    expect_ids(&call, 100);
    assert_in_range(call.count, 5, 7); /* of 24 tasks each, and the large one */
    dsql_call_fini(&call);
}

TEST(what_is_no_pack_is_seen)
{
    char bytes[64];
    struct dsql_packed task = {DSQL_SPAN("value"), DSQL_SPAN("e")};
    dsql_pack_put(&task, bytes);
    size_t size = dsql_pack_size(&task);
    assert_int_equal(dsql_pack_count((struct dsql_span){bytes, size}), 1);
    for (size_t len = 0; len < size; len++)
        assert_int_equal(dsql_pack_count((struct dsql_span){bytes, len}), 0);
    bytes[size] = 0;
    assert_int_equal(dsql_pack_count((struct dsql_span){bytes, size + 1}), 0);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(dsql_pack_count((struct dsql_span){bytes, sizeof(bytes)}), 0);
}

/* The catalogue's ranges end a pack's length later. */
TEST(ranges_know_how_long_packs_are)
{
    char end[40];
    (void)snprintf(end, sizeof(end), "+ %d ORDER BY task_id", DSQL_PACK_MAX - 1);
    size_t seen = 0;
    for (enum dsql_op op = 0; op < DSQL_OP_COUNT; op = (enum dsql_op)(op + 1)) {
        if (!(dsql_op_info(op)->flags & DSQL_FLAG_UNPACKS))
            continue;
        assert_non_null(strstr(dsql_op_info(op)->statements[0].by_size[0].sql, end));
        seen++;
    }
    assert_int_equal(seen, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_keep_rows_of_their_own),
        cmocka_unit_test(only_consecutive_ids_of_one_shard_share_a_row),
        cmocka_unit_test(large_tasks_do_not_share),
        cmocka_unit_test(what_is_no_pack_is_seen),
        cmocka_unit_test(ranges_know_how_long_packs_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

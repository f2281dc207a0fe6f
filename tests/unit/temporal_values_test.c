/* Values to parameters, and which statement they choose. */
#include "support/test.h"
#include "temporal/call.h"
#include "temporal/key.h"

static struct dsql_err err;

static enum dsql_rc convert(struct dsql_call *call, enum dsql_op op,
                            const struct dsql_param *values)
{
    *call = (struct dsql_call){
        .id = op, .op = dsql_op_info(op), .alone = true, .count = 1, .err = &err};
    enum dsql_rc rc = dsql_call_convert(call, values);
    return rc ? rc : dsql_call_choose(call);
}

TEST(numbers_must_fit)
{
    static const struct {
        int64_t shard;
        enum dsql_rc rc;
    } cases[] = {{0, DSQL_OK},
                 {INT32_MAX, DSQL_OK},
                 {INT32_MIN, DSQL_OK},
                 {(int64_t)INT32_MAX + 1, DSQL_INVALID},
                 {(int64_t)INT32_MIN - 1, DSQL_INVALID}};
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_param value = dsql_i64(cases[i].shard);
        struct dsql_call call;
        assert_int_equal(convert(&call, DSQL_OP_SelectFromShards, &value), cases[i].rc);
    }
}

TEST(times_must_be_postgresqls)
{
    static const struct {
        int64_t us;
        enum dsql_rc rc;
    } cases[] = {{0, DSQL_OK},
                 {INT64_C(-30610224000000000), DSQL_OK}, /* the year 1000: Go's zero time */
                 {INT64_MAX, DSQL_INVALID},
                 {INT64_MIN, DSQL_INVALID}};
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_param values[] = {dsql_i32(0), dsql_i64(cases[i].us)};
        struct dsql_call call;
        assert_int_equal(convert(&call, DSQL_OP_PruneClusterMembership, values), cases[i].rc);
    }
}

TEST(ids_are_sixteen_bytes)
{
    char bytes[17] = {0};
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        struct dsql_param value = dsql_bytes(bytes, len);
        struct dsql_call call;
        assert_int_equal(convert(&call, DSQL_OP_GetNexusEndpointByID, &value),
                         len == 16 ? DSQL_OK : DSQL_INVALID);
    }
    struct dsql_param values[] = {dsql_null(), dsql_i64(1)};
    struct dsql_call call;
    assert_int_equal(convert(&call, DSQL_OP_ListNexusEndpoints, values), DSQL_OK);
    assert_int_equal(call.params[0].kind, DSQL_PARAM_NULL);
}

/* What is too long for a key is sent in its short form, and whole where a column takes it. */
TEST(long_ids_are_sent_in_their_short_form)
{
    static char bytes[DSQL_KEY_BYTES_MAX + 1];
    char id[16] = {0}, form[DSQL_SHORT_FORM_MAX];
    memset(bytes, 'a', sizeof(bytes));
    for (size_t len = DSQL_KEY_BYTES_MAX; len <= DSQL_KEY_BYTES_MAX + 1; len++) {
        struct dsql_param values[] = {dsql_i32(1), dsql_i64(1), dsql_bytes(bytes, len)};
        struct dsql_call call;
        assert_int_equal(convert(&call, DSQL_OP_LockTaskQueues, values), DSQL_OK);
        assert_int_equal(call.params[2].len,
                         len > DSQL_KEY_BYTES_MAX ? sizeof(form) : DSQL_KEY_BYTES_MAX);
        dsql_call_fini(&call);
    }
    for (int32_t len = 255; len <= 256; len++) {
        struct dsql_param text = dsql_bytes(bytes, (size_t)len);
        struct dsql_param values[] = {dsql_i32(1), dsql_uuid(id), text,         dsql_uuid(id),
                                      text,        dsql_text(""), dsql_text("")};
        struct dsql_call call;
        assert_int_equal(convert(&call, DSQL_OP_ReplaceIntoTimerInfoMaps, values), DSQL_OK);
        assert_int_equal(call.op->given_count, 7);
        assert_int_equal(call.op->field_count, 8);
        assert_int_equal(call.params[7].kind, len > 255 ? DSQL_PARAM_RAW : DSQL_PARAM_NULL);
        if (len > 255) {
            assert_int_equal(call.params[7].len, 256);
            assert_memory_equal(call.params[7].as.ptr, bytes, 256);
            assert_int_equal(dsql_key_shorten((struct dsql_span){bytes, 256}, form), sizeof(form));
            assert_memory_equal(call.params[2].as.ptr, form, sizeof(form));
            assert_memory_equal(call.params[4].as.ptr, form, sizeof(form));
        }
        assert_int_equal(call.params[4].len, len > 255 ? (int)sizeof(form) : 255);
        dsql_call_fini(&call);
    }
}

TEST(nothing_means_what_the_field_says)
{
    struct dsql_param none = dsql_bytes("", 0);
    none.as.ptr = NULL;
    struct dsql_param values[] = {dsql_i32(54321), none, none, none, dsql_i64(1)};
    struct dsql_call call;
    assert_int_equal(convert(&call, DSQL_OP_SelectFromNamespace, values), DSQL_OK);
    assert_int_equal(call.params[1].kind, DSQL_PARAM_NULL);
    assert_ptr_equal(call.statement, &call.op->statements[2]);
    struct dsql_param shard[] = {dsql_i32(1), dsql_i64(1), none, none};
    assert_int_equal(convert(&call, DSQL_OP_InsertIntoShards, shard), DSQL_OK);
    assert_int_equal(call.params[2].kind, DSQL_PARAM_RAW);
    assert_int_equal(call.params[2].len, 0);
    assert_non_null(call.params[2].as.ptr);
}

TEST(statements_are_chosen)
{
    char id[16] = {0};
    struct dsql_param uuid = dsql_uuid(id), text = dsql_text("x"), n = dsql_null();
#define TREE                                                                                       \
    dsql_i32(1), uuid, uuid, dsql_i64(0), dsql_i64(0), dsql_i64(0), dsql_i64(0), dsql_i64(0)
    const struct {
        enum dsql_op op;
        struct dsql_param values[10];
        enum dsql_rc rc;
        size_t which;
        bool one;
    } cases[] = {
        {DSQL_OP_SelectFromCurrentExecutions, {dsql_i32(1), uuid, text, n}, DSQL_OK, 0, true},
        {DSQL_OP_SelectFromCurrentExecutions,
         {dsql_i32(1), uuid, text, dsql_i64(9)},
         DSQL_OK,
         1,
         true},
        {DSQL_OP_SelectFromCurrentExecutions,
         {dsql_i32(1), uuid, text, dsql_i64(0)},
         DSQL_INVALID,
         0,
         0},
        {DSQL_OP_RangeSelectFromHistoryNode, {TREE, dsql_bool(0), dsql_bool(0)}, DSQL_OK, 2, false},
        {DSQL_OP_RangeSelectFromHistoryNode, {TREE, dsql_bool(1), dsql_bool(0)}, DSQL_OK, 1, false},
        {DSQL_OP_RangeSelectFromHistoryNode, {TREE, dsql_bool(1), dsql_bool(1)}, DSQL_OK, 0, false},
        {DSQL_OP_LockTaskQueues, {dsql_i32(1), dsql_i64(1), text}, DSQL_OK, 0, true},
        {DSQL_OP_LockTaskQueues, {dsql_i32(2), dsql_i64(1), text}, DSQL_OK, 1, true},
        {DSQL_OP_LockTaskQueues, {dsql_i32(0), dsql_i64(1), text}, DSQL_INVALID, 0, 0},
        {DSQL_OP_SelectFromTaskQueues,
         {dsql_i32(2), dsql_i64(1), text, n, n, n, n},
         DSQL_OK,
         1,
         true},
        {DSQL_OP_SelectFromTaskQueues,
         {dsql_i32(1), dsql_i64(1), n, dsql_i64(0), dsql_i64(9), n, dsql_i64(5)},
         DSQL_OK,
         2,
         false},
        {DSQL_OP_SelectFromTaskQueues,
         {dsql_i32(2), dsql_i64(1), n, n, n, n, n},
         DSQL_OK,
         5,
         false},
        {DSQL_OP_UpdateTaskQueueUserData, {uuid, text, dsql_i64(3), text, text}, DSQL_OK, 1, false},
        {DSQL_OP_UpdateTaskQueueUserData, {uuid, text, dsql_i64(0), text, text}, DSQL_OK, 0, false},
        {DSQL_OP_SelectFromNamespace, {dsql_i32(1), uuid, n, n, n}, DSQL_OK, 0, true},
        {DSQL_OP_SelectFromNamespace, {dsql_i32(1), n, text, n, n}, DSQL_OK, 1, true},
        {DSQL_OP_SelectFromNamespace, {dsql_i32(1), uuid, text, n, n}, DSQL_INVALID, 0, 0},
        {DSQL_OP_SelectFromNamespace, {dsql_i32(1), n, n, uuid, n}, DSQL_INVALID, 0, 0},
        {DSQL_OP_DeleteFromNamespace, {dsql_i32(1), n, text}, DSQL_OK, 1, false},
        {DSQL_OP_DeleteFromNamespace, {dsql_i32(1), n, n}, DSQL_INVALID, 0, 0},
        {DSQL_OP_RangeDeleteFromTransferTasks,
         {dsql_i32(1), dsql_i64(0), dsql_i64(9)},
         DSQL_OK,
         1,
         0},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_call call;
        enum dsql_rc rc = convert(&call, cases[i].op, cases[i].values);
        const struct dsql_op_statement *meant = &call.op->statements[cases[i].which];
        if (rc != cases[i].rc || (!rc && (call.statement != meant || meant->one != cases[i].one)))
            fail_msg("case %zu: %s, statement %td", i, dsql_rc_name(rc),
                     call.statement - call.op->statements);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_must_fit),
        cmocka_unit_test(times_must_be_postgresqls),
        cmocka_unit_test(ids_are_sixteen_bytes),
        cmocka_unit_test(long_ids_are_sent_in_their_short_form),
        cmocka_unit_test(nothing_means_what_the_field_says),
        cmocka_unit_test(statements_are_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

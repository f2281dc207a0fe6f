/* The Nth allocation fails while the store's own objects are made and used. */
#include "support/alloc_fault.h"
#include "support/test.h"
#include "temporal/call.h"

/* Of many rows every one keeps its own token; what could not be remembered is not half there. */
static bool use_tokens(void)
{
    struct dsql_row_tokens tokens = {0};
    bool ok = true;
    int64_t known = 0;
    for (int64_t i = 0; i < 20 && ok; i++) {
        struct dsql_param key[] = {dsql_i64(i), dsql_raw("name", (size_t)(i % 5))}, id;
        struct dsql_row_token token = {0};
        struct dsql_param value = dsql_i64(i * 10);
        id = dsql_raw("0123456789abcdef", 16);
        dsql_row_token_set(&token, 0, &value);
        dsql_row_token_set(&token, 1, &id);
        ok = dsql_row_tokens_remember(&tokens, DSQL_FENCED_SHARD, key, 2, &token) == DSQL_OK;
        known += ok;
        value = dsql_i64(i * 10 + 1); /* a newer one takes its place */
        dsql_row_token_set(&token, 0, &value);
        if (ok)
            assert_int_equal(dsql_row_tokens_remember(&tokens, DSQL_FENCED_SHARD, key, 2, &token),
                             DSQL_OK);
    }
    for (int64_t i = 0; i < 20; i++) {
        struct dsql_param key[] = {dsql_i64(i), dsql_raw("name", (size_t)(i % 5))};
        const struct dsql_row_token *token =
            dsql_row_tokens_find(&tokens, DSQL_FENCED_SHARD, key, 2);
        assert_int_equal(token != NULL, i < known);
        if (token) {
            assert_int_equal(token->values[0].as.i64, i * 10 + 1);
            assert_memory_equal(token->values[1].as.ptr, "0123456789abcdef", 16);
        }
        assert_null(dsql_row_tokens_find(&tokens, DSQL_FENCED_EXECUTION, key, 2));
        key[1] = dsql_null();
        assert_null(dsql_row_tokens_find(&tokens, DSQL_FENCED_SHARD, key, 2));
    }
    dsql_row_tokens_fini(&tokens);
    return ok;
}

/* So many inputs that their parameters need memory. */
static bool use_parameters(void)
{
    enum { COUNT = 30, FIELDS = 5 };
    struct dsql_param values[COUNT * FIELDS];
    struct dsql_call call = {.op = dsql_op_info(DSQL_OP_InsertIntoTasks), .count = COUNT};
    for (int i = 0; i < COUNT; i++) {
        struct dsql_param one[FIELDS] = {dsql_i64(i), dsql_bytes("\xff\0q", 3), dsql_i64(i),
                                         dsql_bytes("d", 1), dsql_text_n("e", 1)};
        memcpy(values + (ptrdiff_t)i * FIELDS, one, sizeof(one));
    }
    bool ok = dsql_call_convert(&call, values) == DSQL_OK;
    if (ok) {
        assert_int_equal(call.params[FIELDS + 1].len, 5);
        assert_memory_equal(call.params[FIELDS + 1].as.ptr, "\xc3\xbf\x01\x01q", 5);
    }
    assert_int_equal(values[1].len, 3); /* the caller's are as they were */
    dsql_call_fini(&call);
    return ok;
}

/* A script is put together, and then refused for its last call: nothing is left. */
static bool use_script(void)
{
    enum { COUNT = 30, FIELDS = 5 };
    struct dsql_param values[COUNT * FIELDS], number = dsql_i64(1);
    struct dsql_err err = {0};
    struct dsql_script_failure failure = {.call = 99};
    for (int i = 0; i < COUNT; i++) {
        struct dsql_param one[FIELDS] = {dsql_i64(i), dsql_bytes("\xff\0q", 3), dsql_i64(i),
                                         dsql_bytes("d", 1), dsql_text_n("e", 1)};
        memcpy(values + (ptrdiff_t)i * FIELDS, one, sizeof(one));
    }
    const struct dsql_script_call calls[] = {{DSQL_OP_InsertIntoTasks, values, COUNT, NULL},
                                             {DSQL_OP_WriteLockShards, &number, 1, NULL}};
    enum dsql_rc rc = dsql_store_run_script(NULL, "refused", calls, 2, NULL, NULL, &failure, &err);
    assert_true(rc == DSQL_INVALID ? failure.call == 1 : rc == DSQL_NO_MEMORY);
    return rc == DSQL_INVALID;
}

TEST(script)
{
    assert_true(alloc_fault_run("script", use_script, false) > 3);
}
TEST(tokens)
{
    assert_true(alloc_fault_run("tokens", use_tokens, false) > 10);
}
TEST(parameters)
{
    assert_true(alloc_fault_run("parameters", use_parameters, false) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(script),
        cmocka_unit_test(tokens),
        cmocka_unit_test(parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

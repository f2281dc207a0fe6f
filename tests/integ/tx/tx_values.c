/* What parameters and rows hold. Run by tx.sh. */
#include <stdio.h>

#include "support/tx_db.h"

TEST(parameters_come_back_as_they_went)
{
    static const struct dsql_stmt all = {
        .name = "all",
        .sql =
            "SELECT $1::bool, $2::int2, $3::int4, $4::int8, $5::float8, $6::text, $7::bytea, "
            "$8::uuid, $9::timestamptz, $10::timestamp, $11::text, $12::int8, $13::numeric::text",
        .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ,
    };
    static const unsigned char bytes[] = {0, 1, 255, 0, '\\', '\''};
    static const unsigned char uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    const int64_t times[] = {0, -1, INT64_C(1700000000123456), INT64_C(-62135596800000000)};
    for (size_t i = 0; i < 4; i++) {
        struct dsql_tx *tx = begin();
        struct dsql_rows *rows = NULL;
        struct dsql_err err = {0};
        if (dsql_tx_query(tx, &all,
                          PARAMS(dsql_bool(i % 2), dsql_i16((int16_t)(INT16_MIN + (int)i)),
                                 dsql_i32(INT32_MIN), dsql_i64(INT64_MIN), dsql_f64(-0.1),
                                 dsql_text("h\xc3\xa9"), dsql_bytes(bytes, sizeof(bytes)),
                                 dsql_uuid(uuid), dsql_time_us(times[i]),
                                 dsql_timestamp_us(times[i]), dsql_text_n("abcdef", 3), dsql_null(),
                                 dsql_text("1.50")),
                          &rows, &err) != DSQL_OK)
            fail_msg("%s", err.message);
        int64_t n;
        double d;
        bool b;
        size_t len;
        assert_int_equal(dsql_rows_count(rows), 1);
        assert_int_equal(dsql_rows_columns(rows), 13);
        assert_true(dsql_rows_bool(rows, 0, 0, &b));
        assert_int_equal(b, i % 2);
        assert_true(dsql_rows_i64(rows, 0, 1, &n));
        assert_int_equal(n, INT16_MIN + (int)i);
        assert_true(dsql_rows_i64(rows, 0, 2, &n));
        assert_int_equal(n, INT32_MIN);
        assert_true(dsql_rows_i64(rows, 0, 3, &n));
        assert_true(n == INT64_MIN);
        assert_true(dsql_rows_f64(rows, 0, 4, &d));
        assert_true(d == -0.1);
        assert_string_equal(dsql_rows_bytes(rows, 0, 5, NULL), "h\xc3\xa9");
        assert_memory_equal(dsql_rows_bytes(rows, 0, 6, &len), bytes, sizeof(bytes));
        assert_int_equal(len, sizeof(bytes));
        assert_memory_equal(dsql_rows_bytes(rows, 0, 7, &len), uuid, 16);
        assert_int_equal(len, 16);
        assert_true(dsql_rows_time_us(rows, 0, 8, &n) && n == times[i]);
        assert_true(dsql_rows_time_us(rows, 0, 9, &n) && n == times[i]);
        assert_string_equal(dsql_rows_bytes(rows, 0, 10, NULL), "abc");
        assert_true(dsql_rows_is_null(rows, 0, 11));
        assert_false(dsql_rows_i64(rows, 0, 11, &n));
        assert_string_equal(dsql_rows_bytes(rows, 0, 12, NULL), "1.50");
        assert_null(dsql_rows_bytes(rows, 1, 0, NULL));
        assert_null(dsql_rows_bytes(rows, 0, 13, NULL));
        assert_false(dsql_rows_i64(rows, 0, 6, &n));
        dsql_rows_free(rows);
        ok(dsql_tx_commit(tx, &err));
    }
}

TEST(many_and_large_values_pass)
{
    /* More than libpq and OpenSSL hold in one piece, in both directions. */
    static const struct dsql_stmt echo = {.name = "echo", .sql = "SELECT $1::bytea"};
    size_t len = (size_t)900 * 1024;
    char *blob = malloc(len);
    assert_non_null(blob);
    for (size_t i = 0; i < len; i++)
        blob[i] = (char)(i * 31 + i / 251);
    struct dsql_tx *tx = begin();
    struct dsql_err err = {0};
    struct dsql_ticket tickets[5];
    for (int i = 0; i < 5; i++)
        ok(dsql_tx_send(tx, &echo, PARAMS(dsql_bytes(blob, len - (size_t)i)), &tickets[i], &err));
    for (int i = 4; i >= 0; i--) {
        struct dsql_rows *rows = NULL;
        size_t back;
        if (dsql_tx_take(tx, tickets[i], NULL, &rows, &err) != DSQL_OK)
            fail_msg("%s", err.message);
        const void *bytes = dsql_rows_bytes(rows, 0, 0, &back);
        assert_int_equal(back, len - (size_t)i);
        assert_memory_equal(bytes, blob, back);
        dsql_rows_free(rows);
    }
    ok(dsql_tx_commit(tx, &err));
    free(blob);

    char text[4096] = "SELECT 0";
    struct dsql_param params[200];
    for (size_t i = 0; i < 200; i++) {
        char piece[16];
        snprintf(piece, sizeof(piece), "+$%zu", i + 1);
        strncat(text, piece, sizeof(text) - strlen(text) - 1);
        params[i] = dsql_i64((int64_t)i);
    }
    struct dsql_stmt sum = {.name = "sum", .sql = text};
    struct dsql_rows *rows = NULL;
    tx = begin();
    ok(dsql_tx_query(tx, &sum, params, 200, &rows, &err));
    int64_t n;
    assert_true(dsql_rows_i64(rows, 0, 0, &n));
    assert_int_equal(n, 199 * 100);
    dsql_rows_free(rows);
    dsql_tx_rollback(tx);
}

TEST(wrong_arguments_are_refused)
{
    struct dsql_err err = {0};
    struct dsql_tx *tx = begin();
    struct dsql_stmt nameless = {.sql = "SELECT 1"};
    assert_int_equal(dsql_tx_exec(tx, &nameless, NULL, 0, NULL, &err), DSQL_INVALID);
    dsql_tx_rollback(tx);
    tx = begin();
    assert_int_equal(dsql_tx_exec(tx, &READ_V, PARAMS(dsql_text_n("a\0b", 3)), NULL, &err),
                     DSQL_INVALID);
    dsql_tx_rollback(tx);
    tx = begin();
    struct dsql_ticket ticket;
    ok(dsql_tx_send(tx, &READ_V, PARAMS(dsql_i32(1)), &ticket, &err));
    ok(dsql_tx_take(tx, ticket, NULL, NULL, &err));
    assert_int_equal(dsql_tx_take(tx, ticket, NULL, NULL, &err), DSQL_INVALID);
    dsql_tx_rollback(tx);
}

int main(void)
{
    tx_db_open();
    const struct CMUnitTest tests[] = {
        EACH(parameters_come_back_as_they_went),
        EACH(many_and_large_values_pass),
        EACH(wrong_arguments_are_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tx_db_close();
    return failed;
}

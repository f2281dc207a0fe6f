/* Fields taken from a body, and from one that does not have them. */
#include "pgwire/cursor.h"
#include "pgwire/lists.h"
#include "support/test.h"

TEST(fields_are_taken_in_order)
{
    struct dsql_pg_cursor at =
        dsql_pg_cursor_over(DSQL_SPAN("\377\1\2\377\376\200\0\0\1\377\377\377\375ab\0cdef"));
    assert_int_equal(dsql_pg_take_u8(&at), 255);
    assert_int_equal(dsql_pg_take_u16(&at), 258);
    assert_int_equal(dsql_pg_take_i16(&at), -2);
    assert_int_equal(dsql_pg_take_u32(&at), 0x80000001u);
    assert_int_equal(dsql_pg_take_i32(&at), -3);
    assert_true(dsql_span_eq(dsql_pg_take_text(&at), DSQL_SPAN("ab")));
    assert_true(dsql_span_eq(dsql_pg_take_bytes(&at, 2), DSQL_SPAN("cd")));
    assert_true(dsql_span_eq(dsql_pg_take_rest(&at), DSQL_SPAN("ef")));
    assert_int_equal(dsql_pg_cursor_end(&at, NULL), DSQL_OK);
}

TEST(an_empty_body_needs_no_memory)
{
    struct dsql_pg_cursor at = dsql_pg_cursor_over((struct dsql_span){NULL, 0});
    assert_int_equal(dsql_pg_take_rest(&at).len, 0);
    assert_int_equal(dsql_pg_cursor_end(&at, NULL), DSQL_OK);
}

/* After a fault nothing is taken any more, although smaller fields would be there. */
TEST(the_first_fault_stays)
{
    struct dsql_pg_cursor at = dsql_pg_cursor_over(DSQL_SPAN("\1\2\3"));
    assert_int_equal(dsql_pg_take_u32(&at), 0);
    assert_int_equal(dsql_pg_take_u8(&at), 0);
    assert_int_equal(dsql_pg_take_text(&at).len, 0);
    assert_int_equal(dsql_pg_take_rest(&at).len, 0);
    struct dsql_err err;
    assert_int_equal(dsql_pg_cursor_end(&at, &err), DSQL_PROTOCOL);
    assert_string_equal(err.message, "insufficient data left in message");
}

TEST(a_list_that_is_not_there_is_empty)
{
    const struct dsql_span body = DSQL_SPAN("\0\2\0\0\0");
    struct dsql_pg_cursor at = dsql_pg_cursor_over(body);
    assert_int_equal(dsql_pg_take_values(&at).count, 0);
    at = dsql_pg_cursor_over(body);
    assert_int_equal(dsql_pg_take_formats(&at).count, 0);
    at = dsql_pg_cursor_over(body);
    assert_int_equal(dsql_pg_take_oids(&at).count, 0);
    assert_non_null(at.fault);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_taken_in_order),
        cmocka_unit_test(an_empty_body_needs_no_memory),
        cmocka_unit_test(the_first_fault_stays),
        cmocka_unit_test(a_list_that_is_not_there_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

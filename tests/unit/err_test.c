#include "dsql/err.h"

#include "dsql/version.h"
#include "support/test.h"

TEST(every_code_has_name_text_and_class)
{
    for (int rc = 0; rc < DSQL_RC_COUNT; rc++) {
        assert_true(strlen(dsql_rc_name((enum dsql_rc)rc)) > 1);
        assert_true(strlen(dsql_rc_text((enum dsql_rc)rc)) > 1);
        assert_string_not_equal(dsql_class_name(dsql_rc_class((enum dsql_rc)rc)), "?");
    }
    assert_string_equal(dsql_rc_name(DSQL_RC_COUNT), "?");
    assert_int_equal(dsql_rc_class((enum dsql_rc)999), DSQL_CLASS_PERMANENT);
}

TEST(the_class_says_what_to_do)
{
    assert_int_equal(DSQL_OK, 0);
    assert_int_equal(dsql_rc_class(DSQL_OK), DSQL_CLASS_OK);
    assert_int_equal(dsql_rc_class(DSQL_CONFLICT), DSQL_CLASS_RETRY);
    assert_int_equal(dsql_rc_class(DSQL_SCHEMA_CHANGED), DSQL_CLASS_RETRY);
    assert_int_equal(dsql_rc_class(DSQL_CONDITION_FAILED), DSQL_CLASS_CONDITION);
    assert_int_equal(dsql_rc_class(DSQL_COMMIT_UNKNOWN), DSQL_CLASS_UNKNOWN);
    assert_int_equal(dsql_rc_class(DSQL_EMPTY), DSQL_CLASS_BUSY);
    assert_int_equal(dsql_rc_class(DSQL_UNSUPPORTED), DSQL_CLASS_PERMANENT);
}

TEST(set_fills_and_returns)
{
    struct dsql_err err = {.sqlstate = "40001", .hint = "old"};
    assert_int_equal(dsql_err_set(&err, DSQL_INVALID, "bad %s", "value"), DSQL_INVALID);
    assert_int_equal(err.rc, DSQL_INVALID);
    assert_string_equal(err.message, "bad value");
    assert_string_equal(err.sqlstate, "");
    assert_string_equal(err.hint, "");
    dsql_err_hint(&err, "use %d", 5);
    assert_string_equal(err.hint, "use 5");
    assert_int_equal(dsql_err_set(NULL, DSQL_IO, "nobody listens"), DSQL_IO);
    dsql_err_hint(NULL, "nobody listens");
}

TEST(long_messages_are_cut)
{
    struct dsql_err err;
    char text[2000];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(dsql_err_set(&err, DSQL_IO, "%s", text), DSQL_IO);
    assert_int_equal(strlen(err.message), sizeof(err.message) - 1);
}

TEST(version_is_the_headers)
{
    STRBUF(text, 32);
    dsql_strbuf_addf(&text, "%d.%d.%d", DSQL_VERSION_MAJOR, DSQL_VERSION_MINOR, DSQL_VERSION_PATCH);
    assert_string_equal(dsql_version(), text.ptr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_name_text_and_class),
        cmocka_unit_test(the_class_says_what_to_do),
        cmocka_unit_test(set_fills_and_returns),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(version_is_the_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

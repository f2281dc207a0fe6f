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

/* The codes again, in their order: programs rely on number, name and class, so that whoever changes
 * one has to do it here too. A new code is a new row at the end. */
TEST(numbers_names_and_classes_do_not_change)
{
    static const struct {
        const char *name, *cls;
    } rows[] = {
        {"OK", "ok"},
        {"CONDITION_FAILED", "condition"},
        {"CONFLICT", "retry"},
        {"SCHEMA_CHANGED", "retry"},
        {"COMMIT_UNKNOWN", "unknown"},
        {"EMPTY", "busy"},
        {"THROTTLED", "busy"},
        {"LIMIT", "busy"},
        {"TIMEOUT", "busy"},
        {"DENIED", "denied"},
        {"LOST", "lost"},
        {"CLOSED", "caller"},
        {"CANCELLED", "caller"},
        {"INVALID", "caller"},
        {"NOT_FOUND", "caller"},
        {"UNSUPPORTED", "permanent"},
        {"NO_MEMORY", "permanent"},
        {"IO", "permanent"},
        {"PROTOCOL", "permanent"},
        {"DATABASE", "permanent"},
        {"DUPLICATE", "permanent"},
        {"TOO_LARGE", "permanent"},
        {"UNAVAILABLE", "busy"},
        {"APPLIED", "permanent"},
    };
    assert_int_equal(DSQL_COUNT_OF(rows), DSQL_RC_COUNT);
    for (int rc = 0; rc < DSQL_RC_COUNT; rc++) {
        assert_string_equal(dsql_rc_name((enum dsql_rc)rc), rows[rc].name);
        assert_string_equal(dsql_class_name(dsql_rc_class((enum dsql_rc)rc)), rows[rc].cls);
    }
    assert_int_equal(DSQL_OK, 0);
    assert_int_equal(DSQL_TIMEOUT, 8);
    assert_int_equal(DSQL_DATABASE, 19);
    assert_int_equal(DSQL_UNAVAILABLE, 22);
    assert_int_equal(DSQL_APPLIED, 23);
    assert_int_equal(DSQL_CLASS_OK, 0);
    assert_int_equal(DSQL_CLASS_RETRY, 2);
    assert_int_equal(DSQL_CLASS_PERMANENT, 8);
    assert_string_equal(dsql_class_name((enum dsql_class)999), "?");
}

TEST(an_error_may_quote_itself)
{
    struct dsql_err err;
    assert_int_equal(dsql_err_set(&err, DSQL_IO, "the disk is gone"), DSQL_IO);
    dsql_err_hint(&err, "find it");
    assert_int_equal(dsql_err_set(&err, DSQL_LOST, "while reading: %s (%s)", err.message, err.hint),
                     DSQL_LOST);
    assert_string_equal(err.message, "while reading: the disk is gone (find it)");
    assert_string_equal(err.hint, "");
    dsql_err_hint(&err, "ask");
    dsql_err_hint(&err, "first %s, then %s", err.hint, err.hint);
    assert_string_equal(err.hint, "first ask, then ask");
}

TEST(set_fills_and_returns)
{
    struct dsql_err err = {.sqlstate = "40001", .hint = "old", .entity = "shard", .key = "1"};
    assert_int_equal(dsql_err_set(&err, DSQL_INVALID, "bad %s", "value"), DSQL_INVALID);
    assert_int_equal(err.rc, DSQL_INVALID);
    assert_string_equal(err.message, "bad value");
    assert_string_equal(err.sqlstate, "");
    assert_string_equal(err.hint, "");
    assert_string_equal(err.entity, "");
    assert_string_equal(err.key, "");
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
        cmocka_unit_test(numbers_names_and_classes_do_not_change),
        cmocka_unit_test(an_error_may_quote_itself),
        cmocka_unit_test(set_fills_and_returns),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(version_is_the_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "base/secret.h"

#include "support/test.h"

TEST(holds_a_copy)
{
    struct dsql_secret secret = {0};
    char text[] = "wJalrXUtnFEMI";
    assert_true(dsql_secret_is_empty(&secret));
    assert_string_equal(dsql_secret_reveal(&secret).ptr, "");
    assert_int_equal(dsql_secret_set(&secret, dsql_span_of(text)), DSQL_OK);
    text[0] = 'X';
    assert_string_equal(dsql_secret_reveal(&secret).ptr, "wJalrXUtnFEMI");
    assert_int_equal(dsql_secret_reveal(&secret).len, 13);
    assert_true(
        dsql_span_eq(dsql_revealed_span(dsql_secret_reveal(&secret)), DSQL_SPAN("wJalrXUtnFEMI")));
    assert_int_equal(dsql_secret_set(&secret, DSQL_SPAN("other")), DSQL_OK);
    assert_string_equal(dsql_secret_reveal(&secret).ptr, "other");
    dsql_secret_fini(&secret);
    assert_true(dsql_secret_is_empty(&secret));
    dsql_secret_fini(&secret); /* twice is fine */
}

TEST(compares)
{
    struct dsql_secret a = {0}, b = {0};
    assert_true(dsql_secret_eq(&a, &b));
    assert_int_equal(dsql_secret_set(&a, DSQL_SPAN("same")), DSQL_OK);
    assert_false(dsql_secret_eq(&a, &b));
    assert_int_equal(dsql_secret_set(&b, DSQL_SPAN("same")), DSQL_OK);
    assert_true(dsql_secret_eq(&a, &b));
    assert_int_equal(dsql_secret_set(&b, DSQL_SPAN("sama")), DSQL_OK);
    assert_false(dsql_secret_eq(&a, &b));
    assert_int_equal(dsql_secret_set(&b, DSQL_SPAN("Same")), DSQL_OK);
    assert_false(dsql_secret_eq(&a, &b));
    dsql_secret_fini(&a);
    dsql_secret_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(holds_a_copy), cmocka_unit_test(compares)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The property harness itself: it finds what is wrong and makes it simple. */
#include "support/prop.h"

#include "support/test.h"

/* False for a list that holds anything above 100. */
static bool no_large_number(struct prop *p)
{
    uint64_t n = prop_below(p, 50);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t value = prop_below(p, 1000);
        if (!prop_that(p, value <= 100, "%llu numbers, found %llu", (unsigned long long)n,
                       (unsigned long long)value))
            return false;
    }
    return true;
}

static bool in_bounds(struct prop *p)
{
    int64_t value = prop_between(p, -3, 5);
    uint64_t any = prop_any_u64(p);
    (void)any;
    return prop_that(p, value >= -3 && value <= 5, "%lld", (long long)value);
}

TEST(a_failure_is_found_and_made_simple)
{
    char why[1024];
    assert_false(prop_holds("no large number", no_large_number, 1000, why, sizeof(why)));
    assert_non_null(strstr(why, "1 numbers, found 101"));
    assert_non_null(strstr(why, "PROP_SEED="));
}

TEST(what_holds_holds)
{
    char why[1024];
    assert_true(prop_holds("in bounds", in_bounds, 1000, why, sizeof(why)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_found_and_made_simple),
        cmocka_unit_test(what_holds_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "core/fallback.h"

#include "support/test.h"

static struct dsql_mono at(int64_t seconds)
{
    return (struct dsql_mono){seconds * DSQL_S};
}

static const struct dsql_fallback_config shared_by_five = {
    .after_ns = 30 * DSQL_S, .processes = 5, .connections = 20, .rate = 10};

TEST(it_is_off_unless_asked_for)
{
    struct dsql_fallback f;
    int64_t wait_ns = DSQL_S;
    dsql_fallback_init(&f, &(struct dsql_fallback_config){.connections = 20, .rate = 10}, at(0));
    dsql_fallback_tell(&f, true, at(0));
    assert_int_equal(dsql_fallback_slots(&f, 0, at(100000)), 0);
    assert_false(dsql_fallback_permit(&f, at(100000), &wait_ns));
    assert_int_equal(wait_ns, DSQL_S);
}

TEST(after_a_while_there_is_a_share)
{
    struct dsql_fallback f;
    int64_t wait_ns = DSQL_H;
    dsql_fallback_init(&f, &shared_by_five, at(0));
    assert_int_equal(dsql_fallback_slots(&f, 1, at(1000)), 1); /* nobody is away */
    dsql_fallback_tell(&f, true, at(1000));
    dsql_fallback_tell(&f, true, at(1020)); /* away since 1000 */
    assert_int_equal(dsql_fallback_slots(&f, 1, at(1029)), 1);
    assert_false(dsql_fallback_permit(&f, at(1029), &wait_ns));
    assert_int_equal(dsql_fallback_slots(&f, 1, at(1030)), 4);
    assert_int_equal(dsql_fallback_slots(&f, 7, at(1030)), 7); /* what was granted is not closed */
    assert_true(dsql_fallback_permit(&f, at(1030), &wait_ns));
    assert_false(dsql_fallback_permit(&f, at(1030), &wait_ns));
    assert_int_equal(wait_ns, DSQL_S / 2); /* two a second */
    dsql_fallback_tell(&f, false, at(1031));
    assert_int_equal(dsql_fallback_slots(&f, 1, at(1031)), 1);
    assert_false(dsql_fallback_permit(&f, at(1040), &wait_ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_off_unless_asked_for),
        cmocka_unit_test(after_a_while_there_is_a_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

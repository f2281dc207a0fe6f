/* The budget of one process: shared by its pools, remembered between them. */
#include "budget/budget.h"
#include "support/test.h"

static struct dsql_manual_clock manual;

static struct dsql_budget *open_budget(const char *endpoint, int64_t rate, int64_t burst)
{
    struct dsql_budget *budget = NULL;
    const struct dsql_budget_options options = {
        .endpoint = endpoint, .rate = rate, .burst = burst, .clock = &manual.clock};
    assert_int_equal(dsql_budget_open(&options, &budget, NULL), DSQL_OK);
    return budget;
}

static int take_all(struct dsql_budget *budget)
{
    int64_t wait_ns;
    int n = 0;
    while (budget->ops->permit(budget, manual.now, &wait_ns))
        n++;
    return n;
}

TEST(shared_and_remembered)
{
    dsql_manual_clock_init(&manual, (struct dsql_wall){0});
    struct dsql_budget *a = open_budget("a:5432", 10, 100), *b = open_budget("a:5432", 50, 500);
    struct dsql_budget *other = open_budget("b:5432", 10, 7);
    assert_int_equal(take_all(a), 100);
    assert_int_equal(take_all(b), 0);
    assert_int_equal(take_all(other), 7);
    dsql_manual_clock_advance(&manual, DSQL_S);
    assert_int_equal(take_all(b), 10);
    a->ops->destroy(a);
    b->ops->destroy(b);
    a = open_budget("a:5432", 20, 200); /* used up, whoever comes */
    assert_int_equal(take_all(a), 0);
    dsql_manual_clock_advance(&manual, DSQL_S);
    assert_int_equal(take_all(a), 20);
    a->ops->destroy(a);
    other->ops->destroy(other);
}

TEST(slots)
{
    struct dsql_budget *a = open_budget("a:5432", 10, 100);
    struct dsql_budget_status status;
    a->ops->want(a, 42);
    a->ops->used(a, 7);
    assert_int_equal(a->ops->slots(a), 42);
    a->ops->throttled(a, manual.now);
    a->ops->status(a, manual.now, &status);
    assert_int_equal(status.used, 7);
    assert_int_equal(status.throttled, 1);
    assert_true(status.rate == 5 && status.rate_limit == 10);
    a->ops->drain(a);
    assert_int_equal(a->ops->slots(a), 0);
    a->ops->destroy(a);
}

TEST(refusals)
{
    struct dsql_budget *budget = NULL;
    struct dsql_err err;
    struct dsql_budget_options options = {
        .endpoint = "a", .rate = 0, .burst = 1, .clock = &manual.clock};
    assert_int_equal(dsql_budget_open(&options, &budget, &err), DSQL_INVALID);
    options.kind = (enum dsql_budget_kind)99;
    assert_int_equal(dsql_budget_open(&options, &budget, &err), DSQL_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_and_remembered),
        cmocka_unit_test(slots),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

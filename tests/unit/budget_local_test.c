/* The budget of one process: shared by its pools, remembered between them. */
#include <sys/wait.h>
#include <unistd.h>

#include "budget/budget.h"
#include "support/manual_clock.h"
#include "support/test.h"

static struct manual_clock manual;

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
    while (dsql_budget_permit(budget, manual.now, &wait_ns))
        n++;
    return n;
}

TEST(shared_and_remembered)
{
    manual_clock_init(&manual, (struct dsql_wall){0});
    struct dsql_budget *a = open_budget("a:5432", 10, 100), *b = open_budget("a:5432", 50, 500);
    struct dsql_budget *other = open_budget("b:5432", 10, 7);
    assert_int_equal(take_all(a), 100);
    assert_int_equal(take_all(b), 0);
    assert_int_equal(take_all(other), 7);
    manual_clock_advance(&manual, DSQL_S);
    assert_int_equal(take_all(b), 10);
    dsql_budget_destroy(a);
    dsql_budget_destroy(b);
    a = open_budget("a:5432", 20, 200); /* used up, whoever comes */
    assert_int_equal(take_all(a), 0);
    manual_clock_advance(&manual, DSQL_S);
    assert_int_equal(take_all(a), 20);
    dsql_budget_destroy(a);
    dsql_budget_destroy(other);
}

TEST(slots)
{
    struct dsql_budget *a = open_budget("a:5432", 10, 100);
    struct dsql_allowance_status status;
    dsql_budget_want(a, 42);
    dsql_budget_used(a, 7);
    assert_int_equal(dsql_budget_slots(a, manual.now), 42);
    dsql_budget_throttled(a, manual.now);
    dsql_budget_status(a, manual.now, &status);
    assert_int_equal(status.used, 7);
    assert_int_equal(status.throttled, 1);
    assert_true(status.rate == 5 && status.rate_limit == 10);
    dsql_budget_drain(a);
    assert_int_equal(dsql_budget_slots(a, manual.now), 0);
    dsql_budget_destroy(a);
}

TEST(what_is_whole_again_is_forgotten)
{
    dsql_budget_destroy(open_budget("c:5432", 10, 100)); /* a burst of 100, all of it there */
    struct dsql_budget *other = open_budget("d:5432", 10, 1);
    struct dsql_budget *c = open_budget("c:5432", 10, 200);
    assert_int_equal(take_all(c), 200); /* as new; what is remembered has 100 in it */
    dsql_budget_destroy(c);
    dsql_budget_destroy(open_budget("e:5432", 10, 100));
    c = open_budget("c:5432", 10, 200);
    assert_int_equal(take_all(c), 0);
    dsql_budget_destroy(c);
    dsql_budget_destroy(other);
}

TEST(a_child_goes_on_with_a_copy)
{
    struct dsql_budget *a = open_budget("f:5432", 10, 5);
    assert_int_equal(take_all(a), 5);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dsql_budget_after_fork();
        struct dsql_budget *own = open_budget("f:5432", 10, 5);
        int at_once = take_all(own);
        manual_clock_advance(&manual, DSQL_S);
        int later = take_all(own);
        dsql_budget_destroy(own);
        _exit(at_once == 0 && later == 5 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_int_equal(take_all(a), 0);
    dsql_budget_destroy(a);
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
        cmocka_unit_test(what_is_whole_again_is_forgotten),
        cmocka_unit_test(a_child_goes_on_with_a_copy),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

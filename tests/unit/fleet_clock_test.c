/* A fleet whose table is away, by a clock that the test owns: how often it asks, and what it falls
 * back to after an hour. */
#include "base/log.h"
#include "support/fake_table.h"
#include "support/test_clock.h"

enum { WANTED = 80, PROCESSES = 2, SHARE = 50 };

static struct manual_clock manual;
static struct fake_table table;

static struct dsql_mono now(void)
{
    return dsql_clock_mono(&manual.clock);
}

static struct dsql_budget *open_budget(int64_t fallback_after_ns)
{
    struct dsql_budget_options options;
    struct dsql_budget *budget = NULL;
    struct dsql_err err = {0};
    manual_clock_init(&manual, (struct dsql_wall){INT64_C(1794823200) * DSQL_S});
    fake_table_options(&options);
    options.log = dsql_log_default();
    options.clock = &manual.clock;
    options.fallback_after_ns = fallback_after_ns;
    options.fallback_processes = PROCESSES;
    if (dsql_budget_open(&options, &budget, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    dsql_budget_want(budget, WANTED);
    return budget;
}

static bool has_problem(struct dsql_budget *budget)
{
    struct dsql_allowance_status status;
    dsql_budget_status(budget, now(), &status);
    return status.problem[0] != '\0';
}

TEST(an_hour_without_the_table)
{
    atomic_store(&table.mood, FAKE_TABLE_HANGS_UP);
    struct dsql_budget *budget = open_budget(DSQL_H);
    WAIT_UNTIL(has_problem(budget));
    assert_int_equal(dsql_budget_slots(budget, now()), 0);
    manual_clock_advance(&manual, DSQL_H - DSQL_S);
    assert_int_equal(dsql_budget_slots(budget, now()), 0);
    manual_clock_advance(&manual, DSQL_S);
    assert_int_equal(dsql_budget_slots(budget, now()), SHARE);
    /* The table comes back, and is asked again by itself. */
    atomic_store(&table.mood, FAKE_TABLE_WELL);
    PASS_TIME_UNTIL(&manual, 100 * DSQL_MS, dsql_budget_slots(budget, now()) == WANTED);
    dsql_budget_destroy(budget);
}

/* Requests that fail are further and further apart, and none is made while no time passes. */
TEST(a_table_that_is_away_is_not_hammered)
{
    atomic_store(&table.mood, FAKE_TABLE_HANGS_UP);
    struct dsql_budget *budget = open_budget(0);
    WAIT_UNTIL(has_problem(budget));
    unsigned before = atomic_load(&table.server.served);
    for (int i = 0; i < 50; i++)
        look_around();
    assert_int_equal(atomic_load(&table.server.served), before);
    PASS_TIME_UNTIL(&manual, 10 * DSQL_MS, atomic_load(&table.server.served) == before + 1);
    PASS_TIME_UNTIL(&manual, 10 * DSQL_MS, atomic_load(&table.server.served) == before + 2);
    dsql_budget_destroy(budget);
}

static int set_up(void **state)
{
    (void)state;
    dsql_log_set_level(DSQL_LOG_ERROR);
    fake_table_start(&table);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_table_stop(&table);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_hour_without_the_table),
        cmocka_unit_test(a_table_that_is_away_is_not_hammered),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

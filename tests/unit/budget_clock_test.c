/* A fleet's budget knows how far this machine's clock is off: DynamoDB says what time it is,
 * whatever else it answers. */
#include <time.h>

#include "base/log.h"
#include "support/fake_table.h"
#include "support/test.h"

/* The server's answers are of 10:00:00 on 16 November 2026, here it is ten minutes later. */
static struct dsql_wall late_wall(const struct dsql_clock *self)
{
    (void)self;
    return (struct dsql_wall){(INT64_C(1794823200) + 600) * DSQL_S};
}

static struct dsql_mono real_mono(const struct dsql_clock *self)
{
    (void)self;
    return dsql_clock_mono(&dsql_clock_system);
}

TEST(the_clock_is_seen_against_dynamodbs)
{
    static const struct dsql_clock late = {
        .mono = real_mono, .mono_coarse = real_mono, .wall = late_wall};
    struct fake_table table;
    struct dsql_budget_options options;
    struct dsql_budget *budget;
    struct dsql_allowance_status status;
    struct dsql_err err = {0};
    fake_table_start(&table);
    table.mood = FAKE_TABLE_ILL;
    dsql_log_set_level(DSQL_LOG_ERROR);
    fake_table_options(&options);
    options.log = dsql_log_default();
    options.clock = &late;
    assert_int_equal(dsql_budget_open(&options, &budget, &err), DSQL_OK);
    dsql_budget_want(budget, 1);
    for (int tries = 0; tries < 12000; tries++) {
        dsql_budget_status(budget, dsql_clock_mono(&late), &status);
        if (status.clock_ahead_s != 0)
            break;
        (void)nanosleep(&(struct timespec){.tv_nsec = 5 * DSQL_MS}, NULL);
    }
    assert_int_equal(status.clock_ahead_s, 600);
    assert_true(status.problem[0] != '\0');
    dsql_budget_destroy(budget);
    fake_table_stop(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_clock_is_seen_against_dynamodbs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

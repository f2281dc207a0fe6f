/*
 * The Nth allocation fails while a fleet's budget is opened, used and given back: nothing leaks,
 * the slots come once the fault is over, and none is left in the table.
 */
#include <time.h>

#include "base/log.h"
#include "support/alloc_fault.h"
#include "support/fake_table.h"
#include "support/test.h"

enum { SLOTS = 3 };

static struct fake_table table;
static struct dsql_log quiet;

static void ignore(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

static bool life(void)
{
    const struct timespec pause = {.tv_nsec = DSQL_MS};
    struct dsql_budget_options options;
    struct dsql_budget *budget = NULL;
    struct dsql_err err = {0};
    fake_table_options(&options);
    options.log = &quiet;
    enum dsql_rc rc = dsql_budget_open(&options, &budget, &err);
    if (rc) {
        assert_int_equal(rc, DSQL_NO_MEMORY);
        return false;
    }
    dsql_budget_want(budget, SLOTS);
    for (int i = 0;
         i < 60000 && dsql_budget_slots(budget, dsql_clock_mono(&dsql_clock_system)) < SLOTS; i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(dsql_budget_slots(budget, dsql_clock_mono(&dsql_clock_system)), SLOTS);
    dsql_budget_drain(budget);
    dsql_budget_destroy(budget);
    assert_int_equal(fake_table_owners(&table), 0);
    return true;
}

TEST(allocations)
{
    dsql_log_init(&quiet, &dsql_clock_system, ignore, NULL);
    fake_table_start(&table);
    print_message("%zu runs\n", alloc_fault_run("a fleet's budget", life, true));
    fake_table_stop(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

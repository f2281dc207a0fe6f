/* The Nth allocation of ours fails while a scenario is read. */
#include "sim/scenario.h"
#include "support/alloc_fault.h"
#include "support/test.h"

static bool read_one(void)
{
    struct dsql_sim_scenario s;
    struct dsql_err err;
    if (dsql_sim_scenario_read(DSQL_SPAN("services: [{name: a}, {name: b}]\n"
                                         "events: [{at: 1s, what: drop}]\n"),
                               "s", &s, &err))
        return false;
    dsql_sim_scenario_fini(&s);
    return true;
}

TEST(reading_survives)
{
    assert_true(alloc_fault_run("scenario", read_one, false) >= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reading_survives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Random worlds: the same seed gives the same world and the same run; a world that is printed reads
 * back as itself; and in a few of them everything holds that must always hold. */
#include <stdlib.h>

#include "sim/draw.h"
#include "sim/report.h"
#include "support/prop.h"
#include "support/test.h"

static char *printed(const struct dsql_sim_scenario *scenario)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    dsql_shape_print(&dsql_sim_scenario_shape, scenario, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static char *result(const struct dsql_sim_scenario *scenario)
{
    struct dsql_sim_world world;
    struct dsql_err err = {0};
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    if (dsql_sim_world_init(&world, scenario, (uint64_t)scenario->seed, &err))
        fail_msg("%s", err.message);
    while (dsql_sim_world_advance(&world, DSQL_M))
        continue;
    dsql_sim_summary_json(&world, out);
    dsql_sim_csv(&world, out);
    assert_int_equal(fclose(out), 0);
    if (world.checks.failure_count > 0)
        fail_msg("%s: %s", world.checks.failures[0].check, world.checks.failures[0].text);
    dsql_sim_world_fini(&world);
    return text;
}

static bool reads_back_and_repeats(struct prop *p)
{
    struct dsql_sim_scenario drawn, again, read;
    struct dsql_err err = {0};
    uint64_t seed = prop_any_u64(p) >> 1;
    assert_int_equal(dsql_sim_draw(seed, &drawn, &err), DSQL_OK);
    assert_int_equal(dsql_sim_draw(seed, &again, &err), DSQL_OK);
    char *text = printed(&drawn), *text_again = printed(&again);
    enum dsql_rc rc = dsql_sim_scenario_read(dsql_span_of(text), "drawn", &read, &err);
    bool ok = prop_that(p, strcmp(text, text_again) == 0, "world %llu is drawn in two ways",
                        (unsigned long long)seed) &&
              prop_that(p, rc == DSQL_OK, "world %llu: %s", (unsigned long long)seed, err.message);
    if (!rc) {
        char *first = result(&drawn), *second = result(&read);
        ok = ok && prop_that(p, strcmp(first, second) == 0, "world %llu ends in two ways",
                             (unsigned long long)seed);
        free(first);
        free(second);
        dsql_sim_scenario_fini(&read);
    }
    free(text);
    free(text_again);
    dsql_sim_scenario_fini(&drawn);
    dsql_sim_scenario_fini(&again);
    return ok;
}

TEST(a_drawn_world_reads_back_and_repeats_itself)
{
    prop_run("drawn worlds", reads_back_and_repeats, 25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_drawn_world_reads_back_and_repeats_itself)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "sim/scenario.h"

#include "support/test.h"

#define ONE "services: [{name: a}]\n"

TEST(a_scenario_is_read_over_its_defaults)
{
    static const char text[] = "name: two services\n"
                               "duration: 20m\n"
                               "cluster: {rate: 50, connectLatency: 5ms}\n"
                               "budget:\n"
                               "  kind: local\n"
                               "services:\n"
                               "  - name: history\n"
                               "    count: 3\n"
                               "    workload: {spawn: 100ms, burst: 10}\n"
                               "  - {name: worker, start: 5s}\n"
                               "events:\n"
                               "  - {at: 5m, what: drop, fraction: 0.5, service: worker}\n"
                               "  - {at: 1m, what: clock-step, step: -90s}\n"
                               "assertZeroEmptyEvents: true\n"
                               "assertConvergeWithin: 60s\n";
    struct dsql_sim_scenario s;
    struct dsql_err err = {0};
    if (dsql_sim_scenario_read(dsql_span_of(text), "two.yaml", &s, &err))
        fail_msg("%s", err.message);
    assert_string_equal(s.name, "two services");
    assert_int_equal(s.duration_ns, 20 * DSQL_M);
    assert_int_equal(s.seed, 42);
    assert_int_equal(s.cluster.rate, 50);
    assert_int_equal(s.cluster.burst, 1000);
    assert_int_equal(s.cluster.connect_latency_ns, 5 * DSQL_MS);
    assert_int_equal(s.budget.kind, DSQL_SIM_LOCAL);
    assert_int_equal(s.services.count, 2);
    const struct dsql_sim_service *services = s.services.items;
    assert_int_equal(services[0].count, 3);
    assert_int_equal(services[0].workload.burst, 10);
    assert_int_equal(services[0].workload.hold_ns, 10 * DSQL_MS);
    assert_int_equal(services[1].count, 1);
    assert_int_equal(services[1].line, 10);
    const struct dsql_sim_happening *events = s.happenings.items;
    assert_int_equal(events[0].what, DSQL_SIM_DROP);
    assert_true(events[0].fraction == 0.5);
    assert_int_equal(events[1].what, DSQL_SIM_CLOCK);
    assert_int_equal(events[1].step_ns, -90 * DSQL_S);
    assert_true(s.asserts.zero_empty_events);
    assert_false(s.asserts.cap_never_exceeded);
    assert_int_equal(s.asserts.converge_within_ns, 60 * DSQL_S);
    dsql_sim_scenario_fini(&s);
}

static const struct {
    const char *text, *message, *hint;
} refused[] = {
    {"", "s.yaml: empty; expected a scenario", ""},
    {"- a\n", "s.yaml:1: expected a scenario: fields with values", ""},
    {"a: [\n", "s.yaml:2: no YAML: did not find expected node content", ""},
    {"duration: 1m\n", "s.yaml: services: expected at least one", ""},
    {ONE "durration: 1m\n", "s.yaml:2: a scenario has no field 'durration'",
     "did you mean 'duration'?"},
    {ONE "colour: red\n", "s.yaml:2: a scenario has no field 'colour'",
     "'dsql sim list --fields' lists them all"},
    {ONE "[a]: b\n", "s.yaml:2: a field's name must be a word", ""},
    {ONE "seed: 1\nseed: 2\n", "s.yaml:3: seed is given twice", ""},
    {ONE "duration: long\n",
     "s.yaml:2: duration: expected a duration from 1s to 168h, as 90s or 250ms, not 'long'", ""},
    {ONE "duration: 5\n",
     "s.yaml:2: duration: expected a duration from 1s to 168h, as 90s or 250ms, not '5'", ""},
    {ONE "assertZeroEmptyEvents: yes\n",
     "s.yaml:2: assertZeroEmptyEvents: expected true or false, not 'yes'", ""},
    {ONE "cluster: {rate: 0}\n",
     "s.yaml:2: rate: expected a whole number from 1 to 100000, not '0'", ""},
    {ONE "cluster: {rate: ten}\n",
     "s.yaml:2: rate: expected a whole number from 1 to 100000, not 'ten'", ""},
    {ONE "cluster: 5\n", "s.yaml:2: cluster: expected the cluster, not '5'", ""},
    {ONE "budget: {kind: shared}\n",
     "s.yaml:2: kind: expected one of local, leases, blocks, not 'shared'", ""},
    {ONE "budget: {kind: [a]}\n",
     "s.yaml:2: kind: expected one of local, leases, blocks, not a list", ""},
    {ONE "dynamodb: {loss: 1.5}\n", "s.yaml:2: loss: expected a fraction from 0 to 1, not '1.5'",
     ""},
    {"services: {name: a}\n",
     "s.yaml:1: services: expected a list, each entry a service, not a mapping", ""},
    {"services:\n  - a\n", "s.yaml:2: expected a service: fields with values", ""},
    {"services:\n  - {count: 2}\n", "s.yaml:2: a service needs a name", ""},
    {"services:\n  - {name: a}\n  - {name: a}\n", "s.yaml:3: there are two services named 'a'", ""},
    {ONE "events:\n  - {at: 1s}\n", "s.yaml:3: an event needs 'what'", ""},
    {ONE "events:\n  - {what: drop}\n", "s.yaml:3: an event needs 'at'", ""},
    {ONE "duration: 5m\nevents:\n  - {at: 9m, what: drop}\n",
     "s.yaml:4: at: 9m is not before the end, 5m: it would never happen", ""},
    {ONE "events:\n  - {at: 1s, what: drop, service: b}\n",
     "s.yaml:3: service: there is no service 'b'", ""},
    {ONE "events:\n  - {at: 1s, what: drop, times: 2}\n",
     "s.yaml:3: times: expected 'every' with it, to say how far apart", ""},
    {ONE "pool: {baseLifetime: 1m, guardWindow: 1m}\n",
     "s.yaml: pool: guardWindow must be shorter than baseLifetime - lifetimeJitter/2: such "
     "connections would never be handed out",
     ""},
    {ONE "budget: {connections: 10, headroom: 10}\n",
     "s.yaml: budget: headroom must be smaller than connections", ""},
};

TEST(what_does_not_fit_is_refused_with_its_line)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(refused); i++) {
        struct dsql_sim_scenario s;
        struct dsql_err err = {0};
        assert_int_equal(dsql_sim_scenario_read(dsql_span_of(refused[i].text), "s.yaml", &s, &err),
                         DSQL_INVALID);
        assert_string_equal(err.message, refused[i].message);
        assert_string_equal(err.hint, refused[i].hint);
    }
}

/* Levels of flow and block style, 200,000 of them: refused after the first few. */
TEST(deep_nesting_is_refused)
{
    enum { LEVELS = 200000 };
    static const struct {
        const char *begin, *level;
    } cases[] = {
        {"services: ", "["},
        {"services: ", "[\n "},
        {"services: ", "{a: "},
        {"services: ", "{a:\n "},
        {"services: ", "{? "},
        {"services: ", "[{a: "},
        {"", "- "},
        {"", "? "},
        {"", "- ? "},
        {"", "- - ? "},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_sim_scenario s;
        struct dsql_err err = {0};
        struct dsql_strbuf text;
        dsql_strbuf_init_heap(&text, (size_t)8 * LEVELS);
        dsql_strbuf_add_str(&text, cases[i].begin);
        for (size_t level = 0; level < LEVELS; level++)
            dsql_strbuf_add_str(&text, cases[i].level);
        assert_false(text.cut);
        struct dsql_span all = {text.ptr, text.len};
        assert_int_equal(dsql_sim_scenario_read(all, "s.yaml", &s, &err), DSQL_INVALID);
        if (!strstr(err.message, "nested deeper than 32 levels"))
            fail_msg("'%s': %s", cases[i].level, err.message);
        dsql_strbuf_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(a_scenario_is_read_over_its_defaults),
        cmocka_unit_test(what_does_not_fit_is_refused_with_its_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Scripts whose server goes away at every point of them: after each message that it has carried
 * out, with each part of the answers given. What was applied is never called not applied, and never
 * applied twice; what was not applied is never called applied. */
#include <stdio.h>

#include "dsql/log.h"
#include "support/cut_server.h"
#include "support/pg_source.h"
#include "support/test.h"
#include "tx/script.h"

static const struct dsql_stmt WRITE = {.name = "write", .sql = "INSERT INTO t VALUES (1)"};
static const struct dsql_stmt PREPARED = {
    .name = "prepared", .sql = "INSERT INTO t VALUES (2)", .flags = DSQL_STMT_PREPARE};
static const struct dsql_stmt GUARD = {
    .name = "guard", .sql = DSQL_EXPECTING("SELECT guarded FROM t"), .flags = DSQL_STMT_RAISES};
static const struct dsql_fence FENCE = {.entity = "row", .key = "1", .token = "v 1"};

static const struct dsql_step STEPS[] = {
    {&GUARD, NULL, 0, &FENCE},
    {&WRITE, NULL, 0, NULL},
    {&PREPARED, NULL, 0, NULL},
};

/* What a case is, and what became of it. */
struct seen {
    enum dsql_rc rc;
    struct cut_server server;
};

static struct seen run_cut(size_t steps, struct cut cut, const char *fails, int tries)
{
    struct seen seen = {.server = {.first = cut, .fails = fails}};
    struct pg_source source;
    struct dsql_tx_policy policy;
    struct dsql_err err = {0};
    char port[16];
    cut_server_start(&seen.server);
    snprintf(port, sizeof(port), "%d", seen.server.port);
    assert_int_equal(setenv("PGPORT", port, 1), 0);
    pg_source_init(&source, NULL);
    dsql_tx_policy_default(&policy);
    policy.timeout_ns = 60 * DSQL_S;
    policy.retry.base_delay_ns = policy.retry.max_delay_ns = 1;
    policy.retry.budget = NULL;
    policy.retry.max_retries = policy.retry.reconnects = tries;
    struct dsql_script script = {.steps = &STEPS[DSQL_COUNT_OF(STEPS) - steps], .count = steps};
    seen.rc = dsql_script_run_on(&source.source, "cut", &script, &policy, &err);
    pg_source_fini(&source);
    cut_server_join(&seen.server);
    return seen;
}

/* Every point at which the first connection can end. */
static unsigned sweep(size_t steps, const char *fails, int tries, unsigned outcomes[DSQL_RC_COUNT])
{
    unsigned cases = 0;
    struct seen whole = run_cut(steps, (struct cut){-1, -1, false}, fails, tries);
    int rows = fails ? 0 : whole.server.applied;
    for (int messages = 0; messages <= whole.server.messages; messages++) {
        for (int answers = 0; answers <= whole.server.answers; answers++) {
            struct cut cut = {messages, answers, cases % 2};
            struct seen seen = run_cut(steps, cut, fails, tries);
            bool said = seen.rc == DSQL_OK || seen.rc == DSQL_APPLIED;
            bool open = seen.rc == DSQL_COMMIT_UNKNOWN;
            cases++;
            outcomes[seen.rc]++;
            if (seen.server.applied != 0 && seen.server.applied != rows)
                fail_msg("%d, %d: %d rows, not %d", messages, answers, seen.server.applied, rows);
            if (!open && said != (seen.server.applied > 0))
                fail_msg("%d messages, %d answers: %s, and %d rows", messages, answers,
                         dsql_rc_name(seen.rc), seen.server.applied);
            if (open && seen.server.connections > 1)
                fail_msg("%d, %d: run again after an unknown commit", messages, answers);
        }
    }
    return cases;
}

TEST(a_cut_at_any_point_is_told_as_it_is)
{
    unsigned outcomes[DSQL_RC_COUNT] = {0}, cases = 0;
    for (int tries = 0; tries < 3; tries += 2)
        for (size_t steps = 1; steps <= DSQL_COUNT_OF(STEPS); steps++)
            cases += sweep(steps, NULL, tries, outcomes);
    printf("%u cuts: %u committed, %u unknown, %u lost\n", cases, outcomes[DSQL_OK],
           outcomes[DSQL_COMMIT_UNKNOWN], outcomes[DSQL_LOST]);
    assert_true(outcomes[DSQL_OK] > 0 && outcomes[DSQL_COMMIT_UNKNOWN] > 0);
}

/* An expectation that does not hold: whatever of it is heard, nothing was applied. */
TEST(a_cut_after_a_refusal_applies_nothing)
{
    unsigned outcomes[DSQL_RC_COUNT] = {0};
    (void)sweep(3, "guarded", 2, outcomes);
    assert_int_equal(outcomes[DSQL_OK] + outcomes[DSQL_APPLIED], 0);
    assert_true(outcomes[DSQL_CONDITION_FAILED] > 0);
}

int main(void)
{
    static const char *const environment[][2] = {{"PGHOST", "127.0.0.1"},
                                                 {"PGSSLMODE", "disable"},
                                                 {"PGGSSENCMODE", "disable"},
                                                 {"PGUSER", "nobody"},
                                                 {"PGDATABASE", "none"}};
    dsql_log_set_level(DSQL_LOG_ERROR);
    for (size_t i = 0; i < DSQL_COUNT_OF(environment); i++)
        if (setenv(environment[i][0], environment[i][1], 1) != 0)
            return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_at_any_point_is_told_as_it_is),
        cmocka_unit_test(a_cut_after_a_refusal_applies_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * What a fleet's budget says when DynamoDB is not as it should be: one line for each trouble with
 * what to do, one when it is over; and what was granted stays.
 */
#include <time.h>

#include "base/log.h"
#include "support/fake_table.h"
#include "support/test.h"

enum { SLOTS = 3 };

static struct {
    pthread_mutex_t lock;
    char text[8192];
    size_t len;
} said = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void hear(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level;
    pthread_mutex_lock(&said.lock);
    if (said.len + len >= sizeof(said.text))
        abort(); /* an assertion would jump out of this thread */
    memcpy(said.text + said.len, line, len);
    said.len += len;
    said.text[said.len] = '\0';
    pthread_mutex_unlock(&said.lock);
}

static size_t count_said(const char *text)
{
    size_t n = 0;
    pthread_mutex_lock(&said.lock);
    for (const char *at = said.text; (at = strstr(at, text)) != NULL; at++)
        n++;
    pthread_mutex_unlock(&said.lock);
    return n;
}

static void wait_until_said(const char *text)
{
    const struct timespec pause = {.tv_nsec = 5 * DSQL_MS};
    for (int i = 0; i < 12000; i++) {
        if (count_said(text) > 0)
            return;
        (void)nanosleep(&pause, NULL);
    }
    fail_msg("never said: %s; but %s", text, said.text);
}

static void wait_until_served(struct fake_table *table, unsigned more)
{
    const struct timespec pause = {.tv_nsec = 5 * DSQL_MS};
    unsigned before = table->server.served;
    for (int i = 0; i < 12000 && table->server.served - before < more; i++)
        (void)nanosleep(&pause, NULL);
    assert_true(table->server.served - before >= more);
}

static void wait_for_slots(struct dsql_budget *budget, int64_t n)
{
    const struct timespec pause = {.tv_nsec = 5 * DSQL_MS};
    for (int i = 0;
         i < 12000 && dsql_budget_slots(budget, dsql_clock_mono(&dsql_clock_system)) != n; i++)
        (void)nanosleep(&pause, NULL);
    assert_int_equal(dsql_budget_slots(budget, dsql_clock_mono(&dsql_clock_system)), n);
}

TEST(each_trouble_has_its_line_and_what_was_granted_stays)
{
    static const struct {
        enum fake_table_mood mood;
        const char *kind, *todo;
    } rows[] = {
        {FAKE_TABLE_DENIES, "kind=DENIED", "deploy/iam"},
        {FAKE_TABLE_MISSING, "kind=NO_TABLE", "dsql budget setup"},
        {FAKE_TABLE_ELSEWHERE, "kind=EXPIRED", "region"},
        {FAKE_TABLE_HANGS_UP, "kind=LOST", "check the network"},
        {FAKE_TABLE_ILL, "kind=UNAVAILABLE", "tried again"},
    };
    struct fake_table table;
    struct dsql_log log;
    struct dsql_budget_options options;
    struct dsql_budget *budget;
    struct dsql_err err;
    fake_table_start(&table);
    dsql_log_init(&log, &dsql_clock_system, hear, NULL);
    fake_table_options(&options);
    options.log = &log;
    options.ttl_ns = 3 * DSQL_S; /* a beat every half second */
    assert_int_equal(dsql_budget_open(&options, &budget, &err), DSQL_OK);
    dsql_budget_want(budget, SLOTS);
    wait_for_slots(budget, SLOTS);
    dsql_budget_used(budget, SLOTS);
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_allowance_status status;
        table.mood = rows[i].mood;
        wait_until_said(rows[i].kind);
        wait_until_said(rows[i].todo);
        wait_until_served(&table, 2); /* it fails again, and that is said no more */
        dsql_budget_status(budget, dsql_clock_mono(&dsql_clock_system), &status);
        assert_non_null(strstr(status.problem, "table fleet in us-east-1"));
        assert_int_equal(status.slots, SLOTS);
        assert_int_equal(count_said("event=budget.problem"), 1);
        table.mood = FAKE_TABLE_WELL;
        wait_until_said("event=budget.back");
        assert_int_equal(count_said("event=budget.problem"), 1);
        assert_int_equal(dsql_budget_slots(budget, dsql_clock_mono(&dsql_clock_system)), SLOTS);
        pthread_mutex_lock(&said.lock);
        print_message("%s", said.text);
        said.len = 0;
        said.text[0] = '\0';
        pthread_mutex_unlock(&said.lock);
    }
    dsql_budget_used(budget, 0);
    dsql_budget_drain(budget);
    dsql_budget_destroy(budget);
    assert_int_equal(fake_table_owners(&table), 0);
    fake_table_stop(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_trouble_has_its_line_and_what_was_granted_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

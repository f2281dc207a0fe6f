/*
 * Pools of one process on one fleet's budget, each in a thread of its own, while the fleet's thread
 * talks to the table, which is now well and now ill: they come, use it, and go. Run under TSan.
 */
#include <time.h>

#include "base/log.h"
#include "support/fake_table.h"
#include "support/test.h"

enum { POOLS = 4, LIVES = 12, TURNS = 200 };

static struct fake_table table;
static struct dsql_log quiet;
static _Atomic unsigned woken, given, wrong;

static void ignore(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

static void wake(void *arg)
{
    (void)arg;
    woken++;
}

static void use(struct dsql_budget *budget, int64_t wanted)
{
    const struct timespec pause = {.tv_nsec = DSQL_US * 200};
    int64_t held = 0;
    dsql_budget_want(budget, wanted);
    for (int turn = 0; turn < TURNS; turn++) {
        struct dsql_mono now = dsql_clock_mono(&dsql_clock_system);
        struct dsql_allowance_status status;
        int64_t wait_ns, slots = dsql_budget_slots(budget, now);
        if (held < slots && dsql_budget_permit(budget, now, &wait_ns)) {
            held++;
            given++;
        } else if (held > 0) {
            held--;
        }
        dsql_budget_used(budget, held);
        if (turn % 50 == 7)
            dsql_budget_throttled(budget, now);
        if (turn % 50 == 9)
            dsql_budget_refused_full(budget, now);
        dsql_budget_status(budget, now, &status);
        wrong += status.slots > wanted;
        (void)nanosleep(&pause, NULL);
    }
    dsql_budget_drain(budget);
    dsql_budget_used(budget, 0);
}

static void *pool(void *arg)
{
    int64_t number = *(const int64_t *)arg;
    for (int life = 0; life < LIVES; life++) {
        struct dsql_budget_options options;
        struct dsql_budget *budget;
        struct dsql_err err;
        fake_table_options(&options);
        options.log = &quiet;
        options.wake = wake;
        if (dsql_budget_open(&options, &budget, &err)) {
            wrong++;
            return NULL;
        }
        use(budget, 1 + number);
        if (number == 0)
            table.mood = life % 2 ? FAKE_TABLE_WELL : FAKE_TABLE_ILL;
        dsql_budget_destroy(budget);
    }
    return NULL;
}

TEST(pools_share_a_fleet)
{
    pthread_t threads[POOLS];
    int64_t numbers[POOLS];
    dsql_log_init(&quiet, &dsql_clock_system, ignore, NULL);
    fake_table_start(&table);
    for (int64_t i = 0; i < POOLS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, pool, &numbers[i]), 0);
    }
    for (size_t i = 0; i < POOLS; i++)
        pthread_join(threads[i], NULL);
    print_message("%u permits, woken %u times\n", given, woken);
    assert_int_equal(wrong, 0);
    assert_true(woken > 0);
    fake_table_stop(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pools_share_a_fleet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Pools of one process that come and go on one fleet's budget: one that comes while the last of
 * them drains gets its slots, and requests are signed with the credentials of a pool that is there.
 */
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "dsql/credentials.h"
#include "support/fake_table.h"
#include "support/test.h"

enum { SLOTS = 3 };

static struct fake_table table;
static struct dsql_log quiet;

static void ignore(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

/* Waits, for a minute at most, until the expression holds. */
#define WAIT_UNTIL(expression)                                                                     \
    do {                                                                                           \
        const struct timespec pause_ = {.tv_nsec = 2 * DSQL_MS};                                   \
        for (int tries_ = 0; !(expression); tries_++) {                                            \
            if (tries_ > 30000)                                                                    \
                fail_msg("never: " #expression);                                                   \
            (void)nanosleep(&pause_, NULL);                                                        \
        }                                                                                          \
    } while (0)

static struct dsql_budget *open_one(struct dsql_credentials *credentials)
{
    struct dsql_budget_options options;
    struct dsql_budget *budget = NULL;
    struct dsql_err err = {0};
    fake_table_options(&options);
    options.log = &quiet;
    options.ttl_ns = 3 * DSQL_S; /* a beat every half second */
    options.credentials = credentials;
    if (dsql_budget_open(&options, &budget, &err))
        fail_msg("%s", err.message);
    dsql_budget_want(budget, SLOTS);
    return budget;
}

static void use(struct dsql_budget *budget, int64_t n)
{
    WAIT_UNTIL(dsql_budget_slots(budget, dsql_clock_mono(&dsql_clock_system)) >= n);
    dsql_budget_used(budget, n);
}

static void close_one(struct dsql_budget *budget)
{
    dsql_budget_drain(budget);
    dsql_budget_used(budget, 0);
    dsql_budget_destroy(budget);
}

/* The new pool comes at once, while the old one still has connections out; or when the old one has
 * given everything back and the fleet has left the table, but the old handle is not destroyed. */
static void reload(bool late)
{
    struct dsql_budget *old = open_one(NULL);
    use(old, SLOTS);
    dsql_budget_drain(old);
    dsql_budget_used(old, late ? 0 : SLOTS); /* its callers keep theirs for a while */
    if (late)
        WAIT_UNTIL(fake_table_owners(&table) == 0);
    struct dsql_budget *fresh = open_one(NULL);
    use(fresh, SLOTS); /* beside what the old one still holds */
    close_one(old);
    assert_int_equal(dsql_budget_slots(fresh, dsql_clock_mono(&dsql_clock_system)), SLOTS);
    close_one(fresh);
    assert_int_equal(fake_table_owners(&table), 0);
}

TEST(a_pool_that_comes_while_the_last_drains)
{
    reload(false);
    reload(true);
}

struct keys {
    const char *id;
    _Atomic bool gone;
    _Atomic int fetches;
};

static enum dsql_rc fetch(void *arg, struct dsql_credentials_reply *reply, struct dsql_err *err)
{
    struct keys *keys = arg;
    (void)err;
    if (atomic_load(&keys->gone))
        abort(); /* an assertion would jump out of this thread */
    atomic_fetch_add(&keys->fetches, 1);
    return dsql_credentials_reply_set(reply, keys->id, "secret", NULL, 0);
}

static struct dsql_credentials *make(struct keys *keys)
{
    struct dsql_credentials *credentials = NULL;
    assert_int_equal(dsql_credentials_new_custom(fetch, keys, &credentials, NULL), DSQL_OK);
    return credentials;
}

/* The first pool goes and its credentials with it; and then the second. */
TEST(credentials_go_with_their_pool)
{
    struct keys first = {.id = "AKIDFIRST"}, second = {.id = "AKIDSECOND"},
                third = {.id = "AKIDTHIRD"};
    struct dsql_credentials *a = make(&first), *b = make(&second), *c = make(&third);
    struct dsql_budget *one = open_one(a);
    use(one, SLOTS);
    assert_true(fake_table_signed_by(&table, "AKIDFIRST"));
    struct dsql_budget *two = open_one(b);
    close_one(one);
    dsql_credentials_destroy(a);
    atomic_store(&first.gone, true);
    use(two, SLOTS);
    WAIT_UNTIL(fake_table_signed_by(&table, "AKIDSECOND"));
    struct dsql_budget *three = open_one(c);
    WAIT_UNTIL(fake_table_signed_by(&table, "AKIDTHIRD"));
    close_one(three); /* the youngest goes first: back to those of the one that stays */
    dsql_credentials_destroy(c);
    atomic_store(&third.gone, true);
    WAIT_UNTIL(fake_table_signed_by(&table, "AKIDSECOND"));
    close_one(two);
    assert_int_equal(fake_table_owners(&table), 0); /* signed, up to the last request */
    dsql_credentials_destroy(b);
}

/* A forked child has nothing of its parent's budgets, and an identity of its own. */
TEST(a_child_is_another_owner)
{
    struct dsql_budget *budget = open_one(NULL);
    use(budget, SLOTS);
    size_t before = fake_table_owners(&table);
    pid_t child = fork();
    if (child == 0) {
        struct dsql_budget_options options;
        struct dsql_budget *own = NULL;
        dsql_budget_after_fork();
        fake_table_options(&options);
        options.log = &quiet;
        if (dsql_budget_open(&options, &own, NULL))
            _exit(1);
        dsql_budget_want(own, SLOTS);
        const struct timespec pause = {.tv_nsec = 2 * DSQL_MS};
        for (int tries = 0;
             dsql_budget_slots(own, dsql_clock_mono(&dsql_clock_system)) < SLOTS && tries < 30000;
             tries++)
            (void)nanosleep(&pause, NULL);
        _exit(dsql_budget_slots(own, dsql_clock_mono(&dsql_clock_system)) < SLOTS ? 2 : 0);
    }
    int status = -1;
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    assert_int_equal(fake_table_owners(&table), before + 1);
    close_one(budget);
}

static int set_up(void **state)
{
    (void)state;
    dsql_log_init(&quiet, &dsql_clock_system, ignore, NULL);
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
        cmocka_unit_test(a_pool_that_comes_while_the_last_drains),
        cmocka_unit_test(credentials_go_with_their_pool),
        cmocka_unit_test(a_child_is_another_owner),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

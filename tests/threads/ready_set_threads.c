/* The ready set under many threads: what one owns, no other owns, and nothing is lost. */
#include <pthread.h>

#include "core/ready_set.h"
#include "support/test.h"

enum { SLOTS = 20, THREADS = 6, ROUNDS = 40000 };

static struct dsql_ready_set set;
static _Atomic int owners[SLOTS];
static _Atomic unsigned clashes, taken;
static int plain[SLOTS]; /* written by owners only: a race here is a missing order */

static void *work(void *arg)
{
    uint32_t hint = (uint32_t)(uintptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t slot = (uint32_t)(i % SLOTS);
        if (i % 3 == 0) {
            if (!dsql_ready_set_claim(&set, slot))
                continue;
        } else if ((slot = dsql_ready_set_take(&set, &hint)) == DSQL_READY_NONE) {
            continue;
        }
        if (atomic_fetch_add_explicit(&owners[slot], 1, memory_order_relaxed) != 0)
            atomic_fetch_add(&clashes, 1);
        plain[slot]++;
        atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&owners[slot], 1, memory_order_relaxed);
        dsql_ready_set_put(&set, slot);
    }
    return NULL;
}

TEST(owners_are_alone)
{
    pthread_t threads[THREADS];
    assert_int_equal(dsql_ready_set_init(&set, SLOTS), DSQL_OK);
    for (uint32_t i = 0; i < SLOTS; i++)
        dsql_ready_set_put(&set, i);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    unsigned sum = 0;
    for (int i = 0; i < SLOTS; i++)
        sum += (unsigned)plain[i];
    assert_int_equal(atomic_load(&clashes), 0);
    assert_int_equal(sum, atomic_load(&taken));
    assert_int_equal(dsql_ready_set_count(&set), SLOTS);
    dsql_ready_set_fini(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(owners_are_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

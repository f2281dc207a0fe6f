/*
 * `dsql_distributed_conn_lease_active` with the protocol `leases`: the counter is read often enough
 * for who watches it, however large the fleet is and however rarely a process surveys it, and it is
 * never shown as less than none.
 */
#include <stdio.h>

#include "core/leases.h"
#include "support/test.h"

enum { OWNERS = 200, HOURS = 3, FRESH_S = 60 };

struct fleet {
    struct dsql_leases core;
    struct dsql_lease_found found[OWNERS];
    int64_t now_ns, read_ns,
        longest_ns; /* the counter was read last; the longest stretch without */
    int64_t reads, scans;
};

static struct dsql_moment now_of(const struct fleet *f)
{
    return (struct dsql_moment){.mono = {f->now_ns}, .wall = {f->now_ns}};
}

static int64_t gauge(struct fleet *f)
{
    struct dsql_allowance_status status;
    dsql_allowance_status(&f->core.allowance, now_of(f), &status);
    return status.fleet_used;
}

/* A table in which each of many owners has a lease that it renews. */
static void answer(struct fleet *f, const struct dsql_leases_op *op)
{
    struct dsql_leases_answer answer = {.outcome = DSQL_LEASES_OK};
    if (op->kind == DSQL_LEASES_LOOK) {
        answer.exists = true;
        answer.active = answer.ours = OWNERS;
        answer.updated_ms = f->now_ns / DSQL_MS;
        f->read_ns = f->now_ns;
        f->reads++;
    } else if (op->kind == DSQL_LEASES_SCAN) {
        for (int i = 0; i < OWNERS; i++)
            f->found[i].beat++;
        answer.found = f->found;
        answer.found_count = OWNERS;
        answer.last = true;
        f->scans++;
    }
    assert_int_equal(dsql_leases_answer(&f->core, now_of(f), &answer), DSQL_OK);
}

static void live(struct fleet *f)
{
    for (int64_t s = 0; s < (int64_t)HOURS * 3600; s++) {
        struct dsql_leases_op op;
        f->now_ns = (INT64_C(1000000) + s) * DSQL_S;
        for (int n = 0; n < 20; n++) {
            if (!dsql_leases_next(&f->core, now_of(f), (uint64_t)(s * 20 + n + 1), &op))
                break;
            answer(f, &op);
        }
        if (f->now_ns - f->read_ns > f->longest_ns)
            f->longest_ns = f->now_ns - f->read_ns;
    }
}

TEST(the_counter_is_read_within_a_minute)
{
    static struct fleet f;
    const struct dsql_leases_config config = {
        .owner = "00000000000000ab", .connections = 10000, .rate = 100, .ttl_ns = 3 * DSQL_M};
    f.now_ns = f.read_ns = INT64_C(1000000) * DSQL_S;
    assert_int_equal(
        dsql_leases_init(&f.core, &config, dsql_rng_seeded(1), (struct dsql_mono){f.now_ns}),
        DSQL_OK);
    for (int i = 0; i < OWNERS; i++) {
        f.found[i].renewed = true;
        (void)snprintf(f.found[i].id, sizeof(f.found[i].id), "%032d", i);
        (void)snprintf(f.found[i].owner, sizeof(f.found[i].owner), "%016d", i);
    }
    dsql_allowance_want(&f.core.allowance, 1);
    assert_int_equal(gauge(&f), -1); /* which is not shown: pool_log_test */
    live(&f);
    assert_int_equal(gauge(&f), OWNERS);
    assert_true(f.longest_ns <= FRESH_S * DSQL_S);
    /* Not by surveying the table that often, which is what costs, nor by asking all the time. */
    assert_true(f.scans < 30);
    assert_true(f.reads <= HOURS * 3600 / 20);
    dsql_allowance_fini(&f.core.allowance);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_counter_is_read_within_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

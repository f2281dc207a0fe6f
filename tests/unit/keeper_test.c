/* The keeper's policy, sentence by sentence: tests/keeper_mutants.sh breaks each of them once. */
#include "support/desk.h"
#include "support/test.h"

static struct desk desk_of(uint32_t max_open, uint32_t target)
{
    struct desk desk;
    struct dsql_keeper_config config = desk_config(max_open, target);
    desk_init(&desk, &config, 1);
    return desk;
}

/* -- How many. */

TEST(the_target_is_opened_and_no_more)
{
    struct desk d = desk_of(20, 12);
    struct dsql_keeper_step sleep = desk_turn(&d);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 12);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_PERMIT), 12);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_PREPARE), 1);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_OPEN)->why, DSQL_WHY_TARGET);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_OPEN)->ns, 10 * DSQL_S);
    assert_int_equal(sleep.why, DSQL_WHY_ENOUGH);
    assert_int_equal(sleep.ns, DSQL_S);
    desk_open_all(&d);
    (void)desk_turn(&d);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 0);
    desk_fini(&d);
}

TEST(each_caller_that_waits_gets_one_up_to_max_open)
{
    struct desk d = desk_of(5, 2);
    desk_fill(&d);
    d.waiting = 2;
    (void)desk_turn(&d);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 2);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_OPEN)->why, DSQL_WHY_WAITING);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_SLOTS)->count, 5); /* one for a successor */
    desk_open_all(&d);
    d.waiting = 100;
    (void)desk_turn(&d);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 1);
    desk_open_all(&d);
    d.waiting = 0;
    (void)desk_turn_after(&d, 2 * DSQL_M);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CLOSE), 0); /* they stay for their lifetime */
    assert_int_equal(desk_find(&d, DSQL_KEEPER_SLOTS)->count, 5);
    desk_fini(&d);
}

/* Also those who wait when more than the target are in use already. */
TEST(the_next_caller_that_waits_gets_one_too)
{
    struct desk d = desk_of(10, 2);
    desk_fill(&d);
    d.waiting = 3;
    desk_fill(&d);
    assert_int_equal(d.k.slots.open, 10); /* it filled while they waited */
    desk_fini(&d);
    d = desk_of(10, 2);
    desk_fill(&d);
    for (uint32_t n = 3; n <= 10; n++) {
        d.waiting = 1;
        (void)desk_turn(&d);
        assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 1);
        (void)desk_turn(&d); /* its connection is on its way */
        assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 0);
        desk_open_all(&d);
        d.waiting = 0;
        (void)desk_turn(&d);
        assert_int_equal(d.k.slots.open, n);
    }
    desk_fini(&d);
}

TEST(who_waits_does_not_wait_for_a_tick)
{
    struct dsql_keeper_config config = desk_config(10, 2);
    struct desk d;
    config.tick_ns = DSQL_M;
    config.tick_max = config.warmup_tries = 1;
    config.warmup_backoff_ns = config.warmup_backoff_max_ns = DSQL_S;
    desk_init(&d, &config, 1);
    desk_fill(&d); /* one */
    (void)desk_turn_after(&d, DSQL_M);
    desk_open_all(&d);
    d.waiting = 3;
    (void)desk_turn(&d);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 3);
    desk_fini(&d);
}

/* The budget is asked for what is needed, and for what was needed half a minute ago. */
TEST(slots_are_claimed_for_what_is_needed)
{
    struct desk d = desk_of(50, 2);
    d.permits = 2;
    desk_fill(&d);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_SLOTS)->count, 3); /* one for a successor */
    d.waiting = 7;
    (void)desk_turn_after(&d, DSQL_M);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_SLOTS)->count, 10);
    d.waiting = 0;
    (void)desk_turn_after(&d, 30 * DSQL_S);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_SLOTS)->count, 10);
    (void)desk_turn_after(&d, 30 * DSQL_S);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_SLOTS)->count, 3);
    desk_fini(&d);
}

TEST(no_more_are_opened_than_slots_are_granted)
{
    struct desk d = desk_of(20, 20);
    d.slots = 7;
    struct dsql_keeper_step sleep = desk_turn(&d);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 7);
    assert_int_equal(sleep.why, DSQL_WHY_SLOTS);
    desk_fini(&d);
}

TEST(too_few_slots_are_reported_after_a_while_and_again)
{
    struct desk d = desk_of(20, 20);
    d.slots = 7;
    (void)desk_turn(&d);
    (void)desk_turn_after(&d, 5 * DSQL_S - 1);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_REPORT), 0);
    (void)desk_turn_after(&d, 1);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_REPORT)->why, DSQL_WHY_SLOTS);
    (void)desk_turn_after(&d, 30 * DSQL_S - 1);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_REPORT), 0);
    (void)desk_turn_after(&d, 1);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_REPORT), 1);
    d.slots = 6; /* fewer than before: at once */
    (void)desk_turn_after(&d, DSQL_MS);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_REPORT), 1);
    d.slots = 20;
    (void)desk_turn_after(&d, DSQL_M);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_REPORT), 0);
    desk_fini(&d);
}

/* Aging ones go first, then any; what is in use is called back. */
TEST(what_is_over_the_slots_is_closed)
{
    struct desk d = desk_of(10, 10);
    desk_fill(&d);
    for (uint32_t i = 0; i < 5; i++)
        d.ready[i] = false; /* in use */
    d.slots = 4;
    struct dsql_keeper_step sleep = desk_turn(&d);
    assert_int_equal(desk_count_closes(&d, DSQL_DISCARD_RESERVOIR_FULL), 5);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CLOSE), 5);
    assert_int_equal(sleep.count, 1);
    desk_fini(&d);
}

/* -- When to begin. */

TEST(nothing_is_opened_before_the_start_delay_is_over)
{
    struct dsql_keeper_config config = desk_config(4, 4);
    config.start_delay_ns = 5 * DSQL_S;
    int64_t least_ns = INT64_MAX, most_ns = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct desk d;
        desk_init(&d, &config, seed);
        struct dsql_keeper_step sleep = desk_turn(&d);
        int64_t delay_ns = dsql_mono_since(d.k.start_at, d.now);
        assert_in_range(delay_ns, 0, 5 * DSQL_S);
        least_ns = delay_ns < least_ns ? delay_ns : least_ns;
        most_ns = delay_ns > most_ns ? delay_ns : most_ns;
        if (delay_ns > 0) {
            assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 0);
            assert_int_equal(sleep.why, DSQL_WHY_START);
            assert_int_equal(sleep.ns, delay_ns < DSQL_S ? delay_ns : DSQL_S);
            (void)desk_turn_after(&d, delay_ns - 1);
            assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 0);
            (void)desk_turn_after(&d, 1);
        }
        assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 4);
        desk_fini(&d);
    }
    assert_true(least_ns < DSQL_S && most_ns > 4 * DSQL_S); /* spread */
}

/* -- How fast. */

TEST(connects_at_once_follow_rate_and_handshake)
{
    static const struct {
        int64_t limit, handshake_ns;
        double rate;
        int64_t expected;
    } cases[] = {
        {8, 100 * DSQL_MS, 10, 8},      /* the setting is the least */
        {8, 100 * DSQL_MS, 100, 21},    /* twice the rate's need, and one */
        {8, 400 * DSQL_MS, 100, 81},    /* slower handshakes, more at once */
        {8, 500 * DSQL_MS, 100, 101},   /* up to here */
        {8, 9000 * DSQL_MS, 100, 101},  /* no further */
        {8, 500 * DSQL_MS, 5000, 1000}, /* nor more than this */
        {1000, 100 * DSQL_MS, 1, 1000},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_keeper_config config = desk_config(4, 4);
        struct desk d;
        config.inflight_limit = cases[i].limit;
        desk_init(&d, &config, 1);
        d.k.handshake_ns = cases[i].handshake_ns;
        d.k.rate = cases[i].rate;
        assert_int_equal(dsql_keeper_inflight(&d.k), cases[i].expected);
        desk_fini(&d);
    }
}

TEST(no_more_connects_at_once_than_the_limit)
{
    struct dsql_keeper_config config = desk_config(20, 20);
    struct desk d;
    config.inflight_limit = 4;
    desk_init(&d, &config, 1);
    struct dsql_keeper_step sleep = desk_turn(&d);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 4); /* 2 * 10/s * 100 ms + 1 = 3 */
    assert_int_equal(sleep.why, DSQL_WHY_INFLIGHT);
    desk_fini(&d);
}

TEST(the_handshake_is_smoothed)
{
    struct desk d = desk_of(1, 1);
    assert_int_equal(d.k.handshake_ns, 100 * DSQL_MS);
    (void)desk_turn(&d);
    d.now = dsql_mono_add(d.now, 900 * DSQL_MS);
    desk_open_all(&d);
    assert_int_equal(d.k.handshake_ns, 200 * DSQL_MS);
    desk_fini(&d);
}

TEST(a_connect_that_takes_too_long_is_cut_and_is_a_failure)
{
    struct desk d = desk_of(3, 3);
    (void)desk_turn(&d);
    (void)desk_turn_after(&d, 10 * DSQL_S - 1);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CUT), 0);
    struct dsql_keeper_step sleep = desk_turn_after(&d, 1);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CUT), 3);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_CUT)->why, DSQL_WHY_TIMEOUT);
    assert_int_equal(d.k.refill.rounds, 1);
    assert_int_equal(sleep.why, DSQL_WHY_BACKOFF);
    assert_in_range(sleep.ns, 125 * DSQL_MS, 250 * DSQL_MS);
    assert_int_equal(dsql_slots_held(&d.k.slots), 0);
    desk_fini(&d);
}

/* -- Permits. */

TEST(each_open_uses_a_permit)
{
    struct desk d = desk_of(20, 20);
    d.permits = 5;
    d.permit_wait_ns = 70 * DSQL_MS;
    struct dsql_keeper_step sleep = desk_turn(&d);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 5);
    assert_int_equal(sleep.why, DSQL_WHY_PERMIT);
    assert_int_equal(sleep.ns, 70 * DSQL_MS);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_REPORT), 0);
    desk_fini(&d);
}

/* One `rate_limit` failure after permit_wait, then a back-off that doubles. */
TEST(no_permit_for_too_long_is_reported_once_and_backs_off)
{
    struct desk d = desk_of(4, 4);
    int64_t wait_ns = 25 * DSQL_MS;
    d.permits = 0;
    d.permit_wait_ns = 20 * DSQL_S;
    (void)desk_turn(&d);
    struct dsql_keeper_step sleep = desk_turn_after(&d, 30 * DSQL_S - 400 * DSQL_MS);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_REPORT), 0);
    assert_int_equal(sleep.ns, 400 * DSQL_MS); /* it does not sleep past the end of its patience */
    for (unsigned failure = 0; failure < 10; failure++) {
        sleep = desk_turn_after(&d, sleep.ns);
        assert_int_equal(desk_count(&d, DSQL_KEEPER_REPORT), 1);
        assert_int_equal(desk_find(&d, DSQL_KEEPER_REPORT)->why, DSQL_WHY_PERMIT);
        assert_int_equal(sleep.why, DSQL_WHY_PERMIT);
        assert_in_range(sleep.ns, wait_ns / 2, wait_ns);
        int64_t backoff_ns = sleep.ns;
        (void)desk_turn_after(&d, backoff_ns - 1); /* woken early: it does not ask */
        assert_int_equal(desk_count(&d, DSQL_KEEPER_PERMIT), 0);
        sleep = desk_turn_after(&d, 1);
        assert_int_equal(desk_count(&d, DSQL_KEEPER_PERMIT), 1);
        assert_int_equal(desk_count(&d, DSQL_KEEPER_REPORT), 0);
        d.now = dsql_mono_add(d.now, 30 * DSQL_S - sleep.ns);
        wait_ns = 2 * wait_ns < DSQL_S ? 2 * wait_ns : DSQL_S;
    }
    (void)desk_turn_after(&d, DSQL_S);
    d.permits = 1; /* one given ends the row of failures */
    (void)desk_turn_after(&d, DSQL_S);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 1);
    assert_int_equal(d.k.permit_failures, 0);
    desk_fini(&d);
}

/* Only the time counts in which a permit is what is missing. */
TEST(patience_for_a_permit_begins_when_it_is_asked_for)
{
    struct desk d = desk_of(4, 4);
    d.permits = 0;
    (void)desk_turn(&d);
    d.preparation = DESK_NOT_YET;
    (void)desk_turn_after(&d, DSQL_S);
    d.preparation = DESK_PREPARED;
    (void)desk_turn_after(&d, DSQL_M);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_REPORT), 0);
    (void)desk_turn_after(&d, 30 * DSQL_S);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_REPORT), 1);
    desk_fini(&d);
}

/* -- Failures. */

TEST(what_a_failure_means_for_others)
{
    static const struct {
        enum dsql_connect_class cls;
        struct dsql_keeper_verdict expected; /* but for the wait */
        int64_t least_ns, most_ns;
    } cases[] = {
        {DSQL_CONNECT_THROTTLED, {.throttled = true}, 750 * DSQL_MS, DSQL_S},
        {DSQL_CONNECT_FULL, {.full = true}, 3750 * DSQL_MS, 5 * DSQL_S},
        {DSQL_CONNECT_TOKEN_EXPIRED, {.renew_token = true, .forget_token = true}, 0, 0},
        {DSQL_CONNECT_DENIED, {.renew_token = true}, 22500 * DSQL_MS, 30 * DSQL_S},
        {DSQL_CONNECT_TLS, {0}, 22500 * DSQL_MS, 30 * DSQL_S},
        {DSQL_CONNECT_RESOURCES, {0}, 750 * DSQL_MS, DSQL_S},
        {DSQL_CONNECT_NETWORK, {.address_fails = true}, 125 * DSQL_MS, 250 * DSQL_MS},
    };
    static_assert(DSQL_COUNT_OF(cases) == DSQL_CONNECT_CLASSES, "each class");
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct desk d = desk_of(4, 4);
        (void)desk_turn(&d);
        d.now = dsql_mono_add(d.now, DSQL_MS);
        desk_fail_all(&d, cases[i].cls);
        assert_int_equal(d.verdict.throttled, cases[i].expected.throttled);
        assert_int_equal(d.verdict.full, cases[i].expected.full);
        assert_int_equal(d.verdict.address_fails, cases[i].expected.address_fails);
        assert_in_range(d.verdict.retry_ns, cases[i].least_ns, cases[i].most_ns);
        desk_fini(&d);
        d = desk_of(1, 1); /* the first of a round tells what to do about the token */
        (void)desk_turn(&d);
        desk_fail_all(&d, cases[i].cls);
        assert_int_equal(d.verdict.renew_token, cases[i].expected.renew_token);
        assert_int_equal(d.verdict.forget_token, cases[i].expected.forget_token);
        desk_fini(&d);
    }
}

TEST(after_a_failure_one_at_a_time_until_one_succeeds)
{
    struct desk d = desk_of(8, 8);
    (void)desk_turn(&d);
    d.now = dsql_mono_add(d.now, DSQL_MS);
    desk_fail_all(&d, DSQL_CONNECT_NETWORK);
    struct dsql_keeper_step sleep = desk_turn(&d);
    assert_int_equal(sleep.why, DSQL_WHY_BACKOFF);
    (void)desk_turn_after(&d, sleep.ns - 1);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 0);
    (void)desk_turn_after(&d, 1);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 1);
    desk_open_all(&d);
    (void)desk_turn(&d);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 7);
    desk_fini(&d);
}

TEST(without_a_token_nothing_is_opened_and_no_permit_is_used)
{
    struct desk d = desk_of(8, 8);
    d.preparation = DESK_NOT_YET;
    struct dsql_keeper_step sleep = desk_turn(&d);
    assert_int_equal(sleep.why, DSQL_WHY_PREPARE);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_PREPARE), 1);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_PERMIT), 0);
    d.preparation = DESK_UNPREPARED;
    d.unprepared = DSQL_CONNECT_DENIED;
    sleep = desk_turn(&d);
    assert_int_equal(sleep.why, DSQL_WHY_BACKOFF);
    assert_true(dsql_keeper_is_hopeless(&d.k));
    (void)desk_turn_after(&d, 20 * DSQL_S);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_PREPARE), 0); /* it is not asked in vain */
    d.preparation = DESK_PREPARED;
    (void)desk_turn_after(&d, 10 * DSQL_S);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 1);
    desk_fini(&d);
}

/* -- Standard mode. */

static struct desk standard_desk(uint32_t warmup, uint32_t tries)
{
    struct desk d;
    struct dsql_keeper_config config = desk_config(20, 20);
    config.tick_ns = 2 * DSQL_S;
    config.tick_max = 3;
    config.warmup = warmup;
    config.warmup_tries = tries;
    config.warmup_timeout_ns = 4 * DSQL_S;
    config.warmup_backoff_ns = 2 * DSQL_S;
    config.warmup_backoff_max_ns = 5 * DSQL_S;
    desk_init(&d, &config, 1);
    return d;
}

TEST(the_warmup_opens_one_after_the_other_then_ticks_come)
{
    struct desk d = standard_desk(2, 3);
    for (int i = 0; i < 2; i++) {
        assert_false(dsql_keeper_is_warm(&d.k));
        (void)desk_turn(&d);
        assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 1);
        assert_int_equal(desk_find(&d, DSQL_KEEPER_OPEN)->why, DSQL_WHY_WARMUP);
        assert_int_equal(desk_find(&d, DSQL_KEEPER_OPEN)->ns, 4 * DSQL_S);
        desk_open_all(&d);
    }
    assert_true(dsql_keeper_is_warm(&d.k));
    for (int tick = 0; tick < 3; tick++) {
        struct dsql_keeper_step sleep = desk_turn(&d);
        assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 3);
        assert_int_equal(desk_find(&d, DSQL_KEEPER_OPEN)->ns, 10 * DSQL_S);
        assert_int_equal(sleep.why, DSQL_WHY_TICK);
        desk_open_all(&d);
        sleep = desk_turn_after(&d, 2 * DSQL_S - 100 * DSQL_MS);
        assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 0);
        assert_int_equal(sleep.ns, 100 * DSQL_MS);
        d.now = dsql_mono_add(d.now, sleep.ns);
    }
    desk_fini(&d);
}

TEST(a_warmup_that_fails_waits_longer_each_time_and_gives_up)
{
    struct desk d = standard_desk(5, 4);
    int64_t wait_ns = 2 * DSQL_S;
    for (int tries = 0; tries < 4; tries++) {
        (void)desk_turn(&d);
        assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 1);
        assert_false(dsql_keeper_is_warm(&d.k));
        desk_fail_all(&d, DSQL_CONNECT_NETWORK);
        assert_in_range(d.verdict.retry_ns, wait_ns / 2, wait_ns + wait_ns / 2);
        d.now = dsql_mono_add(d.now, d.verdict.retry_ns);
        wait_ns = 2 * wait_ns < 5 * DSQL_S ? 2 * wait_ns : 5 * DSQL_S;
    }
    assert_true(dsql_keeper_is_warm(&d.k)); /* the first never came: none will */
    desk_fini(&d);
}

TEST(waits_of_the_warmup_are_spread_from_half_to_one_and_a_half)
{
    int64_t shortest_ns = INT64_MAX, longest_ns = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct desk d = standard_desk(5, 4);
        d.k.rng = dsql_rng_seeded(seed);
        (void)desk_turn(&d);
        desk_fail_all(&d, DSQL_CONNECT_NETWORK);
        shortest_ns = d.verdict.retry_ns < shortest_ns ? d.verdict.retry_ns : shortest_ns;
        longest_ns = d.verdict.retry_ns > longest_ns ? d.verdict.retry_ns : longest_ns;
        desk_fini(&d);
    }
    assert_in_range(shortest_ns, DSQL_S, 1100 * DSQL_MS);
    assert_in_range(longest_ns, 2900 * DSQL_MS, 3 * DSQL_S);
}

TEST(one_of_the_warmup_that_never_comes_is_left_out)
{
    struct desk d = standard_desk(3, 2);
    (void)desk_turn(&d);
    desk_open_all(&d);
    for (int tries = 0; tries < 2; tries++) {
        (void)desk_turn_after(&d, 5 * DSQL_S);
        desk_fail_all(&d, DSQL_CONNECT_NETWORK);
    }
    assert_int_equal(d.k.warmup_left, 1);
    desk_fini(&d);
}

TEST(a_warmup_that_is_hopeless_ends_at_once)
{
    struct desk d = standard_desk(5, 4);
    (void)desk_turn(&d);
    desk_fail_all(&d, DSQL_CONNECT_DENIED);
    assert_true(dsql_keeper_is_warm(&d.k));
    assert_true(dsql_keeper_is_hopeless(&d.k));
    desk_fini(&d);
}

/* -- Growing old. */

TEST(a_successor_is_opened_first_where_there_is_room)
{
    struct desk d = desk_of(4, 2);
    desk_fill(&d);
    int64_t usable_ns = 39 * DSQL_M; /* base less the guard; no jitter */
    (void)desk_turn_after(&d, usable_ns - 15 * DSQL_S - 1);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 0);
    (void)desk_turn_after(&d, 1);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 2);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_OPEN)->why, DSQL_WHY_REPLACE);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CLOSE), 0);
    desk_open_all(&d);
    (void)desk_turn(&d);
    assert_int_equal(desk_count_closes(&d, DSQL_DISCARD_EXPIRING_SOON_ON_SCAN), 2);
    assert_int_equal(desk_count_ready(&d), 2);
    desk_fini(&d);
}

/* Without room it goes when its successor's permit is there, and not before. */
TEST(an_aging_one_makes_room_when_a_permit_is_there)
{
    struct desk d = desk_of(3, 3);
    desk_fill(&d);
    d.permits = 0;
    (void)desk_turn_after(&d, 39 * DSQL_M - 15 * DSQL_S);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OFFER), 1); /* claimed in vain */
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CLOSE), 0);
    assert_int_equal(desk_count_ready(&d), 3);
    d.permits = 1;
    (void)desk_turn_after(&d, DSQL_S);
    assert_int_equal(desk_count_closes(&d, DSQL_DISCARD_EXPIRING_SOON_ON_SCAN), 1);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 1);
    assert_int_equal(desk_count_ready(&d), 2);
    desk_fini(&d);
}

TEST(no_permit_is_asked_for_when_every_aging_one_is_in_use)
{
    struct desk d = desk_of(20, 20);
    desk_fill(&d);
    for (uint32_t i = 0; i < 20; i++)
        d.ready[i] = false;
    struct dsql_keeper_step sleep = desk_turn_after(&d, 39 * DSQL_M - 15 * DSQL_S);
    assert_int_equal(sleep.why, DSQL_WHY_IN_USE);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CLAIM), 8); /* not all of them in one turn */
    assert_int_equal(desk_count(&d, DSQL_KEEPER_PERMIT), 0);
    desk_fini(&d);
}

/* The room that was made for a permit is taken away by the budget: another one makes room for it,
 * and nothing is opened beyond what is granted. */
TEST(a_permit_in_hand_does_not_open_beyond_what_is_granted)
{
    struct desk d = desk_of(4, 4);
    desk_fill(&d);
    d.closes_later = true;
    d.permits = 1;
    d.now = d.k.slots.items[0].life.replace_at;
    for (uint32_t i = 1; i < 4; i++)
        if (dsql_mono_before(d.now, d.k.slots.items[i].life.replace_at))
            d.now = d.k.slots.items[i].life.replace_at;
    (void)desk_turn(&d); /* one closes, for a permit in hand */
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CLOSE), 1);
    assert_true(d.k.permit_in_hand);
    desk_close_all(&d);
    d.slots = 3; /* as many as are held now */
    (void)desk_turn(&d);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 0);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CLOSE), 1);
    desk_close_all(&d);
    (void)desk_turn(&d);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 1);
    assert_int_equal(dsql_slots_held(&d.k.slots), 3);
    desk_fini(&d);
}

/* A permit whose room is still being made stays in hand, but not for long. */
TEST(a_permit_in_hand_is_used_soon_or_not_at_all)
{
    for (int late = 0; late < 2; late++) {
        struct desk d = desk_of(3, 3);
        desk_fill(&d);
        d.closes_later = true;
        d.permits = 1;
        struct dsql_keeper_step sleep = desk_turn_after(&d, 39 * DSQL_M - 15 * DSQL_S);
        assert_int_equal(desk_count(&d, DSQL_KEEPER_CLOSE), 1);
        assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 0);
        assert_int_equal(sleep.why, DSQL_WHY_ANSWERS);
        assert_int_equal(sleep.ns, 0);
        desk_close_all(&d);
        (void)desk_turn_after(&d, DSQL_S + late);
        assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 1 - late);
        desk_fini(&d);
    }
}

static unsigned closes_at(int64_t age_ns, enum dsql_discard why)
{
    struct desk d = desk_of(1, 1);
    desk_fill(&d);
    d.permits = 0;
    (void)desk_turn_after(&d, age_ns);
    unsigned count = desk_count_closes(&d, why);
    desk_fini(&d);
    return count;
}

TEST(what_the_scan_finds_too_old_is_closed)
{
    assert_int_equal(closes_at(39 * DSQL_M - 1, DSQL_DISCARD_EXPIRING_SOON_ON_SCAN), 0);
    assert_int_equal(closes_at(39 * DSQL_M, DSQL_DISCARD_EXPIRING_SOON_ON_SCAN), 1);
    assert_int_equal(closes_at(40 * DSQL_M - 1, DSQL_DISCARD_EXPIRING_SOON_ON_SCAN), 1);
    assert_int_equal(closes_at(40 * DSQL_M - 1, DSQL_DISCARD_EXPIRED_ON_SCAN), 0);
    assert_int_equal(closes_at(40 * DSQL_M, DSQL_DISCARD_EXPIRED_ON_SCAN), 1);
}

TEST(one_that_is_in_use_at_its_end_is_looked_at_again)
{
    struct desk d = desk_of(1, 1);
    desk_fill(&d);
    d.permits = 0;
    d.ready[0] = false;
    struct dsql_keeper_step sleep = desk_turn_after(&d, 39 * DSQL_M);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CLOSE), 0);
    assert_true(sleep.ns <= DSQL_S);
    d.ready[0] = true;
    (void)desk_turn_after(&d, DSQL_S);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CLOSE), 1);
    desk_fini(&d);
}

/* -- Handing out. */

TEST(the_hand_out_rule)
{
    enum dsql_discard why;
    assert_true(dsql_handout_is_far(101, 100));
    assert_false(dsql_handout_is_far(100, 100));
    assert_false(dsql_handout_is_far(DSQL_HANDOUT_HUNG_UP, 100));
    assert_true(dsql_handout_may(100, 200, 99, DSQL_DISCARD_EXPIRED_ON_CHECKOUT, &why));
    assert_false(dsql_handout_may(100, 200, 100, DSQL_DISCARD_EXPIRED_ON_CHECKOUT, &why));
    assert_int_equal(why, DSQL_DISCARD_INSUFFICIENT_LIFETIME);
    assert_false(dsql_handout_may(100, 200, 199, DSQL_DISCARD_EXPIRED_ON_RETURN, &why));
    assert_int_equal(why, DSQL_DISCARD_INSUFFICIENT_LIFETIME);
    assert_false(dsql_handout_may(100, 200, 200, DSQL_DISCARD_EXPIRED_ON_CHECKOUT, &why));
    assert_int_equal(why, DSQL_DISCARD_EXPIRED_ON_CHECKOUT);
    assert_false(dsql_handout_may(100, 200, 200, DSQL_DISCARD_EXPIRED_ON_RETURN, &why));
    assert_int_equal(why, DSQL_DISCARD_EXPIRED_ON_RETURN);
    assert_false(
        dsql_handout_may(DSQL_HANDOUT_HUNG_UP, 200, 0, DSQL_DISCARD_EXPIRED_ON_RETURN, &why));
    assert_int_equal(why, DSQL_DISCARD_SERVER_CLOSED);
    assert_false(dsql_handout_is_called_back(false, false, &why));
    assert_true(dsql_handout_is_called_back(false, true, &why));
    assert_int_equal(why, DSQL_DISCARD_RESERVOIR_FULL);
    assert_true(dsql_handout_is_called_back(true, true, &why));
    assert_int_equal(why, DSQL_DISCARD_DRAIN);
}

/* What is far at a turn is still usable when the next turns come. */
TEST(near_is_a_minute_ahead_of_each_turn)
{
    struct desk d = desk_of(1, 1);
    (void)desk_turn_after(&d, DSQL_S);
    assert_int_equal(dsql_keeper_near(&d.k).ns, d.now.ns + DSQL_M);
    desk_fini(&d);
}

TEST(a_checkout_that_does_not_say_waits_as_configured)
{
    struct dsql_keeper_config config = desk_config(1, 1);
    assert_int_equal(dsql_keeper_patience(&config, -1), 100 * DSQL_MS);
    assert_int_equal(dsql_keeper_patience(&config, 0), 0);
    assert_int_equal(dsql_keeper_patience(&config, 7), 7);
}

/* -- What happens. */

TEST(what_is_discarded_is_closed_for_the_reason_given)
{
    struct desk d = desk_of(3, 3);
    desk_fill(&d);
    d.ready[2] = d.ready[0] = false;
    dsql_keeper_discard(&d.k, 2, DSQL_DISCARD_BROKEN);
    dsql_keeper_discard(&d.k, 0, DSQL_DISCARD_EXPIRED_ON_RETURN);
    (void)desk_turn(&d);
    const struct dsql_keeper_step *close = desk_find(&d, DSQL_KEEPER_CLOSE);
    assert_int_equal(close[0].slot, 2);
    assert_int_equal(close[0].discard, DSQL_DISCARD_BROKEN);
    assert_int_equal(close[1].slot, 0);
    assert_int_equal(close[1].discard, DSQL_DISCARD_EXPIRED_ON_RETURN);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 2); /* and replaced */
    desk_fini(&d);
}

TEST(draining_closes_what_is_ready_and_cuts_what_is_coming)
{
    struct desk d = desk_of(6, 6);
    d.permits = 4;
    desk_fill(&d);
    d.permits = 2;
    (void)desk_turn(&d);
    d.ready[0] = false; /* in use */
    dsql_keeper_drain(&d.k);
    struct dsql_keeper_step sleep = desk_turn(&d);
    assert_int_equal(desk_count_closes(&d, DSQL_DISCARD_DRAIN), 3);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_CUT), 2);
    assert_int_equal(desk_find(&d, DSQL_KEEPER_CUT)->why, DSQL_WHY_DRAIN);
    assert_int_equal(desk_count(&d, DSQL_KEEPER_OPEN), 0);
    assert_int_equal(sleep.why, DSQL_WHY_DRAIN);
    assert_int_equal(sleep.count, 0);
    assert_int_equal(d.k.refill.rounds, 0); /* that is no failure */
    assert_int_equal(dsql_slots_held(&d.k.slots), 1);
    dsql_keeper_discard(&d.k, 0, DSQL_DISCARD_DRAIN);
    (void)desk_turn_after(&d, DSQL_S);
    assert_int_equal(dsql_slots_held(&d.k.slots), 0);
    desk_fini(&d);
}

TEST(every_step_and_reason_has_a_name)
{
    for (unsigned i = 0; i <= DSQL_KEEPER_SLEEP; i++)
        assert_true(dsql_keeper_do_name((enum dsql_keeper_do)i)[0] != '\0');
    for (unsigned i = DSQL_WHY_NONE + 1; i < DSQL_KEEPER_WHYS; i++)
        assert_true(dsql_keeper_why_text((enum dsql_keeper_why)i)[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_target_is_opened_and_no_more),
        cmocka_unit_test(each_caller_that_waits_gets_one_up_to_max_open),
        cmocka_unit_test(the_next_caller_that_waits_gets_one_too),
        cmocka_unit_test(who_waits_does_not_wait_for_a_tick),
        cmocka_unit_test(slots_are_claimed_for_what_is_needed),
        cmocka_unit_test(no_more_are_opened_than_slots_are_granted),
        cmocka_unit_test(too_few_slots_are_reported_after_a_while_and_again),
        cmocka_unit_test(what_is_over_the_slots_is_closed),
        cmocka_unit_test(nothing_is_opened_before_the_start_delay_is_over),
        cmocka_unit_test(connects_at_once_follow_rate_and_handshake),
        cmocka_unit_test(no_more_connects_at_once_than_the_limit),
        cmocka_unit_test(the_handshake_is_smoothed),
        cmocka_unit_test(a_connect_that_takes_too_long_is_cut_and_is_a_failure),
        cmocka_unit_test(each_open_uses_a_permit),
        cmocka_unit_test(no_permit_for_too_long_is_reported_once_and_backs_off),
        cmocka_unit_test(patience_for_a_permit_begins_when_it_is_asked_for),
        cmocka_unit_test(what_a_failure_means_for_others),
        cmocka_unit_test(after_a_failure_one_at_a_time_until_one_succeeds),
        cmocka_unit_test(without_a_token_nothing_is_opened_and_no_permit_is_used),
        cmocka_unit_test(the_warmup_opens_one_after_the_other_then_ticks_come),
        cmocka_unit_test(a_warmup_that_fails_waits_longer_each_time_and_gives_up),
        cmocka_unit_test(waits_of_the_warmup_are_spread_from_half_to_one_and_a_half),
        cmocka_unit_test(one_of_the_warmup_that_never_comes_is_left_out),
        cmocka_unit_test(a_warmup_that_is_hopeless_ends_at_once),
        cmocka_unit_test(a_successor_is_opened_first_where_there_is_room),
        cmocka_unit_test(an_aging_one_makes_room_when_a_permit_is_there),
        cmocka_unit_test(a_permit_in_hand_does_not_open_beyond_what_is_granted),
        cmocka_unit_test(no_permit_is_asked_for_when_every_aging_one_is_in_use),
        cmocka_unit_test(a_permit_in_hand_is_used_soon_or_not_at_all),
        cmocka_unit_test(what_the_scan_finds_too_old_is_closed),
        cmocka_unit_test(one_that_is_in_use_at_its_end_is_looked_at_again),
        cmocka_unit_test(the_hand_out_rule),
        cmocka_unit_test(near_is_a_minute_ahead_of_each_turn),
        cmocka_unit_test(a_checkout_that_does_not_say_waits_as_configured),
        cmocka_unit_test(what_is_discarded_is_closed_for_the_reason_given),
        cmocka_unit_test(draining_closes_what_is_ready_and_cuts_what_is_coming),
        cmocka_unit_test(every_step_and_reason_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

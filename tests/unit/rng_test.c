#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"

#include "support/test.h"

TEST(the_same_seed_gives_the_same_numbers)
{
    /* The first outputs of SplitMix64 for seed 1234567, as its authors publish them. */
    static const uint64_t expected[] = {UINT64_C(6457827717110365317),
                                        UINT64_C(3203168211198807973),
                                        UINT64_C(9817491932198370423)};
    struct dsql_rng rng = dsql_rng_seeded(1234567);
    for (size_t i = 0; i < DSQL_COUNT_OF(expected); i++)
        assert_true(dsql_rng_next(&rng) == expected[i]);
}

TEST(splits_are_independent_and_repeatable)
{
    struct dsql_rng a = dsql_rng_seeded(1), b = dsql_rng_seeded(1);
    struct dsql_rng child_a = dsql_rng_split(&a), child_b = dsql_rng_split(&b);
    (void)dsql_rng_next(&a); /* drawing from the parent changes nothing in the child */
    int same_as_parent = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t draw = dsql_rng_next(&child_a);
        assert_true(draw == dsql_rng_next(&child_b));
        same_as_parent += draw == dsql_rng_next(&a);
    }
    assert_int_equal(same_as_parent, 0);
}

/* An even gamma would halve the period; equal ones would make streams that are shifts of each
 * other. */
TEST(splits_have_gammas_of_their_own)
{
    enum { CHILDREN = 200 };
    struct dsql_rng parent = dsql_rng_seeded(3);
    uint64_t gammas[CHILDREN];
    for (size_t i = 0; i < CHILDREN; i++) {
        struct dsql_rng child = dsql_rng_split(&parent);
        gammas[i] = child.gamma;
        assert_true(child.gamma & 1);
        assert_true(__builtin_popcountll(child.gamma ^ (child.gamma >> 1)) >= 24);
        assert_true(child.gamma != parent.gamma);
        for (size_t k = 0; k < i; k++)
            assert_true(gammas[k] != gammas[i]);
    }
}

TEST(below_is_even)
{
    enum { BINS = 10, DRAWS = 100000 };
    struct dsql_rng rng = dsql_rng_seeded(7);
    int bins[BINS] = {0};
    for (int i = 0; i < DRAWS; i++)
        bins[dsql_rng_below(&rng, BINS)]++;
    double chi = 0;
    for (int i = 0; i < BINS; i++) {
        double off = bins[i] - (double)DRAWS / BINS;
        chi += off * off / ((double)DRAWS / BINS);
    }
    assert_true(chi < 27.9); /* 9 degrees of freedom, 0.1 % */
    for (int i = 0; i < 1000; i++)
        assert_true(dsql_rng_below(&rng, 1) == 0);
}

TEST(ranges_hold)
{
    struct dsql_rng rng = dsql_rng_seeded(8);
    bool low = false, high = false;
    double lowest = 1, highest = 0;
    for (int i = 0; i < 10000; i++) {
        int64_t draw = dsql_rng_between(&rng, -2, 2);
        assert_true(draw >= -2 && draw <= 2);
        low |= draw == -2;
        high |= draw == 2;
        double unit = dsql_rng_unit(&rng);
        assert_true(unit >= 0 && unit < 1);
        lowest = unit < lowest ? unit : lowest;
        highest = unit > highest ? unit : highest;
    }
    assert_true(low && high);
    assert_true(lowest < 0.01 && highest > 0.99);
    (void)dsql_rng_between(&rng, INT64_MIN, INT64_MAX);
    assert_int_equal(dsql_rng_between(&rng, 5, 5), 5);
}

static uint64_t always_arg(struct dsql_rng *self)
{
    return *(const uint64_t *)self->arg;
}

TEST(a_test_may_make_up_its_own)
{
    uint64_t highest = UINT64_MAX;
    struct dsql_rng rng = {.next = always_arg, .arg = &highest};
    assert_true(dsql_rng_below(&rng, 6) == 5);
}

/* Hands out the numbers of a list, then fails. */
struct list {
    const uint64_t *numbers;
    size_t left;
};

static uint64_t next_of_list(struct dsql_rng *self)
{
    struct list *list = self->arg;
    assert_true(list->left > 0);
    list->left--;
    return *list->numbers++;
}

/* 2^64 is 1 more than a multiple of 3: the one number whose product has a low half of 0 is one too
 * many for the result 0. */
TEST(unfair_draws_are_drawn_again)
{
    static const uint64_t numbers[] = {0, 0, UINT64_C(0xaaaaaaaaaaaaaaab), 1};
    struct list list = {numbers, DSQL_COUNT_OF(numbers)};
    struct dsql_rng rng = {.next = next_of_list, .arg = &list};
    assert_true(dsql_rng_below(&rng, 3) == 2);
    assert_int_equal(list.left, 1); /* two refused, one taken */
    assert_true(dsql_rng_below(&rng, 3) == 0);
    assert_int_equal(list.left, 0);
}

TEST(the_kernel_gives_different_seeds)
{
    struct dsql_rng a = dsql_rng_from_os(), b = dsql_rng_from_os();
    assert_true(dsql_rng_next(&a) != dsql_rng_next(&b));
    unsigned char bytes[64] = {0};
    dsql_random_bytes(bytes, sizeof(bytes));
    int zeros = 0;
    for (size_t i = 0; i < sizeof(bytes); i++)
        zeros += bytes[i] == 0;
    assert_true(zeros < 16);
}

/* Also in a child that has all the memory of its parent. */
TEST(a_copy_draws_other_nonces)
{
    int fds[2];
    uint64_t theirs = 0;
    assert_int_equal(pipe(fds), 0);
    pid_t child = fork();
    if (child == 0) {
        theirs = dsql_nonce();
        _exit(write(fds[1], &theirs, sizeof(theirs)) == sizeof(theirs) ? 0 : 1);
    }
    uint64_t ours = dsql_nonce(), again = dsql_nonce();
    assert_true(child > 0 && read(fds[0], &theirs, sizeof(theirs)) == sizeof(theirs));
    assert_true(ours != theirs && ours != again && again != theirs);
    int status = -1;
    assert_true(waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_seed_gives_the_same_numbers),
        cmocka_unit_test(splits_are_independent_and_repeatable),
        cmocka_unit_test(splits_have_gammas_of_their_own),
        cmocka_unit_test(below_is_even),
        cmocka_unit_test(unfair_draws_are_drawn_again),
        cmocka_unit_test(ranges_hold),
        cmocka_unit_test(a_test_may_make_up_its_own),
        cmocka_unit_test(the_kernel_gives_different_seeds),
        cmocka_unit_test(a_copy_draws_other_nonces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

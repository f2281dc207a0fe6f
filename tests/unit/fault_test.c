#include "local/fault/fault.h"

#include "base/time.h"
#include "support/test.h"

static enum dsql_rc set(struct dsql_faults *faults, const char *list, struct dsql_err *err)
{
    struct dsql_fault_order order;
    return dsql_faults_set(faults, dsql_span_of(list), &order, err);
}

/* Whether a CHANCE is in force. */
static bool is_in_force(const struct dsql_faults *faults, enum dsql_fault fault)
{
    return faults->of[fault].chance > 0 || faults->of[fault].times > 0;
}

TEST(values_are_read)
{
    struct dsql_faults faults;
    struct dsql_fault_order order;
    struct dsql_err err;
    dsql_faults_init(&faults);
    assert_int_equal(
        dsql_faults_set(&faults,
                        DSQL_SPAN("connect-latency=20ms, conflict=25%,,close-commit=3x deny=0.5 "
                                  "drop=50% stall=2s"),
                        &order, &err),
        DSQL_OK);
    assert_int_equal(dsql_faults_ns(&faults, DSQL_FAULT_CONNECT_LATENCY), 20 * DSQL_MS);
    assert_int_equal(dsql_faults_ns(&faults, DSQL_FAULT_MESSAGE_LATENCY), 0);
    assert_true(faults.of[DSQL_FAULT_CONFLICT].chance == 0.25);
    assert_true(faults.of[DSQL_FAULT_DENY].chance == 0.5);
    assert_int_equal(faults.of[DSQL_FAULT_CLOSE_COMMIT].times, 3);
    assert_true(order.drop == 0.5 && order.stall && order.stall_ns == 2 * DSQL_S);
    assert_false(is_in_force(&faults, DSQL_FAULT_EXPIRE));
    assert_true(is_in_force(&faults, DSQL_FAULT_CLOSE_COMMIT));

    assert_int_equal(dsql_faults_end(&faults, DSQL_SPAN("conflict connect-latency"), &err),
                     DSQL_OK);
    assert_int_equal(dsql_faults_ns(&faults, DSQL_FAULT_CONNECT_LATENCY), 0);
    assert_false(is_in_force(&faults, DSQL_FAULT_CONFLICT));
    assert_true(is_in_force(&faults, DSQL_FAULT_DENY));
    dsql_faults_clear(&faults);
    assert_false(is_in_force(&faults, DSQL_FAULT_DENY));
}

/* What can't be read changes nothing, not even what stands before it. */
TEST(all_or_nothing)
{
    static const struct {
        const char *list, *message;
    } rows[] = {
        {"deny=1 x=1", "there is no fault x"},
        {"deny=1 conflit=1", "there is no fault conflit; did you mean conflict?"},
        {"deny=1 conflict", "conflict needs a value: conflict=..."},
        {"deny=1 conflict=", "conflict=: it takes a chance such as 0.1 or 10%, or 3x for the next "
                             "three times"},
        {"deny=1 conflict=1.1", "conflict=1.1: it takes a chance such as 0.1 or 10%, or 3x for the "
                                "next three times"},
        {"deny=1 conflict=101%", "conflict=101%: it takes a chance such as 0.1 or 10%, or 3x for "
                                 "the next three times"},
        {"deny=1 conflict=0x", "conflict=0x: it takes a chance such as 0.1 or 10%, or 3x for the "
                               "next three times"},
        {"deny=1 drop=3x", "drop=3x: it takes a part such as 50% or 0.5"},
        {"deny=1 stall=50%", "stall=50%: it takes a duration up to 1h, such as 20ms"},
        {"deny=1 message-latency=2h",
         "message-latency=2h: it takes a duration up to 1h, such as 20ms"},
        {"deny=1 message-latency=-1ms",
         "message-latency=-1ms: it takes a duration up to 1h, such as 20ms"},
        {"deny=1 seed=x", "seed=x: it takes a number from 0"},
        {"deny=1 seed=-1", "seed=-1: it takes a number from 0"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        struct dsql_faults faults;
        struct dsql_err err;
        dsql_faults_init(&faults);
        assert_int_equal(set(&faults, rows[i].list, &err), DSQL_INVALID);
        assert_string_equal(err.message, rows[i].message);
        assert_false(is_in_force(&faults, DSQL_FAULT_DENY));
    }
    struct dsql_faults faults;
    struct dsql_err err;
    dsql_faults_init(&faults);
    assert_int_equal(set(&faults, "deny=1", &err), DSQL_OK);
    assert_int_equal(dsql_faults_end(&faults, DSQL_SPAN("deny now"), &err), DSQL_INVALID);
    assert_string_equal(err.message, "there is no fault now");
    assert_true(is_in_force(&faults, DSQL_FAULT_DENY));
}

TEST(never_always_and_so_many_times)
{
    struct dsql_faults faults;
    struct dsql_err err;
    dsql_faults_init(&faults);
    assert_int_equal(set(&faults, "deny=1 expire=0 throttle=2x", &err), DSQL_OK);
    for (int i = 0; i < 100; i++) {
        assert_true(dsql_faults_strike(&faults, DSQL_FAULT_DENY));
        assert_false(dsql_faults_strike(&faults, DSQL_FAULT_EXPIRE));
        assert_false(dsql_faults_strike(&faults, DSQL_FAULT_FULL));
        assert_int_equal(dsql_faults_strike(&faults, DSQL_FAULT_THROTTLE), i < 2);
    }
    assert_int_equal(faults.of[DSQL_FAULT_DENY].struck, 100);
    assert_int_equal(faults.of[DSQL_FAULT_THROTTLE].struck, 2);
    STRBUF(list, 256);
    dsql_faults_list(&faults, &list);
    assert_string_equal(list_memory, "throttle=0% struck=2\ndeny=100% struck=100\n");
}

/* The strikes of a seed, as a string of 0 and 1. */
static void draw(struct dsql_faults *faults, enum dsql_fault fault, char *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = dsql_faults_strike(faults, fault) ? '1' : '0';
    out[count] = '\0';
}

TEST(a_seed_strikes_the_same_again_whatever_else_is_in_force)
{
    char first[201], again[201], other[201];
    struct dsql_faults faults;
    struct dsql_err err;
    dsql_faults_init(&faults);
    assert_int_equal(set(&faults, "seed=7 conflict=0.3", &err), DSQL_OK);
    draw(&faults, DSQL_FAULT_CONFLICT, first, 200);
    assert_int_equal(set(&faults, "deny=0.5 seed=7", &err), DSQL_OK);
    for (int i = 0; i < 50; i++)
        (void)dsql_faults_strike(&faults, DSQL_FAULT_DENY);
    draw(&faults, DSQL_FAULT_CONFLICT, again, 200);
    assert_string_equal(first, again);
    assert_int_equal(set(&faults, "seed=8", &err), DSQL_OK);
    draw(&faults, DSQL_FAULT_CONFLICT, other, 200);
    assert_string_not_equal(first, other);
    size_t struck = 0;
    for (size_t i = 0; i < 200; i++)
        struck += first[i] == '1';
    assert_in_range(struck, 30, 90); /* of this seed, which does not change */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(never_always_and_so_many_times),
        cmocka_unit_test(a_seed_strikes_the_same_again_whatever_else_is_in_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

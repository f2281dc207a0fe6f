#include "sim/kernel.h"

#include "support/test.h"

enum { NOTES_MAX = 16 };

struct noter {
    struct dsql_sim_event event;
    int name, again;
    struct notes *notes;
};

struct notes {
    int names[NOTES_MAX];
    int64_t times[NOTES_MAX];
    size_t len;
};

static void note(struct dsql_sim_kernel *kernel, void *arg)
{
    struct noter *noter = arg;
    assert_true(noter->notes->len < NOTES_MAX);
    noter->notes->names[noter->notes->len] = noter->name;
    noter->notes->times[noter->notes->len++] = kernel->now.ns;
    if (noter->again-- > 0)
        dsql_sim_after(kernel, &noter->event, 10);
}

TEST(events_happen_in_order_of_time_then_of_asking)
{
    struct dsql_sim_kernel kernel;
    struct notes notes = {0};
    struct noter a = {.name = 'a', .again = 2, .notes = &notes}, b = {.name = 'b', .notes = &notes},
                 c = {.name = 'c', .notes = &notes}, d = {.name = 'd', .notes = &notes};
    struct noter *all[] = {&a, &b, &c, &d};
    dsql_sim_kernel_init(&kernel, 1);
    for (size_t i = 0; i < DSQL_COUNT_OF(all); i++)
        dsql_sim_event_init(&all[i]->event, note, all[i]);
    dsql_sim_at(&kernel, &b.event, (struct dsql_mono){20});
    dsql_sim_at(&kernel, &a.event, (struct dsql_mono){20});
    dsql_sim_at(&kernel, &c.event, (struct dsql_mono){5});
    dsql_sim_at(&kernel, &d.event, (struct dsql_mono){1});
    dsql_sim_cancel(&kernel, &d.event);
    dsql_sim_cancel(&kernel, &d.event); /* twice is fine */
    dsql_sim_at(&kernel, &c.event, (struct dsql_mono){30});
    dsql_sim_run(&kernel, (struct dsql_mono){35});
    assert_int_equal(kernel.now.ns, 35);
    dsql_sim_at(&kernel, &d.event, (struct dsql_mono){7}); /* the past is now */
    dsql_sim_run(&kernel, (struct dsql_mono){100});
    static const struct {
        int name;
        int64_t at;
    } wanted[] = {{'b', 20}, {'a', 20}, {'c', 30}, {'a', 30}, {'d', 35}, {'a', 40}};
    assert_int_equal(notes.len, DSQL_COUNT_OF(wanted));
    for (size_t i = 0; i < notes.len; i++) {
        assert_int_equal(notes.names[i], wanted[i].name);
        assert_int_equal(notes.times[i], wanted[i].at);
    }
    assert_int_equal(kernel.happened, notes.len);
    assert_int_equal(kernel.now.ns, 100);
    dsql_sim_kernel_fini(&kernel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_happen_in_order_of_time_then_of_asking)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Arrays that grow, and lists of linked items. Arrays without memory are in the fault tests of
 * those who use them. */
#include "base/grow.h"

#include <stdlib.h>

#include "base/link.h"
#include "support/test.h"

static void makes_room_and_keeps_what_is_there(void **state)
{
    (void)state;
    int *items = NULL;
    size_t room = 0;
    for (size_t need = 1; need < 1000; need++) {
        assert_true(DSQL_GROW(items, room, need));
        assert_true(room >= need);
        items[need - 1] = (int)need;
    }
    for (int i = 0; i < 999; i++)
        assert_int_equal(items[i], i + 1);
    size_t before = room;
    assert_true(DSQL_GROW(items, room, before));
    assert_int_equal(room, before);
    assert_true(DSQL_GROW(items, room, before + 1));
    assert_int_equal(room, 2 * before);
    assert_true(DSQL_GROW(items, room, 9 * before));
    assert_int_equal(room, 9 * before);
    free(items);
}

struct item {
    struct item *next, *prev;
};

static size_t length(const struct item *first)
{
    size_t count = 0;
    for (const struct item *at = first; at; at = at->next, count++)
        assert_true(at->next == NULL || at->next->prev == at);
    return count;
}

static void items_leave_from_every_place(void **state)
{
    (void)state;
    for (size_t gone = 0; gone < 3; gone++) {
        struct item items[3], *first = NULL;
        for (size_t i = 0; i < 3; i++)
            DSQL_LINK(first, &items[i]);
        assert_ptr_equal(first, &items[2]);
        assert_int_equal(length(first), 3);
        DSQL_UNLINK(first, &items[gone]);
        assert_int_equal(length(first), 2);
        for (const struct item *at = first; at; at = at->next)
            assert_ptr_not_equal(at, &items[gone]);
        assert_null(first->prev);
        DSQL_LINK(first, &items[gone]);
        assert_int_equal(length(first), 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(makes_room_and_keeps_what_is_there),
        cmocka_unit_test(items_leave_from_every_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

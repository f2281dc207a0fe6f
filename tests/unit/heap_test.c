#include "base/heap.h"

#include "support/test.h"

struct item {
    struct dsql_heap_node node;
    int key;
};

static bool by_key(const struct dsql_heap_node *a, const struct dsql_heap_node *b)
{
    return DSQL_CONTAINER_OF(a, const struct item, node)->key <
           DSQL_CONTAINER_OF(b, const struct item, node)->key;
}

static int pop_key(struct dsql_heap *heap)
{
    struct dsql_heap_node *node = dsql_heap_peek(heap);
    assert_non_null(node);
    dsql_heap_remove(heap, node);
    assert_false(dsql_heap_node_is_in(node));
    return DSQL_CONTAINER_OF(node, struct item, node)->key;
}

TEST(pops_in_order_removes_and_updates)
{
    struct item items[] = {{.key = 5}, {.key = 1}, {.key = 4}, {.key = 2}, {.key = 3}};
    struct dsql_heap heap;
    dsql_heap_init(&heap, by_key);
    assert_null(dsql_heap_peek(&heap));
    for (size_t i = 0; i < DSQL_COUNT_OF(items); i++)
        assert_int_equal(dsql_heap_push(&heap, &items[i].node), DSQL_OK);
    assert_true(dsql_heap_node_is_in(&items[0].node));
    dsql_heap_remove(&heap, &items[2].node); /* 4 */
    items[0].key = 0;                        /* was 5 */
    dsql_heap_update(&heap, &items[0].node);
    items[1].key = 9; /* was 1 */
    dsql_heap_update(&heap, &items[1].node);
    assert_int_equal(pop_key(&heap), 0);
    assert_int_equal(pop_key(&heap), 2);
    assert_int_equal(pop_key(&heap), 3);
    assert_int_equal(pop_key(&heap), 9);
    assert_null(dsql_heap_peek(&heap));
    dsql_heap_fini(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pops_in_order_removes_and_updates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

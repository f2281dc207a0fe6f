/* The heap against a plain list, under any sequence of operations. */
#include "base/heap.h"
#include "support/prop.h"
#include "support/test.h"

enum { ITEMS = 64 };

struct item {
    struct dsql_heap_node node;
    uint64_t key;
    bool in;
};

static bool by_key(const struct dsql_heap_node *a, const struct dsql_heap_node *b)
{
    return DSQL_CONTAINER_OF(a, const struct item, node)->key <
           DSQL_CONTAINER_OF(b, const struct item, node)->key;
}

static const struct item *smallest(const struct item *items)
{
    const struct item *best = NULL;
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].in && (!best || items[i].key < best->key))
            best = &items[i];
    return best;
}

/* H1 and H2 of heap.h. */
static bool keeps_invariants(const struct dsql_heap *heap)
{
    for (size_t i = 0; i < heap->len; i++)
        if (heap->items[i]->at != i + 1 ||
            (i > 0 && by_key(heap->items[i], heap->items[(i - 1) / 2])))
            return false;
    return true;
}

static void step(struct prop *p, struct dsql_heap *heap, struct item *item)
{
    uint64_t what = prop_below(p, 4);
    if (what == 0 && !item->in) {
        item->key = prop_below(p, 20);
        item->in = dsql_heap_push(heap, &item->node) == DSQL_OK;
    } else if (what == 1 && item->in) {
        dsql_heap_remove(heap, &item->node);
        item->in = false;
    } else if (what == 2 && item->in) {
        item->key = prop_below(p, 20);
        dsql_heap_update(heap, &item->node);
    } else if (what == 3) {
        struct dsql_heap_node *node = dsql_heap_peek(heap);
        if (node) {
            dsql_heap_remove(heap, node);
            DSQL_CONTAINER_OF(node, struct item, node)->in = false;
        }
    }
}

static bool behaves_like_a_list(struct prop *p)
{
    struct item items[ITEMS] = {0};
    struct dsql_heap heap;
    dsql_heap_init(&heap, by_key);
    bool ok = true;
    uint64_t steps = prop_below(p, 300);
    for (uint64_t i = 0; i < steps && ok; i++) {
        step(p, &heap, &items[prop_below(p, ITEMS)]);
        const struct item *expected = smallest(items);
        const struct dsql_heap_node *first = dsql_heap_peek(&heap);
        ok = prop_that(p, (first == NULL) == (expected == NULL), "step %llu: empty or not",
                       (unsigned long long)i) &&
             prop_that(p,
                       !first || !expected ||
                           DSQL_CONTAINER_OF(first, const struct item, node)->key == expected->key,
                       "step %llu: not the smallest", (unsigned long long)i) &&
             prop_that(p, keeps_invariants(&heap), "step %llu: H1 or H2", (unsigned long long)i);
    }
    dsql_heap_fini(&heap);
    return ok;
}

TEST(against_a_list)
{
    prop_run("heap behaves like a list", behaves_like_a_list, 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_a_list)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

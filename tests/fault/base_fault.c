/* The Nth allocation fails, for every N, while each object of base and metrics is made and unmade.
 */
#include "base/heap.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "metrics/metrics.h"
#include "support/alloc_fault.h"
#include "support/test.h"

static bool use_secret(void)
{
    struct dsql_secret secret = {0};
    bool ok = dsql_secret_set(&secret, DSQL_SPAN("first")) == DSQL_OK;
    if (ok && dsql_secret_set(&secret, DSQL_SPAN("second")) != DSQL_OK) {
        ok = false;
        assert_string_equal(dsql_secret_reveal(&secret).ptr, "first"); /* the old value stays */
    }
    dsql_secret_fini(&secret);
    return ok;
}

static bool use_strbuf(void)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init_heap(&sb, 4096);
    for (int i = 0; i < 300; i++)
        dsql_strbuf_addf(&sb, "%d,", i);
    bool ok = !sb.cut;
    char *text = dsql_strbuf_take(&sb);
    assert_int_equal(text != NULL, ok);
    free(text);
    text = dsql_strbuf_take(&sb); /* of nothing */
    ok = ok && text;
    free(text);
    dsql_strbuf_fini(&sb);
    return ok;
}

static bool never_less(const struct dsql_heap_node *a, const struct dsql_heap_node *b)
{
    (void)a, (void)b;
    return false;
}

static bool use_heap(void)
{
    struct dsql_heap_node nodes[100] = {0};
    struct dsql_heap heap;
    dsql_heap_init(&heap, never_less);
    size_t pushed = 0;
    while (pushed < DSQL_COUNT_OF(nodes) && dsql_heap_push(&heap, &nodes[pushed]) == DSQL_OK)
        pushed++;
    if (pushed < DSQL_COUNT_OF(nodes))
        assert_false(dsql_heap_node_is_in(&nodes[pushed]));
    assert_int_equal(heap.len, pushed);
    bool ok = pushed == DSQL_COUNT_OF(nodes) && dsql_heap_reserve(&heap, 1000) == DSQL_OK;
    dsql_heap_fini(&heap);
    return ok;
}

static unsigned full, memory;

static void count_reasons(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level;
    struct dsql_span text = {line, len};
    assert_non_null(memmem(text.ptr, text.len, "event=metrics.label_overflow", 28));
    full += memmem(text.ptr, text.len, " reason=full ", 13) != NULL;
    memory += memmem(text.ptr, text.len, " reason=memory ", 15) != NULL;
}

static bool use_metrics(void)
{
    struct dsql_metrics *metrics = NULL;
    char *text = NULL;
    size_t len;
    if (dsql_metrics_new("service", &metrics) != DSQL_OK) {
        assert_null(metrics);
        return false;
    }
    unsigned op = dsql_metrics_operation(metrics, "Update");
    dsql_counter_add(metrics, DSQL_SERIES(tx_conflicts, .operation = op), 1);
    bool ok = dsql_metrics_text(metrics, &text, &len) == DSQL_OK && op != DSQL_OPERATION_OTHER;
    free(text);
    dsql_metrics_destroy(metrics);
    return ok;
}

TEST(every_object_survives)
{
    dsql_log_set_sink(count_reasons, NULL);
    assert_int_equal(alloc_fault_run("secret", use_secret, false), 3);
    assert_true(alloc_fault_run("strbuf", use_strbuf, false) > 3);
    assert_true(alloc_fault_run("heap", use_heap, false) > 3);
    assert_true(alloc_fault_run("metrics", use_metrics, false) > 5);
    assert_int_equal(memory, 1); /* the one run in which the operation's block failed */
    assert_int_equal(full, 0);
    dsql_log_set_sink(NULL, NULL);
}

/* Long, and with different bytes at both ends: all of it has to go. */
#define PASSWORD "correct horse battery staple, IQoJb3JpZ2luX2VjEJr//////////wEaCXVzLWVhc3QtMSJ"
static int wiped;

static void look(const void *block)
{
    char zeros[sizeof(PASSWORD) - 1] = {0};
    wiped += memcmp(block, zeros, sizeof(zeros)) == 0;
}

TEST(a_freed_secret_is_wiped)
{
    struct dsql_secret secret = {0};
    assert_int_equal(dsql_secret_set(&secret, DSQL_SPAN(PASSWORD)), DSQL_OK);
    alloc_fault_before_free = look;
    dsql_secret_fini(&secret);
    alloc_fault_before_free = NULL;
    assert_int_equal(wiped, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_object_survives),
        cmocka_unit_test(a_freed_secret_is_wiped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

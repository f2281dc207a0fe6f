/* One thread samples, as `dsql up` does, while others show the pages: TSan finds nothing, and every
 * answer is whole. */
#include <jansson.h>
#include <pthread.h>

#include "cli/status.h"
#include "support/test.h"

enum { READERS = 3, ROUNDS = 300 };

static struct dsql_metrics *metrics;
static struct dsql_status *status;
static _Atomic int64_t checkouts;

static void look(void *arg, struct dsql_status_view *view)
{
    (void)arg;
    *view = (struct dsql_status_view){
        .pool = {.max_open = 9, .target = 9, .checkouts = (uint64_t)atomic_load(&checkouts)}};
}

static void *read_pages(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct dsql_httpd_reply reply = {.status = 200};
        dsql_strbuf_init_heap(&reply.body, DSQL_HTTPD_BODY_MAX);
        dsql_page_status_json(status, &reply);
        json_t *root = json_loadb(reply.body.ptr, reply.body.len, 0, NULL);
        assert_non_null(root);
        const json_t *history = json_object_get(root, "history");
        /* All columns are of one moment. */
        assert_int_equal(json_array_size(json_object_get(history, "ready")),
                         json_array_size(json_object_get(history, "p99_ns")));
        json_decref(root);
        dsql_strbuf_clear(&reply.body);
        dsql_page_status_html(status, &reply);
        assert_false(reply.body.cut);
        dsql_strbuf_fini(&reply.body);
    }
    return NULL;
}

TEST(sampling_and_showing_do_not_meet)
{
    pthread_t readers[READERS];
    assert_int_equal(dsql_metrics_new("threads", &metrics), DSQL_OK);
    assert_int_equal(dsql_status_new(&(struct dsql_status_options){.title = "t",
                                                                   .endpoint = "e",
                                                                   .user = "u",
                                                                   .metrics = metrics,
                                                                   .look = look,
                                                                   .clock = &dsql_clock_system},
                                     &status),
                     DSQL_OK);
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_pages, NULL), 0);
    uint64_t seen = 0;
    for (int i = 0; i < ROUNDS; i++) {
        atomic_fetch_add(&checkouts, 3);
        dsql_histogram_record(metrics, DSQL_SERIES(reservoir_checkout_latency), (uint64_t)i);
        seen += dsql_status_sample(status).checkouts;
    }
    for (size_t i = 0; i < READERS; i++)
        assert_int_equal(pthread_join(readers[i], NULL), 0);
    assert_int_equal(seen, 3 * ROUNDS);
    dsql_status_destroy(status);
    dsql_metrics_destroy(metrics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sampling_and_showing_do_not_meet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

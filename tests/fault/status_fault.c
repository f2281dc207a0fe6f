/* The Nth allocation fails while the status is made, sampled and shown, and while HTTP is set up.
 */
#include "cli/pages.h"
#include "cli/status.h"
#include "support/alloc_fault.h"
#include "support/test.h"

static struct dsql_metrics *metrics;

static void look(void *arg, struct dsql_status_view *view)
{
    (void)arg;
    *view = (struct dsql_status_view){.pool = {.max_open = 50, .target = 50, .ready = 50}};
}

/* A page whose memory ran out is cut: the endpoint answers 500 then. */
static bool show(dsql_httpd_page_fn *page, void *arg)
{
    struct dsql_httpd_reply reply = {.status = 200};
    dsql_strbuf_init_heap(&reply.body, DSQL_HTTPD_BODY_MAX);
    page(arg, &reply);
    bool whole = reply.status == 200 && !reply.body.cut;
    dsql_strbuf_fini(&reply.body);
    return whole;
}

static bool show_everything(void)
{
    const struct dsql_status_options options = {.title = "t",
                                                .endpoint = "e",
                                                .user = "u",
                                                .metrics = metrics,
                                                .look = look,
                                                .clock = &dsql_clock_system};
    struct dsql_status *status = NULL;
    if (dsql_status_new(&options, &status))
        return false;
    (void)dsql_status_sample(status);
    bool ok = show(dsql_page_status_html, status);
    ok = show(dsql_page_status_json, status) && ok;
    ok = show(dsql_page_metrics, metrics) && ok;
    dsql_status_destroy(status);
    return ok;
}

static bool serve(void)
{
    static const struct dsql_httpd_page pages[] = {{"/healthz", dsql_page_healthz, NULL}};
    struct dsql_httpd *httpd = NULL;
    struct dsql_err err;
    const struct dsql_httpd_options options = {
        .address = "127.0.0.1:0", .pages = pages, .page_count = DSQL_COUNT_OF(pages)};
    enum dsql_rc rc = dsql_httpd_start(&options, &httpd, &err);
    if (rc)
        assert_int_equal(rc, DSQL_NO_MEMORY);
    dsql_httpd_stop(httpd);
    return rc == DSQL_OK;
}

TEST(status_and_pages_survive)
{
    assert_int_equal(dsql_metrics_new("fault", &metrics), DSQL_OK);
    assert_true(alloc_fault_run("status", show_everything, false) > 4);
    dsql_metrics_destroy(metrics);
}

TEST(the_endpoint_survives)
{
    assert_true(alloc_fault_run("httpd", serve, false) > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(status_and_pages_survive),
                                       cmocka_unit_test(the_endpoint_survives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

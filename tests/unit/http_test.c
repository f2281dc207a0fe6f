/* HTTP within limits, against a server that answers well and badly. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "aws/http.h"
#include "support/http_server.h"
#include "support/test.h"

/* What the server does is the first word of the path. */
static void answer(void *arg, const struct http_asked *asked, struct http_told *told)
{
    (void)arg;
    struct dsql_span what = dsql_span_from(asked->target, 1);
    if (dsql_span_eq(what, DSQL_SPAN("echo"))) {
        dsql_strbuf_add(&told->body, asked->method);
        dsql_strbuf_add_char(&told->body, '|');
        dsql_strbuf_add(&told->body, http_asked_header(asked, "x-mark"));
        dsql_strbuf_add_char(&told->body, '|');
        dsql_strbuf_add(&told->body, asked->body);
        dsql_strbuf_add_char(&told->body, '|');
        dsql_strbuf_add(&told->body, http_asked_header(asked, "expect"));
        dsql_strbuf_add(&told->body, http_asked_header(asked, "content-type"));
    } else if (dsql_span_eq(what, DSQL_SPAN("missing"))) {
        told->status = 404;
    } else if (dsql_span_eq(what, DSQL_SPAN("moved"))) {
        told->raw = "HTTP/1.1 302 Found\r\nLocation: /echo\r\nContent-Length: 0\r\n\r\n";
    } else if (dsql_span_eq(what, DSQL_SPAN("slow"))) {
        told->stall = true;
    } else if (dsql_span_eq(what, DSQL_SPAN("huge"))) {
        told->padding = 10000000;
    } else if (dsql_span_eq(what, DSQL_SPAN("garbage"))) {
        told->raw = "220 mail.example ESMTP\r\n";
    } else if (dsql_span_eq(what, DSQL_SPAN("short"))) {
        told->raw = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc";
    } else if (dsql_span_eq(what, DSQL_SPAN("keep"))) {
        told->keep = true;
    } else if (dsql_span_eq(what, DSQL_SPAN("host"))) {
        dsql_strbuf_add(&told->body, http_asked_header(asked, "host"));
    } else {
        told->status = 0; /* hangs up */
    }
}

static struct http_server server;
static struct dsql_http *http;

static int start(void **state)
{
    (void)state;
    http_server_start(&server, answer, NULL);
    return dsql_http_new(&http, NULL) == DSQL_OK ? 0 : -1;
}

static int stop(void **state)
{
    (void)state;
    dsql_http_destroy(http);
    http_server_stop(&server);
    return 0;
}

static enum dsql_rc ask(const char *path, int64_t timeout_ns, struct dsql_strbuf *body, int *status,
                        struct dsql_err *err)
{
    STRBUF(url, 200);
    dsql_strbuf_add_str(&url, server.url);
    dsql_strbuf_add_str(&url, path);
    const struct dsql_http_request request = {
        .method = "GET",
        .url = url.ptr,
        .timeout_ns = timeout_ns,
        .direct = true,
        .cancel_fd = -1,
    };
    struct dsql_http_response response = {.status = -1};
    enum dsql_rc rc = dsql_http_send(http, &request, body, &response, err);
    *status = response.status;
    return rc;
}

TEST(answers_are_told_apart)
{
    static const struct {
        const char *path;
        enum dsql_rc rc;
        int status;
        int64_t timeout_ns;
    } cases[] = {
        {"/echo", DSQL_OK, 200, 10 * DSQL_M},
        {"/missing", DSQL_OK, 404, 10 * DSQL_M},
        {"/moved", DSQL_OK, 302, 10 * DSQL_M}, /* and not what /echo says */
        {"/slow", DSQL_TIMEOUT, -1, 50 * DSQL_MS},
        {"/huge", DSQL_LIMIT, -1, 10 * DSQL_M},
        {"/garbage", DSQL_PROTOCOL, -1, 10 * DSQL_M},
        {"/short", DSQL_LOST, -1, 10 * DSQL_M},
        {"/hangup", DSQL_LOST, -1, 10 * DSQL_M},
        {"/echo", DSQL_OK, 200, 10 * DSQL_M}, /* it is none the worse for all that */
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        STRBUF(body, 4096);
        struct dsql_err err = {0};
        int status;
        enum dsql_rc rc = ask(cases[i].path, cases[i].timeout_ns, &body, &status, &err);
        if (rc != cases[i].rc || status != cases[i].status)
            fail_msg("%s: %s, status %d: %s", cases[i].path, dsql_rc_name(rc), status, err.message);
        if (rc)
            assert_non_null(strstr(err.message, "127.0.0.1"));
    }
}

TEST(a_request_arrives_as_it_was_given)
{
    static const struct {
        const char *method, *body, *wanted;
    } cases[] = {
        {"GET", "", "GET|here||"},
        {"PUT", "", "PUT|here||"},
        {"POST", "a=b", "POST|here|a=b|"},
        {"POST", "", "POST|here||"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        STRBUF(url, 200);
        STRBUF(body, 4096);
        dsql_strbuf_addf(&url, "%s/echo", server.url);
        const struct dsql_sigv4_header header = {DSQL_SPAN("X-Mark"), DSQL_SPAN("here")};
        const struct dsql_http_request request = {
            .method = cases[i].method,
            .url = url.ptr,
            .headers = &header,
            .header_count = 1,
            .body = dsql_span_of(cases[i].body),
            .timeout_ns = 10 * DSQL_M,
            .direct = true,
            .cancel_fd = -1,
        };
        struct dsql_http_response response;
        assert_int_equal(dsql_http_send(http, &request, &body, &response, NULL), DSQL_OK);
        assert_string_equal(body.ptr, cases[i].wanted);
        assert_int_equal(response.date.ns, INT64_C(1794823200) * DSQL_S);
    }
}

TEST(what_cannot_be_asked_is_refused)
{
    STRBUF(body, 100);
    struct dsql_http_response response;
    struct dsql_err err;
    const struct dsql_sigv4_header split = {DSQL_SPAN("X-Mark"), DSQL_SPAN("a\r\nX-Evil: b")};
    struct dsql_http_request request = {
        .method = "GET", .url = "file:///etc/passwd", .timeout_ns = DSQL_S, .cancel_fd = -1};
    assert_int_equal(dsql_http_send(http, &request, &body, &response, &err), DSQL_INVALID);
    request.url = server.url;
    request.headers = &split;
    request.header_count = 1;
    assert_int_equal(dsql_http_send(http, &request, &body, &response, &err), DSQL_INVALID);
    assert_null(strstr(err.message, "Evil"));
}

TEST(nobody_there_is_lost)
{
    struct http_server gone;
    STRBUF(body, 100);
    struct dsql_http_response response;
    http_server_start(&gone, answer, NULL);
    http_server_stop(&gone);
    const struct dsql_http_request request = {.method = "GET",
                                              .url = gone.url,
                                              .timeout_ns = 10 * DSQL_M,
                                              .direct = true,
                                              .cancel_fd = -1};
    assert_int_equal(dsql_http_send(http, &request, &body, &response, NULL), DSQL_LOST);
}

static void *cancel(void *arg)
{
    const int *fd = arg;
    (void)usleep(20000); /* so that it is usually under way; either way it must end */
    (void)eventfd_write(*fd, 1);
    return NULL;
}

TEST(a_request_can_be_cancelled)
{
    STRBUF(url, 200);
    STRBUF(body, 100);
    struct dsql_http_response response;
    pthread_t thread;
    int fd = eventfd(0, EFD_CLOEXEC);
    dsql_strbuf_addf(&url, "%s/slow", server.url);
    const struct dsql_http_request request = {
        .method = "GET", .url = url.ptr, .timeout_ns = DSQL_H, .direct = true, .cancel_fd = fd};
    assert_int_equal(pthread_create(&thread, NULL, cancel, &fd), 0);
    assert_int_equal(dsql_http_send(http, &request, &body, &response, NULL), DSQL_CANCELLED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    (void)close(fd);
}

static enum dsql_rc post(const char *path, struct dsql_err *err)
{
    STRBUF(url, 200);
    STRBUF(body, 100);
    struct dsql_http_response response;
    dsql_strbuf_addf(&url, "%s%s", server.url, path);
    const struct dsql_http_request request = {
        .method = "POST",
        .url = url.ptr,
        .body = DSQL_SPAN("{\"n\": 1}"),
        .timeout_ns = 10 * DSQL_M,
        .direct = true,
        .cancel_fd = -1,
    };
    return dsql_http_send(http, &request, &body, &response, err);
}

/* libcurl sends a request again by itself when a connection that it used before ends without an
 * answer: but the server may have carried out the first. */
TEST(a_post_is_sent_once)
{
    for (int i = 0; i < 100; i++) {
        struct dsql_err err = {0};
        unsigned before = atomic_load(&server.served);
        assert_int_equal(post("/keep", &err), DSQL_OK);
        assert_int_equal(atomic_load(&server.served), before + 1);
        assert_int_equal(post("/hangup", &err), DSQL_LOST); /* reads it whole, and closes */
        assert_non_null(strstr(err.message, "127.0.0.1"));
        assert_int_equal(atomic_load(&server.served), before + 2);
    }
}

/* What may be done twice is tried again on another connection. */
TEST(a_get_outlives_its_connection)
{
    STRBUF(body, 100);
    int status;
    unsigned before = atomic_load(&server.served);
    assert_int_equal(ask("/keep", 10 * DSQL_M, &body, &status, NULL), DSQL_OK);
    assert_int_equal(ask("/hangup", 10 * DSQL_M, &body, &status, NULL), DSQL_LOST);
    assert_true(atomic_load(&server.served) > before + 2);
}

/* What was signed is what is sent, also where libcurl would have written it in another way. */
TEST(the_host_is_sent_as_given)
{
    static const char *const hosts[] = {"table.test", "table.test:443", "Table.Test:80"};
    for (size_t i = 0; i < DSQL_COUNT_OF(hosts); i++) {
        STRBUF(url, 200);
        STRBUF(body, 100);
        struct dsql_http_response response;
        const struct dsql_sigv4_header header = {DSQL_SPAN("Host"), dsql_span_of(hosts[i])};
        dsql_strbuf_addf(&url, "%s/host", server.url);
        const struct dsql_http_request request = {.method = "GET",
                                                  .url = url.ptr,
                                                  .headers = &header,
                                                  .header_count = 1,
                                                  .timeout_ns = 10 * DSQL_M,
                                                  .direct = true,
                                                  .cancel_fd = -1};
        assert_int_equal(dsql_http_send(http, &request, &body, &response, NULL), DSQL_OK);
        assert_string_equal(body.ptr, hosts[i]);
    }
}

TEST(urls_are_taken_apart)
{
    static const struct {
        const char *text;
        bool ok, tls;
        const char *authority, *host, *path, *query;
    } cases[] = {
        {"https://sts.us-east-1.amazonaws.com", true, true, "sts.us-east-1.amazonaws.com",
         "sts.us-east-1.amazonaws.com", "/", ""},
        {"http://127.0.0.1:8000/a/b?c=d#e", true, false, "127.0.0.1:8000", "127.0.0.1", "/a/b",
         "c=d"},
        {"http://[fd00:ec2::254]:81/x", true, false, "[fd00:ec2::254]:81", "fd00:ec2::254", "/x",
         ""},
        /* The scheme's own port is not in the Host header. */
        {"http://[fd00:ec2::254]:80/x", true, false, "[fd00:ec2::254]", "fd00:ec2::254", "/x", ""},
        {"https://h:443/", true, true, "h", "h", "/", ""},
        {"https://h:0443", true, true, "h", "h", "/", ""},
        {"http://h:80?q", true, false, "h", "h", "/", "q"},
        {"https://h:80/", true, true, "h:80", "h", "/", ""},
        {"http://h:443/", true, false, "h:443", "h", "/", ""},
        {"http://[::1]", true, false, "[::1]", "::1", "/", ""},
        {"http://h?q", true, false, "h", "h", "/", "q"},
        {"ftp://h/", false, false, "", "", "", ""},
        {"http://", false, false, "", "", "", ""},
        {"http:///x", false, false, "", "", "", ""},
        {"http://user@h/", false, false, "", "", "", ""},
        {"http://h:0/", false, false, "", "", "", ""},
        {"http://h:65536/", false, false, "", "", "", ""},
        {"http://h:x/", false, false, "", "", "", ""},
        {"http://[::1", false, false, "", "", "", ""},
        {"http://[::1]x", false, false, "", "", "", ""},
        {"http://h/a b", false, false, "", "", "", ""},
        {"http://h/a\nb", false, false, "", "", "", ""},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_url url;
        if (dsql_url_parse(dsql_span_of(cases[i].text), &url) != cases[i].ok)
            fail_msg("%s", cases[i].text);
        if (!cases[i].ok)
            continue;
        assert_int_equal(url.tls, cases[i].tls);
        assert_true(dsql_span_eq(url.authority, dsql_span_of(cases[i].authority)));
        assert_true(dsql_span_eq(url.host, dsql_span_of(cases[i].host)));
        assert_true(dsql_span_eq(url.path, dsql_span_of(cases[i].path)));
        assert_true(dsql_span_eq(url.query, dsql_span_of(cases[i].query)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_told_apart),
        cmocka_unit_test(a_request_arrives_as_it_was_given),
        cmocka_unit_test(what_cannot_be_asked_is_refused),
        cmocka_unit_test(nobody_there_is_lost),
        cmocka_unit_test(a_request_can_be_cancelled),
        cmocka_unit_test(a_post_is_sent_once),
        cmocka_unit_test(a_get_outlives_its_connection),
        cmocka_unit_test(the_host_is_sent_as_given),
        cmocka_unit_test(urls_are_taken_apart),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

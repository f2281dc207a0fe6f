/* The endpoint as a client meets it: libcurl for what is well formed, a bare socket for the rest.
 */
#include "cli/httpd.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/pages.h"
#include "support/test.h"

enum { ANSWER_MAX = 64 << 10, PATIENCE_S = 600 };

static struct dsql_metrics *metrics;
static struct dsql_httpd *httpd;
static bool ready;

static bool is_ready(void *arg, struct dsql_strbuf *why)
{
    (void)arg;
    dsql_strbuf_add_str(why, "still filling");
    return ready;
}

static struct dsql_readiness readiness = {is_ready, NULL};

static void show_nonce(void *arg, struct dsql_httpd_reply *reply)
{
    (void)arg;
    reply->type = "text/html; charset=utf-8";
    dsql_strbuf_addf(&reply->body, "<script nonce=%s></script>", reply->nonce);
}

static void too_much(void *arg, struct dsql_httpd_reply *reply)
{
    (void)arg;
    reply->body.cut = true; /* as when memory ran out */
}

/* Named in the settings, beside what is always answered. */
static const char hosts[] = "metrics.example.internal, Temporal-History";

static struct dsql_httpd_page pages[] = {
    {"/", show_nonce, NULL},
    {"/metrics", dsql_page_metrics, NULL},
    {"/healthz", dsql_page_healthz, NULL},
    {"/readyz", dsql_page_readyz, &readiness},
    {"/much", too_much, NULL},
};

static enum dsql_rc start(const char *address, bool next_free, struct dsql_httpd **out,
                          struct dsql_err *err)
{
    return dsql_httpd_start(&(struct dsql_httpd_options){.address = address,
                                                         .hosts = hosts,
                                                         .next_free = next_free,
                                                         .pages = pages,
                                                         .page_count = DSQL_COUNT_OF(pages)},
                            out, err);
}

static int set_up(void **state)
{
    (void)state;
    struct dsql_err err;
    if (dsql_metrics_new("watched", &metrics) != DSQL_OK)
        return -1;
    pages[1].arg = metrics;
    ready = true;
    return start("127.0.0.1:0", false, &httpd, &err) == DSQL_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    dsql_httpd_stop(httpd);
    dsql_metrics_destroy(metrics);
    return 0;
}

struct answer {
    long status;
    char head[4096], body[ANSWER_MAX];
    size_t head_len, body_len;
};

static size_t keep(char *to, size_t cap, size_t *len, const char *data, size_t n)
{
    assert_true(*len + n < cap);
    memcpy(to + *len, data, n);
    *len += n;
    to[*len] = '\0';
    return n;
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct answer *answer = arg;
    return keep(answer->body, sizeof(answer->body), &answer->body_len, data, size * n);
}

static size_t on_head(char *data, size_t size, size_t n, void *arg)
{
    struct answer *answer = arg;
    return keep(answer->head, sizeof(answer->head), &answer->head_len, data, size * n);
}

/* Asks for a path with a method; body is what to send, or NULL. */
static CURLcode try_to_ask(const char *method, const char *path, const char *body,
                           struct answer *answer)
{
    char url[8192];
    *answer = (struct answer){0};
    CURL *curl = curl_easy_init();
    assert_non_null(curl);
    (void)snprintf(url, sizeof(url), "%s%s", dsql_httpd_url(httpd), path + 1);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)PATIENCE_S);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_head);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, answer);
    if (body)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->status);
    curl_easy_cleanup(curl);
    return code;
}

static void ask(const char *method, const char *path, const char *body, struct answer *answer)
{
    CURLcode code = try_to_ask(method, path, body, answer);
    if (code != CURLE_OK)
        fail_msg("%s %.100s: %s", method, path, curl_easy_strerror(code));
}

static void assert_holds(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is missing in: %.500s", part, text);
}

TEST(paths_and_methods)
{
    static const struct {
        const char *method, *path, *body;
        long status;
        const char *says; /* in the body */
    } cases[] = {
        {"GET", "/healthz", NULL, 200, "ok\n"},
        {"GET", "/healthz?verbose=1", NULL, 200, "ok\n"},
        {"GET", "/readyz", NULL, 200, "ready\n"},
        {"GET", "/metrics", NULL, 200, "dsql_reservoir_size{service=\"watched\"} 0\n"},
        {"GET", "/", NULL, 200, "<script"},
        {"HEAD", "/metrics", NULL, 200, ""},
        {"GET", "/nothing", NULL, 404, "/healthz"},
        {"GET", "/healthz/", NULL, 404, "/healthz"},
        {"GET", "/../etc/passwd", NULL, 404, "/healthz"},
        {"HEAD", "/nothing", NULL, 404, ""},
        {"POST", "/healthz", "x=1", 405, "only GET and HEAD"},
        {"DELETE", "/metrics", NULL, 405, "only GET and HEAD"},
        {"PUT", "/", "x", 405, "only GET and HEAD"},
        {"OPTIONS", "/", NULL, 405, "only GET and HEAD"},
        {"GET", "/healthz", "a body", 413, "no body here"},
        {"GET", "/much", NULL, 500, "too large"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct answer answer;
        ask(cases[i].method, cases[i].path, cases[i].body, &answer);
        if (answer.status != cases[i].status)
            fail_msg("%s %s: %ld", cases[i].method, cases[i].path, answer.status);
        assert_holds(answer.body, cases[i].says);
        assert_holds(answer.head, "X-Content-Type-Options: nosniff");
        assert_holds(answer.head, "Cache-Control: no-store");
        if (answer.status == 405)
            assert_holds(answer.head, "Allow: GET, HEAD");
        if (strcmp(cases[i].method, "HEAD") == 0)
            assert_int_equal(answer.body_len, 0);
    }
}

TEST(content_types)
{
    struct answer answer;
    ask("GET", "/metrics", NULL, &answer);
    assert_holds(answer.head, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
    ask("GET", "/", NULL, &answer);
    assert_holds(answer.head, "Content-Type: text/html; charset=utf-8\r\n");
}

TEST(scripts_need_the_nonce_of_their_answer)
{
    struct answer first, second;
    ask("GET", "/", NULL, &first);
    ask("GET", "/", NULL, &second);
    char nonce[DSQL_HTTPD_NONCE_LEN + 1] = "", policy[128];
    assert_int_equal(sscanf(first.body, "<script nonce=%32[0-9a-f]>", nonce), 1);
    assert_int_equal(strlen(nonce), DSQL_HTTPD_NONCE_LEN);
    (void)snprintf(policy, sizeof(policy), "script-src 'nonce-%s'", nonce);
    assert_holds(first.head, policy);
    assert_holds(first.head, "default-src 'none'");
    assert_null(strstr(second.body, nonce));
}

TEST(not_ready_is_503_and_says_why)
{
    struct answer answer;
    ready = false;
    ask("GET", "/readyz", NULL, &answer);
    assert_int_equal(answer.status, 503);
    assert_string_equal(answer.body, "not ready: still filling\n");
}

static int dial(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)dsql_httpd_port(httpd)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0 && connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0);
    return fd;
}

/* Sends bytes and reads until the endpoint closes or, if it keeps the connection, has said
 * something. */
static void say(const char *bytes, size_t len, char *heard, size_t cap)
{
    int fd = dial();
    size_t sent = 0, got = 0;
    while (sent < len) {
        ssize_t n = send(fd, bytes + sent, len - sent, MSG_NOSIGNAL);
        if (n <= 0)
            break; /* it may refuse before it has read everything */
        sent += (size_t)n;
    }
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    while (got + 1 < cap && poll(&readable, 1, PATIENCE_S * 1000) == 1) {
        ssize_t n = recv(fd, heard + got, cap - 1 - got, 0);
        if (n <= 0)
            break;
        got += (size_t)n;
        heard[got] = '\0';
        if (strstr(heard, "\r\n\r\n") && !strstr(heard, "Connection: close"))
            break;
    }
    heard[got] = '\0';
    close(fd);
}

TEST(what_is_no_request_harms_nobody)
{
    static char large[DSQL_HTTPD_REQUEST_MAX * 2];
    char heard[4096];
    struct answer answer;
    memset(large, 'a', sizeof(large));
    memcpy(large, "GET /", 5);
    say(large, sizeof(large), heard, sizeof(heard));
    assert_null(strstr(heard, " 200 "));
    memcpy(large, "GET / HTTP/1.1\r\nX: ", 19);
    say(large, sizeof(large), heard, sizeof(heard));
    assert_null(strstr(heard, " 200 "));
    say("\xff\xff\xff\xff\r\n\r\n", 8, heard, sizeof(heard));
    assert_null(strstr(heard, " 200 "));
    say("GET /healthz HTTP/1.0\r\n\r\n", 25, heard, sizeof(heard));
    assert_holds(heard, " 200 ");
    ask("GET", "/healthz", NULL, &answer);
    assert_int_equal(answer.status, 200);
}

/* A page on a name of its own that it pointed at this machine reads nothing. */
TEST(only_names_of_its_own_are_answered)
{
    static const struct {
        const char *headers;
        const char *status;
    } cases[] = {
        {"Host: 127.0.0.1:9464", " 200 "},
        {"Host: 127.0.0.1", " 200 "},
        {"host: localhost:80", " 200 "},
        {"Host: LOCALHOST", " 200 "},
        {"Host: localhost.:9464", " 200 "},
        {"Host: [::1]:9464", " 200 "},
        {"Host: [fd00::1]", " 200 "},
        {"Host: 10.1.2.3:9464", " 200 "},
        {"Host: metrics.example.internal:9464", " 200 "},
        {"Host: METRICS.example.internal.", " 200 "},
        {"Host: temporal-history:9464", " 200 "},
        {"Host: evil.example", " 421 "},
        {"Host: evil.example:9464", " 421 "},
        {"Host: localhost.evil.example", " 421 "},
        {"Host: 127.0.0.1.evil.example", " 421 "},
        {"Host: 127.0.0.1.evil.example:9464", " 421 "},
        {"Host: evil.localhost", " 421 "},
        {"Host: 127.1", " 421 "},
        {"Host: 0x7f000001", " 421 "},
        {"Host: 2130706433", " 421 "},
        {"Host: ::1", " 421 "},
        {"Host: [evil.example]:9464", " 421 "},
        {"Host: [::1", " 200 "},
        {"Host: metrics.example", " 421 "},
        {"Host: example.internal", " 421 "},
        {"Host: metrics.example.internal, Temporal-History", " 421 "},
        {"Host: ,", " 421 "},
        {"Host: :9464", " 421 "},
        {"Host: *", " 421 "},
        {"Host: <script>alert(1)</script>", " 421 "},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        char request[512], heard[4096];
        for (size_t page = 0; page < DSQL_COUNT_OF(pages) - 1; page++) { /* the last is a 500 */
            int len = snprintf(request, sizeof(request),
                               "GET %s HTTP/1.1\r\n%s\r\nConnection: close\r\n\r\n",
                               pages[page].path, cases[i].headers);
            say(request, (size_t)len, heard, sizeof(heard));
            if (strncmp(heard + strlen("HTTP/1.1"), cases[i].status, 5) != 0)
                fail_msg("%s, %s: %.200s", cases[i].headers, pages[page].path, heard);
        }
    }
}

TEST(what_is_refused_says_why)
{
    char heard[4096];
    const char request[] = "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n"
                           "Connection: close\r\n\r\n";
    say(request, sizeof(request) - 1, heard, sizeof(heard));
    assert_holds(heard, "'evil.example' is no name of this endpoint");
    assert_holds(heard, "DSQL_METRICS_HOSTS");
    assert_null(strstr(heard, "dsql_reservoir_size"));
    const char twice[] = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n"
                         "Connection: close\r\n\r\n";
    say(twice, sizeof(twice) - 1, heard, sizeof(heard));
    assert_null(strstr(heard, " 200 "));
}

/* More clients than it takes, all silent: when they have gone it serves again, as soon as it has
 * noticed. */
TEST(silent_clients_are_bounded)
{
    int fds[DSQL_HTTPD_CONNECTIONS_MAX * 2];
    struct answer answer = {0};
    for (size_t i = 0; i < DSQL_COUNT_OF(fds); i++)
        fds[i] = dial();
    for (size_t i = 0; i < DSQL_COUNT_OF(fds); i++)
        close(fds[i]);
    for (int i = 0; i < PATIENCE_S * 10 && answer.status != 200; i++) {
        if (try_to_ask("GET", "/healthz", NULL, &answer) != CURLE_OK)
            (void)poll(NULL, 0, 100);
    }
    assert_int_equal(answer.status, 200);
}

TEST(a_taken_port_is_said_or_left_for_the_next)
{
    char address[64];
    struct dsql_err err = {0};
    struct dsql_httpd *second = NULL;
    (void)snprintf(address, sizeof(address), "127.0.0.1:%u", dsql_httpd_port(httpd));
    assert_int_equal(start(address, false, &second, &err), DSQL_IO);
    assert_holds(err.message, address);
    assert_holds(err.hint, "another program listens there");
    assert_null(second);
    assert_int_equal(start(address, true, &second, &err), DSQL_OK);
    assert_true(dsql_httpd_has_moved(second));
    assert_int_not_equal(dsql_httpd_port(second), dsql_httpd_port(httpd));
    dsql_httpd_stop(second);
    assert_false(dsql_httpd_has_moved(httpd));
}

TEST(addresses)
{
    static const struct {
        const char *address;
        enum dsql_rc rc;
        const char *url; /* how it begins */
    } cases[] = {
        {"127.0.0.1:0", DSQL_OK, "http://127.0.0.1:"},
        {"localhost:0", DSQL_OK, "http://localhost:"},
        {"0.0.0.0:0", DSQL_OK, "http://127.0.0.1:"},
        {"127.0.0.1", DSQL_INVALID, ""},
        {":9464", DSQL_INVALID, ""},
        {"127.0.0.1:", DSQL_INVALID, ""},
        {"127.0.0.1:65536", DSQL_INVALID, ""},
        {"127.0.0.1:-1", DSQL_INVALID, ""},
        {"127.0.0.1:x", DSQL_INVALID, ""},
        {"192.0.2.1:0", DSQL_IO, ""}, /* nobody's machine */
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_err err = {0};
        struct dsql_httpd *made = NULL;
        enum dsql_rc rc = start(cases[i].address, false, &made, &err);
        if (rc != cases[i].rc)
            fail_msg("%s: %s", cases[i].address, err.message);
        assert_int_equal(dsql_httpd_is_address(cases[i].address), rc != DSQL_INVALID);
        if (rc == DSQL_OK)
            assert_holds(dsql_httpd_url(made), cases[i].url);
        dsql_httpd_stop(made);
    }
}

int main(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(paths_and_methods, set_up, tear_down),
        cmocka_unit_test_setup_teardown(content_types, set_up, tear_down),
        cmocka_unit_test_setup_teardown(scripts_need_the_nonce_of_their_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_ready_is_503_and_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_request_harms_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_names_of_its_own_are_answered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_refused_says_why, set_up, tear_down),
        cmocka_unit_test_setup_teardown(silent_clients_are_bounded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_taken_port_is_said_or_left_for_the_next, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(addresses, set_up, tear_down),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    curl_global_cleanup();
    return failed;
}

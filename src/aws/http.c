#include "aws/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/shown.h"

struct dsql_http {
    CURLM *multi;
    CURL *easy;
};

/* What one request collects. */
struct transfer {
    struct dsql_strbuf *body;
    struct dsql_wall date;
    bool once;   /* the request may not be sent a second time */
    bool begun;  /* libcurl has begun to send the request, or is about to */
    bool broken; /* libcurl would have sent the request a second time */
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;
static CURLcode curl_started = CURLE_FAILED_INIT;

static void start_curl(void)
{
    curl_started = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static enum dsql_rc no_memory(struct dsql_err *err)
{
    return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
}

enum dsql_rc dsql_http_new(struct dsql_http **http, struct dsql_err *err)
{
    (void)pthread_once(&curl_once, start_curl);
    if (curl_started != CURLE_OK)
        return dsql_err_set(err, DSQL_IO, "libcurl does not start: %s",
                            curl_easy_strerror(curl_started));
    struct dsql_http *made = calloc(1, sizeof(*made));
    if (!made)
        return no_memory(err);
    made->multi = curl_multi_init();
    made->easy = curl_easy_init();
    if (!made->multi || !made->easy) {
        dsql_http_destroy(made);
        return no_memory(err);
    }
    *http = made;
    return DSQL_OK;
}

void dsql_http_destroy(struct dsql_http *http)
{
    if (!http)
        return;
    curl_easy_cleanup(http->easy);
    if (http->multi)
        (void)curl_multi_cleanup(http->multi);
    free(http);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct transfer *transfer = arg;
    size_t len = size * count;
    dsql_strbuf_add(transfer->body, (struct dsql_span){bytes, len});
    return transfer->body->cut ? 0 : len; /* anything but len ends the transfer */
}

static size_t take_header(char *bytes, size_t size, size_t count, void *arg)
{
    struct transfer *transfer = arg;
    struct dsql_span line = {bytes, size * count}, name, value;
    if (dsql_span_cut(line, ':', &name, &value) && dsql_span_eq_nocase(name, DSQL_SPAN("date"))) {
        char text[64]; /* longer is no date */
        value = dsql_span_trim(value);
        if (value.len < sizeof(text)) {
            memcpy(text, value.ptr, value.len);
            text[value.len] = '\0';
            time_t seconds = curl_getdate(text, NULL);
            transfer->date.ns = seconds > 0 && seconds < INT64_MAX / DSQL_S ? seconds * DSQL_S : 0;
        }
    }
    return size * count;
}

/* libcurl calls this before it sends a request. It calls it again when it means to repeat one whose
 * connection, used before, ended without an answer; the server may have carried out the first. */
static int before_sending(void *arg, char *peer, char *local, int peer_port, int local_port)
{
    struct transfer *transfer = arg;
    (void)peer;
    (void)local;
    (void)peer_port;
    (void)local_port;
    transfer->broken = transfer->once && transfer->begun;
    transfer->begun = true;
    return transfer->broken ? CURL_PREREQFUNC_ABORT : CURL_PREREQFUNC_OK;
}

static bool has_line_end(struct dsql_span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] == '\r' || s.ptr[i] == '\n' || s.ptr[i] == '\0')
            return true;
    return false;
}

/* libcurl keeps copies of the headers; they may hold tokens. */
static void free_headers(struct curl_slist *list)
{
    for (struct curl_slist *node = list; node; node = node->next)
        explicit_bzero(node->data, strlen(node->data));
    curl_slist_free_all(list);
}

static bool add_line(struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = curl_slist_append(*list, line);
    if (longer)
        *list = longer;
    return longer != NULL;
}

static enum dsql_rc make_headers(const struct dsql_http_request *request, struct curl_slist **list,
                                 struct dsql_err *err)
{
    char line[20 * 1024]; /* a session token may be long */
    enum dsql_rc rc = DSQL_OK;
    assert(request->header_count <= DSQL_HTTP_HEADERS_MAX);
    /* Not what libcurl would add by itself: a second round trip, and a type the body does not have.
     */
    if (!add_line(list, "Expect:") || !add_line(list, "Content-Type:"))
        rc = no_memory(err);
    for (size_t i = 0; i < request->header_count && !rc; i++) {
        const struct dsql_sigv4_header *header = &request->headers[i];
        struct dsql_strbuf sb;
        dsql_strbuf_init(&sb, line, sizeof(line));
        dsql_strbuf_add(&sb, header->name);
        dsql_strbuf_add_str(&sb, ": ");
        dsql_strbuf_add(&sb, header->value);
        if (has_line_end(header->name) || has_line_end(header->value))
            rc = dsql_err_set(err, DSQL_INVALID, "the value of the header %s has a line end in it",
                              dsql_shown(header->name).text);
        else if (sb.cut)
            rc = dsql_err_set(err, DSQL_LIMIT, "the header %s is too long",
                              dsql_shown(header->name).text);
        else if (!add_line(list, line))
            rc = no_memory(err);
    }
    explicit_bzero(line, sizeof(line));
    return rc;
}

static long to_ms(int64_t ns)
{
    int64_t ms = (ns + DSQL_MS - 1) / DSQL_MS;
    return ms < 1 ? 1 : (long)ms;
}

static bool set_options(CURL *easy, const struct dsql_http_request *request,
                        struct transfer *transfer, struct curl_slist *headers)
{
    const CURLcode set[] = {
        curl_easy_setopt(easy, CURLOPT_URL, request->url),
        curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https"),
        curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1),
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L),
        curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L),
        curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, to_ms(request->timeout_ns)),
        curl_easy_setopt(
            easy, CURLOPT_CONNECTTIMEOUT_MS,
            to_ms(request->connect_timeout_ns ? request->connect_timeout_ns : request->timeout_ns)),
        request->direct ? curl_easy_setopt(easy, CURLOPT_NOPROXY, "*") : CURLE_OK,
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers),
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body),
        curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer),
        curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header),
        curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer),
        curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_sending),
        curl_easy_setopt(easy, CURLOPT_PREREQDATA, transfer),
        /* A method of our own with a body is a POST to libcurl, and one without is a GET. */
        request->body.len || strcmp(request->method, "POST") == 0
            ? curl_easy_setopt(easy, CURLOPT_POST, 1L)
            : CURLE_OK,
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len),
        request->body.len || strcmp(request->method, "POST") == 0
            ? curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.len ? request->body.ptr : "")
            : curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L),
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method),
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(set); i++)
        if (set[i] != CURLE_OK)
            return false;
    return true;
}

/* Runs the transfer until it has an outcome or cancel_fd says to stop. */
static enum dsql_rc run(struct dsql_http *http, const struct dsql_http_request *request,
                        CURLcode *outcome, struct dsql_err *err)
{
    struct curl_waitfd cancel = {.fd = request->cancel_fd, .events = CURL_WAIT_POLLIN};
    unsigned extra = request->cancel_fd >= 0 ? 1 : 0;
    for (;;) {
        int running;
        if (curl_multi_perform(http->multi, &running) != CURLM_OK)
            return no_memory(err);
        if (!running)
            break;
        if (curl_multi_poll(http->multi, &cancel, extra, 1000, NULL) != CURLM_OK)
            return no_memory(err);
        if (extra && cancel.revents)
            return dsql_err_set(err, DSQL_CANCELLED, "stopped while waiting for an answer");
    }
    int left;
    const CURLMsg *message = curl_multi_info_read(http->multi, &left);
    assert(message && message->msg == CURLMSG_DONE);
    *outcome = message->data.result;
    return DSQL_OK;
}

/* OpenSSL writes to sockets without MSG_NOSIGNAL: a peer that hangs up must not end the program. */
static bool hold_sigpipe(sigset_t *before)
{
    sigset_t pending, pipe_only;
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_only, before);
    return sigismember(&pending, SIGPIPE) != 1;
}

static void release_sigpipe(const sigset_t *before, bool take_it)
{
    sigset_t pipe_only;
    (void)sigemptyset(&pipe_only);
    (void)sigaddset(&pipe_only, SIGPIPE);
    while (take_it && sigtimedwait(&pipe_only, NULL, &(struct timespec){0}) < 0 && errno == EINTR) {
    }
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* libcurl's words are not passed on where they may quote the peer's. */
static enum dsql_rc judge(CURLcode code, const struct dsql_http_request *request,
                          struct dsql_span authority, const struct transfer *transfer,
                          struct dsql_err *err)
{
    struct dsql_shown at = dsql_shown(authority);
    if (transfer->body->cut)
        return dsql_err_set(err, DSQL_LIMIT, "the answer of %s is too long or memory ran out",
                            at.text);
    if (transfer->broken)
        return dsql_err_set(err, DSQL_LOST, "%s closed the connection before it answered", at.text);
    switch ((int)code) { /* the enum has a hundred members */
    case CURLE_OK:
        return DSQL_OK;
    case CURLE_OPERATION_TIMEDOUT:
        return dsql_err_set(err, DSQL_TIMEOUT, "%s did not answer within %lld ms", at.text,
                            (long long)(request->timeout_ns / DSQL_MS));
    case CURLE_OUT_OF_MEMORY:
        return no_memory(err);
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return dsql_err_set(err, DSQL_DENIED, "no trusted TLS connection to %s: %s", at.text,
                            curl_easy_strerror(code));
    case CURLE_UNSUPPORTED_PROTOCOL: /* of an answer without a status line */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
        return dsql_err_set(err, DSQL_PROTOCOL, "what %s sent is not HTTP", at.text);
    default:
        return dsql_err_set(err, DSQL_LOST, "no answer from %s: %s", at.text,
                            curl_easy_strerror(code));
    }
}

enum dsql_rc dsql_http_send(struct dsql_http *http, const struct dsql_http_request *request,
                            struct dsql_strbuf *body, struct dsql_http_response *response,
                            struct dsql_err *err)
{
    struct transfer transfer = {.body = body, .once = strcmp(request->method, "POST") == 0};
    struct curl_slist *headers = NULL;
    CURLcode code = CURLE_OK;
    struct dsql_url url;
    assert(request->timeout_ns > 0);
    if (!dsql_url_parse(dsql_span_of(request->url), &url))
        return dsql_err_set(err, DSQL_INVALID, "'%s' is no http:// or https:// URL",
                            dsql_shown_str(request->url).text);
    enum dsql_rc rc = make_headers(request, &headers, err);
    if (!rc) {
        curl_easy_reset(http->easy);
        if (!set_options(http->easy, request, &transfer, headers) ||
            curl_multi_add_handle(http->multi, http->easy) != CURLM_OK) {
            rc = no_memory(err);
        } else {
            sigset_t before;
            bool take_it = hold_sigpipe(&before);
            rc = run(http, request, &code, err);
            (void)curl_multi_remove_handle(http->multi, http->easy);
            release_sigpipe(&before, take_it);
            if (!rc)
                rc = judge(code, request, url.authority, &transfer, err);
        }
    }
    if (!rc) {
        long status = 0;
        (void)curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
        *response = (struct dsql_http_response){.status = (int)status, .date = transfer.date};
    }
    curl_easy_reset(http->easy); /* the handle must not point into what is freed now */
    free_headers(headers);
    return rc;
}

bool dsql_url_parse(struct dsql_span text, struct dsql_url *url)
{
    struct dsql_url parsed = {.tls = dsql_span_starts(text, DSQL_SPAN("https://"))};
    if (!parsed.tls && !dsql_span_starts(text, DSQL_SPAN("http://")))
        return false;
    struct dsql_span rest = dsql_span_from(text, parsed.tls ? 8 : 7);
    size_t end = 0;
    while (end < rest.len && rest.ptr[end] != '/' && rest.ptr[end] != '?' && rest.ptr[end] != '#')
        end++;
    parsed.authority = dsql_span_first(rest, end);
    (void)dsql_span_cut(dsql_span_from(rest, end), '#', &rest, &(struct dsql_span){0});
    (void)dsql_span_cut(rest, '?', &parsed.path, &parsed.query);
    if (parsed.path.len == 0)
        parsed.path = DSQL_SPAN("/");

    struct dsql_span port;
    bool ported;
    if (dsql_span_starts(parsed.authority, DSQL_SPAN("["))) {
        if (!dsql_span_cut(dsql_span_from(parsed.authority, 1), ']', &parsed.host, &port))
            return false;
        ported = port.len > 0;
        if (ported && port.ptr[0] != ':')
            return false;
        port = dsql_span_from(port, ported ? 1 : 0);
    } else {
        ported = dsql_span_cut(parsed.authority, ':', &parsed.host, &port);
    }
    int64_t number = 0;
    if (ported && (!dsql_span_to_i64(port, &number) || number < 1 || number > 65535))
        return false;
    if (ported && number == (parsed.tls ? 443 : 80))
        parsed.authority.len -= port.len + 1;
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
            return false;
    for (size_t i = 0; i < parsed.authority.len; i++)
        if (parsed.authority.ptr[i] == '@')
            return false;
    if (parsed.host.len == 0)
        return false;
    *url = parsed;
    return true;
}

#include "cli/httpd.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/shown.h"
#include "base/thread.h"
#include "cli/http_host.h"

enum { BACKLOG = 64, HOST_TEXT_MAX = 256, PORT_TEXT_MAX = 6 };

struct dsql_httpd {
    struct MHD_Daemon *daemon;
    const struct dsql_httpd_page *pages;
    size_t page_count;
    unsigned asked_port, port;
    char host[HOST_TEXT_MAX]; /* as in the address it was told to listen on */
    const char *hosts;        /* further names it answers to, separated by commas */
    char url[HOST_TEXT_MAX + 32];
};

/* -- Answering. */

static void add_nonce(struct dsql_httpd_reply *reply)
{
    unsigned char bytes[DSQL_HTTPD_NONCE_LEN / 2];
    struct dsql_strbuf sb;
    dsql_random_bytes(bytes, sizeof(bytes));
    dsql_strbuf_init(&sb, reply->nonce, sizeof(reply->nonce));
    for (size_t i = 0; i < sizeof(bytes); i++)
        dsql_strbuf_addf(&sb, "%02x", bytes[i]);
}

static void add_headers(struct MHD_Response *response, const struct dsql_httpd_reply *reply)
{
    char policy[256];
    (void)snprintf(policy, sizeof(policy),
                   "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; "
                   "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                   "frame-ancestors 'none'",
                   reply->nonce, reply->nonce);
    (void)MHD_add_response_header(response, "Content-Type", reply->type);
    (void)MHD_add_response_header(response, "Content-Security-Policy", policy);
    (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    (void)MHD_add_response_header(response, "Cache-Control", "no-store");
    if (reply->status == MHD_HTTP_METHOD_NOT_ALLOWED)
        (void)MHD_add_response_header(response, "Allow", "GET, HEAD");
}

static void refuse(struct dsql_httpd_reply *reply, unsigned status, const char *text)
{
    reply->status = status;
    reply->type = "text/plain; charset=utf-8";
    dsql_strbuf_clear(&reply->body);
    dsql_strbuf_add_str(&reply->body, text);
}

static enum MHD_Result send_reply(struct MHD_Connection *connection, struct dsql_httpd_reply *reply)
{
    if (reply->body.cut)
        refuse(reply, MHD_HTTP_INTERNAL_SERVER_ERROR, "this answer is too large\n");
    size_t len = reply->body.len;
    char *text = dsql_strbuf_take(&reply->body);
    struct MHD_Response *response =
        text ? MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE) : NULL;
    if (!response) { /* no memory: the client sees its connection close */
        free(text);
        return MHD_NO;
    }
    add_headers(response, reply);
    enum MHD_Result queued = MHD_queue_response(connection, reply->status, response);
    MHD_destroy_response(response);
    return queued;
}

static void list_pages(const struct dsql_httpd *httpd, struct dsql_httpd_reply *reply)
{
    refuse(reply, MHD_HTTP_NOT_FOUND, "nothing here; there is\n");
    for (size_t i = 0; i < httpd->page_count; i++)
        dsql_strbuf_addf(&reply->body, "  %s\n", httpd->pages[i].path);
}

static bool has_body(struct MHD_Connection *connection)
{
    const char *length =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return (length && !dsql_span_eq(dsql_span_of(length), DSQL_SPAN("0"))) ||
           MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                       MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/* The Host headers of a request. */
struct asked_for {
    const char *host; /* the first; NULL if there is none */
    size_t count;
};

static enum MHD_Result see_header(void *arg, enum MHD_ValueKind kind, const char *key,
                                  const char *value)
{
    (void)kind;
    struct asked_for *asked = arg;
    if (dsql_span_eq_nocase(dsql_span_of(key), DSQL_SPAN("Host")) && asked->count++ == 0)
        asked->host = value ? value : "";
    return MHD_YES;
}

/* A request without a Host header is no browser's, and is answered. */
static bool is_for_us(const struct dsql_httpd *httpd, const struct asked_for *asked)
{
    return asked->count == 0 ||
           (asked->count == 1 &&
            dsql_httpd_host_allowed(dsql_span_of(asked->host), dsql_span_of(httpd->host),
                                    dsql_span_of(httpd->hosts)));
}

static void misdirected(struct dsql_httpd_reply *reply, const struct asked_for *asked)
{
    refuse(reply, MHD_HTTP_MISDIRECTED_REQUEST, "");
    dsql_strbuf_addf(&reply->body,
                     "'%s' is no name of this endpoint: ask for its numeric address or localhost, "
                     "or add the name to DSQL_METRICS_HOSTS where it runs\n",
                     dsql_shown_str(asked->host).text);
}

static const struct dsql_httpd_page *find_page(const struct dsql_httpd *httpd, const char *path)
{
    for (size_t i = 0; i < httpd->page_count; i++)
        if (dsql_span_eq(dsql_span_of(path), dsql_span_of(httpd->pages[i].path)))
            return &httpd->pages[i];
    return NULL;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *upload,
                                  size_t *upload_len, void **state)
{
    (void)version;
    (void)upload;
    const struct dsql_httpd *httpd = arg;
    static char seen; /* only its address */
    struct dsql_span verb = dsql_span_of(method);
    bool reads = dsql_span_eq(verb, DSQL_SPAN("GET")) || dsql_span_eq(verb, DSQL_SPAN("HEAD"));
    bool proper = reads && !has_body(connection);
    /* The first call has only the headers. What we do not want to read is refused there. */
    if (proper && !*state) {
        *state = &seen;
        return MHD_YES;
    }
    *upload_len = 0;
    struct dsql_httpd_reply reply = {.status = MHD_HTTP_OK, .type = "text/plain; charset=utf-8"};
    dsql_strbuf_init_heap(&reply.body, DSQL_HTTPD_BODY_MAX);
    add_nonce(&reply);
    const struct dsql_httpd_page *page = find_page(httpd, url);
    struct asked_for asked = {0};
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, see_header, &asked);
    if (!reads)
        refuse(&reply, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    else if (!proper)
        refuse(&reply, MHD_HTTP_CONTENT_TOO_LARGE, "a request has no body here\n");
    else if (!is_for_us(httpd, &asked))
        misdirected(&reply, &asked);
    else if (!page)
        list_pages(httpd, &reply);
    else
        page->answer(page->arg, &reply);
    return send_reply(connection, &reply);
}

/* -- Listening. */

/* "host:port" or "[v6]:port" into two terminated texts. */
static bool split_address(const char *address, char *host, unsigned *port)
{
    const char *colon = strrchr(address, ':');
    int64_t number = -1;
    if (!colon || !dsql_span_to_i64(dsql_span_of(colon + 1), &number) || number < 0 ||
        number > UINT16_MAX)
        return false;
    struct dsql_span name = {address, (size_t)(colon - address)};
    if (name.len >= 2 && name.ptr[0] == '[' && name.ptr[name.len - 1] == ']')
        name = (struct dsql_span){name.ptr + 1, name.len - 2};
    if (name.len == 0 || name.len >= HOST_TEXT_MAX)
        return false;
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, host, HOST_TEXT_MAX);
    dsql_strbuf_add(&sb, name);
    *port = (unsigned)number;
    return true;
}

bool dsql_httpd_is_address(const char *address)
{
    char host[HOST_TEXT_MAX];
    unsigned port;
    return split_address(address, host, &port);
}

/* A listening socket, or -1 with errno. */
static int listen_at(const struct addrinfo *where)
{
    int on = 1;
    int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, where->ai_addr, where->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int open_port(const char *host, unsigned port, int *resolved)
{
    char service[PORT_TEXT_MAX];
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    (void)snprintf(service, sizeof(service), "%u", port);
    *resolved = getaddrinfo(host, service, &wanted, &found);
    if (*resolved != 0)
        return -1;
    int fd = -1, why = EADDRNOTAVAIL;
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next) {
        fd = listen_at(at);
        if (fd < 0)
            why = errno;
    }
    freeaddrinfo(found);
    errno = why;
    return fd;
}

static unsigned port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.v6 = {0}};
    socklen_t len = sizeof(address);
    if (getsockname(fd, &address.any, &len) != 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

static enum dsql_rc complain_about(const char *address, int resolved, struct dsql_err *err)
{
    int why = errno;
    const char *shown = resolved ? gai_strerror(resolved) : strerror(why);
    (void)dsql_err_set(err, DSQL_IO, "can't serve HTTP at %s: %s", dsql_shown_str(address).text,
                       shown);
    if (!resolved && why == EADDRINUSE)
        dsql_err_hint(err, "another program listens there; choose another port, or 0 for any");
    else if (!resolved && why == EACCES)
        dsql_err_hint(err, "ports below 1024 need a privilege; choose a higher one");
    else
        dsql_err_hint(err, "use an address of this machine, such as 127.0.0.1:9464");
    return DSQL_IO;
}

static enum dsql_rc open_listener(const struct dsql_httpd_options *options, const char *host,
                                  unsigned port, int *listener, struct dsql_err *err)
{
    int resolved = 0;
    int fd = open_port(host, port, &resolved);
    for (unsigned i = 1; fd < 0 && !resolved && errno == EADDRINUSE && options->next_free &&
                         i <= DSQL_HTTPD_NEXT_PORTS && port + i <= UINT16_MAX;
         i++)
        fd = open_port(host, port + i, &resolved);
    if (fd < 0 && !resolved && errno == EADDRINUSE && options->next_free)
        fd = open_port(host, 0, &resolved);
    if (fd < 0)
        return complain_about(options->address, resolved, err);
    *listener = fd;
    return DSQL_OK;
}

/* What listens everywhere is opened at this machine's own address. */
static void name_url(struct dsql_httpd *httpd, const char *host)
{
    struct dsql_span name = dsql_span_of(host);
    bool v6 = strchr(host, ':') != NULL;
    if (dsql_span_eq(name, DSQL_SPAN("0.0.0.0")))
        host = "127.0.0.1";
    else if (dsql_span_eq(name, DSQL_SPAN("::")))
        host = "::1";
    (void)snprintf(httpd->url, sizeof(httpd->url), v6 ? "http://[%s]:%u/" : "http://%s:%u/", host,
                   httpd->port);
}

/* Signals are for the main thread: one that the endpoint's thread took would be lost. */
static struct MHD_Daemon *start_daemon(struct dsql_httpd *httpd, int listener)
{
    sigset_t before;
    dsql_signals_hold(&before);
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL, on_request,
                         httpd, MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_CONNECTION_LIMIT,
                         (unsigned)DSQL_HTTPD_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
                         (unsigned)DSQL_HTTPD_IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                         (size_t)DSQL_HTTPD_REQUEST_MAX, MHD_OPTION_END);
    dsql_signals_release(&before);
    return daemon;
}

enum dsql_rc dsql_httpd_start(const struct dsql_httpd_options *options, struct dsql_httpd **httpd,
                              struct dsql_err *err)
{
    char host[HOST_TEXT_MAX];
    unsigned port;
    int listener;
    if (!split_address(options->address, host, &port))
        return dsql_err_set(err, DSQL_INVALID, "'%s' is no address; write it as 127.0.0.1:9464",
                            dsql_shown_str(options->address).text);
    enum dsql_rc rc = open_listener(options, host, port, &listener, err);
    if (rc)
        return rc;
    struct dsql_httpd *made = calloc(1, sizeof(*made));
    if (made) {
        made->pages = options->pages;
        made->page_count = options->page_count;
        made->asked_port = port;
        made->hosts = options->hosts ? options->hosts : "";
        memcpy(made->host, host, sizeof(host));
        made->port = port_of(listener);
        name_url(made, host);
        made->daemon = start_daemon(made, listener);
    }
    if (!made || !made->daemon) {
        close(listener);
        free(made);
        return dsql_err_set(err, DSQL_NO_MEMORY,
                            "can't start the HTTP endpoint: out of memory "
                            "or threads");
    }
    *httpd = made;
    return DSQL_OK;
}

void dsql_httpd_stop(struct dsql_httpd *httpd)
{
    if (!httpd)
        return;
    MHD_stop_daemon(httpd->daemon); /* closes the listening socket too */
    free(httpd);
}

const char *dsql_httpd_url(const struct dsql_httpd *httpd)
{
    return httpd->url;
}

unsigned dsql_httpd_port(const struct dsql_httpd *httpd)
{
    return httpd->port;
}

bool dsql_httpd_has_moved(const struct dsql_httpd *httpd)
{
    return httpd->asked_port != 0 && httpd->port != httpd->asked_port;
}

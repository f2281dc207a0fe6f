/*
 * A small HTTP endpoint for a process that wants to be watched: GET and HEAD of a few fixed paths,
 * answered by callbacks on one thread of its own. For people and collectors, not for the public: it
 * listens where it is told, which by default is this machine only, and bounds what a client can
 * take (connections, time, bytes of a request). A request whose Host header is a name that was
 * not allowed is refused: http_host.h.
 *
 *     static const struct dsql_httpd_page pages[] = {{"/healthz", dsql_page_healthz, NULL}};
 *     rc = dsql_httpd_start(&(struct dsql_httpd_options){.address = "127.0.0.1:9464", .pages =
 * pages, .page_count = DSQL_COUNT_OF(pages)}, &httpd, &err);
 */
#ifndef DSQL_CLI_HTTPD_H
#define DSQL_CLI_HTTPD_H

#include "base/strbuf.h"

enum {
    DSQL_HTTPD_NONCE_LEN = 32,
    DSQL_HTTPD_CONNECTIONS_MAX = 64,
    DSQL_HTTPD_IDLE_S = 10,            /* a connection without progress is closed */
    DSQL_HTTPD_REQUEST_MAX = 16 << 10, /* bytes of one request's line and headers */
    DSQL_HTTPD_BODY_MAX = 64 << 20,    /* bytes of an answer */
    DSQL_HTTPD_NEXT_PORTS = 20,        /* how far next_free looks */
};

/* What a page fills in. */
struct dsql_httpd_reply {
    unsigned status;         /* 200 unless the page says otherwise */
    const char *type;        /* text/plain unless the page says otherwise; static storage */
    struct dsql_strbuf body; /* on the heap; one that was cut becomes a 500 */
    /* Scripts and styles run only if they carry this nonce, new for each answer. */
    char nonce[DSQL_HTTPD_NONCE_LEN + 1];
};

/* Runs on the endpoint's thread, one call at a time, and should be done in milliseconds. */
typedef void dsql_httpd_page_fn(void *arg, struct dsql_httpd_reply *reply);

struct dsql_httpd_page {
    const char *path; /* "/metrics" */
    dsql_httpd_page_fn *answer;
    void *arg;
};

struct dsql_httpd_options {
    const char *address; /* "host:port" or "[v6]:port"; port 0 for any */
    const char *hosts; /* names it answers to beside its own (http_host.h); NULL for none; must live
                          as long as the endpoint */
    bool next_free;    /* if the port is taken, use one of the next, or any */
    const struct dsql_httpd_page *pages; /* must live as long as the endpoint */
    size_t page_count;
};

struct dsql_httpd;

/* Whether it reads as an address; to say so before anything else has started. */
bool dsql_httpd_is_address(const char *address);

/*
 * Listens and answers from now on. DSQL_INVALID if the address can't be read; DSQL_IO, with a hint,
 * if it cannot listen there (the port is taken, the address is not this machine's).
 */
DSQL_MUST_USE enum dsql_rc dsql_httpd_start(const struct dsql_httpd_options *options,
                                            struct dsql_httpd **httpd, struct dsql_err *err);

/* Ends it: no page is called any more afterwards. NULL is fine. */
void dsql_httpd_stop(struct dsql_httpd *httpd);

/* "http://127.0.0.1:9464/", as a person on this machine opens it. Lives as long as the endpoint. */
const char *dsql_httpd_url(const struct dsql_httpd *httpd);

/* Where it really listens; another than was asked for if next_free moved it. */
unsigned dsql_httpd_port(const struct dsql_httpd *httpd);
bool dsql_httpd_has_moved(const struct dsql_httpd *httpd);

#endif

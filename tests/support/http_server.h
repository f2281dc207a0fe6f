/*
 * A small HTTP server on the loopback address for tests: it answers as the test's function says,
 * one connection after the other, and remembers nothing. A connection that is kept open keeps
 * others waiting until the client or the function ends it. It allocates nothing, so that fault
 * tests count only what the program allocates.
 */
#ifndef DSQL_TESTS_HTTP_SERVER_H
#define DSQL_TESTS_HTTP_SERVER_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/strbuf.h"

struct http_asked {
    struct dsql_span method, target; /* the target is path and query */
    struct dsql_span head;           /* all header lines */
    struct dsql_span body;
};

/* The value of a header; empty if it is not there. */
struct dsql_span http_asked_header(const struct http_asked *asked, const char *name);

struct http_told {
    int status;              /* 0: hang up without a word */
    const char *raw;         /* sent instead of an answer, if not NULL */
    bool keep;               /* the connection stays open for another request */
    bool stall;              /* say nothing until the client is gone or the server is stopped */
    size_t padding;          /* so many bytes behind the body */
    struct dsql_strbuf body; /* for the function to fill */
};

typedef void http_answer_fn(void *arg, const struct http_asked *asked, struct http_told *told);

struct http_server {
    http_answer_fn *answer;
    void *arg;
    char url[64]; /* http://127.0.0.1:port */
    int listener, stop_fd;
    pthread_t thread;
    _Atomic unsigned served; /* requests that came in whole */
};

void http_server_start(struct http_server *server, http_answer_fn *answer, void *arg);
void http_server_stop(struct http_server *server);

#endif

/*
 * One HTTP request at a time over libcurl, within limits: of time, of bytes, of where it may go. A
 * client keeps its connections open, so that the next request to the same place needs no handshake.
 *
 * A redirect is never followed: it is an answer like any other. Certificates are always checked. A
 * request that could not be carried out is an error; one that was answered with 404 is not.
 *
 * A POST is sent once: libcurl would send it again when a connection that it used before ends
 * without an answer, although the server may have carried it out. Here that is DSQL_LOST, and the
 * caller decides. Other methods may be sent again.
 *
 * A client belongs to one thread at a time. Stopping it from another is what cancel_fd is for.
 */
#ifndef DSQL_AWS_HTTP_H
#define DSQL_AWS_HTTP_H

#include "aws/sigv4.h"

struct dsql_http;

DSQL_MUST_USE enum dsql_rc dsql_http_new(struct dsql_http **http, struct dsql_err *err);
void dsql_http_destroy(struct dsql_http *http); /* NULL is fine */

enum { DSQL_HTTP_HEADERS_MAX = 16 };

struct dsql_http_request {
    const char *method; /* "GET", "PUT", "POST" */
    const char *url;    /* http:// or https:// */
    /* Sent besides those that HTTP itself needs; a Host that is given is sent as it is. No line
     * ends in them: DSQL_INVALID. */
    const struct dsql_sigv4_header *headers;
    size_t header_count;
    struct dsql_span body;
    int64_t connect_timeout_ns; /* 0: as long as the whole may take */
    int64_t timeout_ns;         /* for all of it; > 0 */
    bool direct;                /* past any proxy: for addresses of this machine and its host */
    int cancel_fd;              /* as soon as it is readable, DSQL_CANCELLED; -1 for none */
};

struct dsql_http_response {
    int status;            /* 200, 404, ... */
    struct dsql_wall date; /* what the server's clock says, in whole seconds; 0 if it does not */
};

/*
 * Sends the request and appends the answer's body to *body: its limit is the limit of the answer,
 * and an answer that is longer is DSQL_LIMIT. For what may hold a secret take one over memory that
 * does not move, and wipe it.
 *
 * DSQL_TIMEOUT, DSQL_CANCELLED, DSQL_LOST (no server there, or the connection broke), DSQL_DENIED
 * (the certificate is not to be trusted), DSQL_PROTOCOL (not HTTP), DSQL_INVALID (no such URL),
 * DSQL_NO_MEMORY. The message names the host, never a header or a body; a URL only if it is none.
 * On failure *response is untouched; *body may hold a part.
 */
DSQL_MUST_USE enum dsql_rc
dsql_http_send(struct dsql_http *http, const struct dsql_http_request *request,
               struct dsql_strbuf *body, struct dsql_http_response *response, struct dsql_err *err);

/* "https://host:8000/path?query" in parts. False if it is not of this form, or has a user in it. */
struct dsql_url {
    bool tls;
    struct dsql_span authority; /* host:port as written, without the scheme's own port: what the
                                   Host header says */
    struct dsql_span host;      /* without the brackets of an IPv6 address */
    struct dsql_span path;      /* begins with a slash; "/" if there is none */
    struct dsql_span query;     /* without the question mark */
};
bool dsql_url_parse(struct dsql_span text, struct dsql_url *url);

#endif

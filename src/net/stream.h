/*
 * Bytes in and out of one socket that does not block, with TLS or without. A stream owns neither
 * the socket nor the SSL object.
 */
#ifndef DSQL_NET_STREAM_H
#define DSQL_NET_STREAM_H

#include <openssl/ssl.h>

#include "net/outbox.h"

struct dsql_stream {
    int fd;
    SSL *ssl; /* NULL: plain */
};

enum dsql_stream_state {
    DSQL_STREAM_GOES_ON, /* bytes were read, or all were written */
    DSQL_STREAM_WAITS,   /* until the socket is ready again */
    DSQL_STREAM_ENDED,   /* by the peer or by an error */
};

/* Reads what is there, at most size bytes; *got holds how many. With TLS, read until it waits:
 * what was decrypted already makes no socket ready. */
enum dsql_stream_state dsql_stream_read(struct dsql_stream stream, char *to, size_t size,
                                        size_t *got);

/* Sends what waits in the box, as far as the socket takes it. */
enum dsql_stream_state dsql_stream_write(struct dsql_stream stream, struct dsql_outbox *box);

#endif

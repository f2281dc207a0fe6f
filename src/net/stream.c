#include "net/stream.h"

#include <errno.h>
#include <sys/socket.h>

#include <openssl/err.h>

static enum dsql_stream_state state_of(SSL *ssl, int result)
{
    int why = SSL_get_error(ssl, result);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? DSQL_STREAM_WAITS
                                                                     : DSQL_STREAM_ENDED;
}

static int int_of(size_t n)
{
    return n < INT32_MAX ? (int)n : INT32_MAX;
}

enum dsql_stream_state dsql_stream_read(struct dsql_stream stream, char *to, size_t size,
                                        size_t *got)
{
    *got = 0;
    if (stream.ssl) {
        ERR_clear_error();
        int n = SSL_read(stream.ssl, to, int_of(size));
        if (n <= 0)
            return state_of(stream.ssl, n);
        *got = (size_t)n;
        return DSQL_STREAM_GOES_ON;
    }
    ssize_t n = recv(stream.fd, to, size, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return DSQL_STREAM_WAITS;
    if (n <= 0)
        return DSQL_STREAM_ENDED;
    *got = (size_t)n;
    return DSQL_STREAM_GOES_ON;
}

static enum dsql_stream_state write_some(struct dsql_stream stream, struct dsql_span bytes,
                                         size_t *sent)
{
    if (stream.ssl) {
        ERR_clear_error();
        int n = SSL_write(stream.ssl, bytes.ptr, int_of(bytes.len));
        *sent = n > 0 ? (size_t)n : 0;
        return n > 0 ? DSQL_STREAM_GOES_ON : state_of(stream.ssl, n);
    }
    ssize_t n;
    do
        n = send(stream.fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    *sent = n > 0 ? (size_t)n : 0;
    if (n >= 0)
        return DSQL_STREAM_GOES_ON;
    return errno == EAGAIN ? DSQL_STREAM_WAITS : DSQL_STREAM_ENDED;
}

enum dsql_stream_state dsql_stream_write(struct dsql_stream stream, struct dsql_outbox *box)
{
    struct dsql_span waiting = dsql_outbox_waiting(box);
    while (waiting.len > 0) {
        size_t sent;
        enum dsql_stream_state state = write_some(stream, waiting, &sent);
        if (state != DSQL_STREAM_GOES_ON)
            return state;
        dsql_outbox_sent(box, sent);
        waiting = dsql_outbox_waiting(box);
    }
    return DSQL_STREAM_GOES_ON;
}

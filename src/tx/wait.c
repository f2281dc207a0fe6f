#include "tx/wait.h"

#include <errno.h>
#include <libpq-fe.h>
#include <openssl/ssl.h>

#include "tx/cancel.h"

enum dsql_rc dsql_wire_limits_check(const struct dsql_wire_limits *limits)
{
    if (dsql_cancel_fired(limits->cancel))
        return DSQL_CANCELLED;
    if (limits->deadline.ns != INT64_MAX &&
        !dsql_mono_before(dsql_clock_mono(limits->clock), limits->deadline))
        return DSQL_TIMEOUT;
    return DSQL_OK;
}

/* What OpenSSL has decrypted and libpq has not fetched is invisible to poll(). */
static bool tls_holds_data(PGconn *pg)
{
    SSL *ssl = PQsslStruct(pg, "OpenSSL");
    return ssl && SSL_pending(ssl) > 0;
}

enum dsql_rc dsql_wait_result(PGconn *pg, const struct dsql_wire_limits *limits)
{
    for (;;) {
        /* A failed write is reported by reading, which may also find out why. */
        bool unsent = PQflush(pg) == 1;
        if (!PQisBusy(pg) || PQstatus(pg) == CONNECTION_BAD)
            return DSQL_OK;
        if (!tls_holds_data(pg)) {
            enum dsql_rc rc = dsql_wire_limits_check(limits);
            if (rc)
                return rc;
            struct pollfd fds[2] = {
                {.fd = PQsocket(pg), .events = (short)(POLLIN | (unsent ? POLLOUT : 0))},
                {.fd = dsql_cancel_fd(limits->cancel), .events = POLLIN},
            };
            int ready = dsql_clock_poll(limits->clock, fds, 2, limits->deadline);
            if (ready < 0 && errno != EINTR)
                return DSQL_IO;
            if (ready <= 0 || fds[0].revents == 0)
                continue;
        }
        /* When it fails the connection is broken, and PQgetResult() says so without waiting. */
        if (!PQconsumeInput(pg))
            return DSQL_OK;
    }
}

enum dsql_rc dsql_wait_sleep(int64_t ns, const struct dsql_wire_limits *limits)
{
    struct dsql_mono until = dsql_mono_add(dsql_clock_mono(limits->clock), ns);
    struct dsql_mono end = dsql_mono_before(until, limits->deadline) ? until : limits->deadline;
    for (;;) {
        enum dsql_rc rc = dsql_wire_limits_check(limits);
        if (rc)
            return rc;
        if (!dsql_mono_before(dsql_clock_mono(limits->clock), until))
            return DSQL_OK;
        struct pollfd fd = {.fd = dsql_cancel_fd(limits->cancel), .events = POLLIN};
        if (dsql_clock_poll(limits->clock, &fd, 1, end) < 0 && errno != EINTR)
            return DSQL_IO;
    }
}

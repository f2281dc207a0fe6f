/*
 * local: Aurora DSQL on your desk. A front that speaks TLS and PostgreSQL's protocol to clients,
 * enforces the service's rules, and passes the rest to a private PostgreSQL. One process, one event
 * loop, no thread per connection.
 *
 *     front.c      the loop: accepting, timers, signals, counting
 *     session.c    one client: TLS, startup, token
 *     relay.c      one client's statements, to PostgreSQL and back
 *     sql_*.c      what Aurora DSQL thinks of a statement
 *     postgres.c   the PostgreSQL behind; certificate.c the TLS in front
 *
 * This header is what those files share.
 */
#ifndef DSQL_LOCAL_FRONT_H
#define DSQL_LOCAL_FRONT_H

#include <openssl/ssl.h>

#include "aws/token.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/secret.h"
#include "core/bucket.h"
#include "local/names.h"
#include "local/outbox.h"
#include "local/postgres.h"
#include "local/sql_cache.h"
#include "local/sql_tx.h"
#include "pgwire/frame.h"

/* What the endpoint is like. */
struct dsql_local_options {
    char host[254]; /* its name: in the certificate and in tokens */
    char region[33];
    uint16_t port; /* 0: any; the chosen one afterwards */
    int64_t rate;  /* new connections a second */
    int64_t burst;
    int64_t open_max; /* connections at once */
    int64_t lifetime_ns;
    int64_t time_scale; /* how many times faster than real the service's own clock runs */
    struct dsql_sql_limits limits;
    char access_key_id[65];
    struct dsql_secret secret_access_key, session_token;
};

/* Why a connection was not taken; each is counted. */
enum dsql_local_refusal {
    DSQL_LOCAL_NO_TLS,
    DSQL_LOCAL_NO_SNI,
    DSQL_LOCAL_PROTOCOL, /* garbage, a broken handshake, too slow */
    DSQL_LOCAL_PARAMETER,
    DSQL_LOCAL_RATE,
    DSQL_LOCAL_FULL,
    DSQL_LOCAL_TOKEN,
    DSQL_LOCAL_REFUSALS
};
const char *dsql_local_refusal_name(enum dsql_local_refusal refusal);

struct dsql_local_counts {
    uint64_t accepted, admitted, closed, expired;
    uint64_t refused[DSQL_LOCAL_REFUSALS];
    uint64_t statements, statements_refused, cancels_ignored;
};

enum dsql_session_state {
    DSQL_SESSION_FIRST,    /* nothing said yet */
    DSQL_SESSION_TLS,      /* shaking hands */
    DSQL_SESSION_STARTUP,  /* waiting for the StartupMessage */
    DSQL_SESSION_PASSWORD, /* waiting for the token */
    DSQL_SESSION_ACTIVE,
    DSQL_SESSION_CLOSING, /* once what is waiting has been sent */
    DSQL_SESSION_DEAD,    /* freed at the end of this turn of the loop */
};

struct dsql_session;

/* What epoll gives back: a socket and whose it is. */
struct dsql_watch {
    int fd; /* -1: none */
    uint32_t events;
    void (*ready)(struct dsql_session *session, uint32_t events);
    struct dsql_session *session;
};

struct dsql_session {
    struct dsql_front *front;
    struct dsql_session *next, *prev; /* in the front's list */
    enum dsql_session_state state;
    bool admitted;     /* counts against open_max */
    bool asked_gss;    /* for GSS encryption, which is granted never and may be asked once */
    bool direct;       /* TLS without an SSLRequest */
    bool overdue;      /* past its lifetime; goes when its transaction has ended */
    bool starting;     /* PostgreSQL has not answered the startup yet */
    uint32_t awaiting; /* ReadyForQuery messages still to come */
    struct dsql_watch client, backend;
    SSL *ssl;
    struct dsql_outbox to_client, to_backend;
    struct dsql_pg_framer from_client, from_backend;
    struct dsql_heap_node node; /* in the front's deadlines */
    struct dsql_mono deadline;
    struct dsql_sql_tx tx;
    bool sync_index; /* disable_sync_create_index=off */
    struct dsql_names names;
    char *startup; /* the StartupMessage for PostgreSQL, until it is sent */
    size_t startup_len;
    char user[64];
    char next_tag[32]; /* under which the next command completes; empty for its own */
};

struct dsql_front {
    struct dsql_local_options *options;
    const struct dsql_postgres *pg;
    struct dsql_log *log;
    SSL_CTX *tls;
    struct dsql_token_keyring keyring;
    struct dsql_pg_limits login_limits, client_limits, backend_limits;
    struct dsql_bucket bucket;
    struct dsql_sql_cache cache;
    struct dsql_heap deadlines;
    struct dsql_session *sessions, *dead;
    struct dsql_mono started;
    struct dsql_local_counts counts;
    size_t open; /* admitted and not closed */
    int epoll, listener;
};

/* Opens the listener; options->port is the chosen one afterwards. */
DSQL_MUST_USE enum dsql_rc dsql_front_init(struct dsql_front *front,
                                           struct dsql_local_options *options,
                                           const struct dsql_postgres *pg, SSL_CTX *tls,
                                           struct dsql_log *log, struct dsql_err *err);
void dsql_front_fini(struct dsql_front *front);

/* Serves for at most wait_ns, or until something happened. */
void dsql_front_turn(struct dsql_front *front, int64_t wait_ns);

/* One line of what it saw. */
void dsql_front_report(struct dsql_front *front);

/* The service's clock: runs time_scale times as fast as ours. */
struct dsql_mono dsql_front_now(const struct dsql_front *front);

/* For session.c and relay.c. */
void dsql_front_watch(struct dsql_front *front, struct dsql_watch *watch, uint32_t events);
void dsql_front_deadline(struct dsql_front *front, struct dsql_session *session, int64_t after_ns);

/* session.c */
void dsql_session_begin(struct dsql_session *session);
void dsql_session_flush(struct dsql_session *session);
void dsql_session_close(struct dsql_session *session);
void dsql_session_free(struct dsql_session *session);
void dsql_session_overdue(struct dsql_session *session);
/* Ends it with a FATAL error; the refusal is counted if it is one (not DSQL_LOCAL_REFUSALS). */
void dsql_session_fatal(struct dsql_session *session, enum dsql_local_refusal refusal,
                        const char *sqlstate, const char *message, const char *hint);

/* relay.c */
void dsql_relay_from_client(struct dsql_session *session, const struct dsql_pg_piece *piece);
void dsql_relay_fini(struct dsql_session *session);

#endif

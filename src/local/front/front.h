/*
 * The front of `dsql local`: it speaks TLS and PostgreSQL's protocol to clients, enforces the
 * service's rules, and passes the rest to a private PostgreSQL. One process, one event loop, no
 * thread per connection. The other parts are in local.h.
 *
 *     front.c      limits, counting
 *     accept.c     new connections, and those before login
 *     session.c    one client: TLS and bytes     login.c      startup packet, token
 *     relay.c      its statements on their way to PostgreSQL; answer.c the way back
 *     reading.c    long query strings, which a thread of their own reads
 *     rewrite.c    what goes to PostgreSQL in the place of a statement
 *     backend.c    sessions at PostgreSQL, shared by the clients
 *     unblock.c    no session waits for DDL
 *     aside.c      the connection of the front's own that unblock.c and fault/builds.c use
 *     pipeline.c   which answers PostgreSQL still owes a client
 *     names.c      what a client has prepared; stale.c  who meets OC001 when the catalogue changes
 *     places.c     where an error is in what the client wrote
 *     counts.c     what the endpoint has seen, for status and metrics
 *     control.c    the socket that `dsql local fault` and its like speak to
 *
 * This header is what those files share.
 */
#ifndef DSQL_LOCAL_FRONT_H
#define DSQL_LOCAL_FRONT_H

#include <openssl/ssl.h>

#include "aws/token.h"
#include "base/log.h"
#include "base/queue.h"
#include "base/secret.h"
#include "core/bucket.h"
#include "local/fault/builds.h"
#include "local/fault/fault.h"
#include "local/front/backend.h"
#include "local/front/counts.h"
#include "local/front/names.h"
#include "local/front/pipeline.h"
#include "local/front/places.h"
#include "local/front/reading.h"
#include "local/front/stale.h"
#include "local/front/unblock.h"
#include "local/process/base32_id.h"
#include "local/process/keys.h"
#include "local/process/postgres.h"
#include "local/rules/sql_cache.h"
#include "local/rules/sql_tx.h"
#include "net/loop.h"
#include "net/outbox.h"
#include "pgwire/frame.h"

#define DSQL_LOCAL_OC001 "schema has been updated by another transaction (OC001)"

/* What the endpoint is like. */
struct dsql_local_options {
    /* The name in the certificate and in tokens, beside localhost; empty: that of a cluster,
     * chosen at the start (cluster_name.h). */
    char host[254];
    const char *roots; /* the system's file of trusted authorities; NULL if there is none */
    char region[33];
    uint16_t port; /* 0: any; the chosen one afterwards */
    int64_t rate;  /* new connections a second */
    int64_t burst;
    int64_t open_max;   /* connections at once */
    int64_t logins_max; /* of them, before login */
    int64_t login_limit_ns;
    int64_t lifetime_ns;
    bool no_wall; /* PostgreSQL runs without wall.h's */
    const struct dsql_clock *clock;
    int64_t time_scale; /* how many times faster than real the service's own clock runs */
    struct dsql_sql_limits limits;
    struct dsql_sql_dialect dialect; /* the day whose service it is */
    struct dsql_stale_options stale; /* OC001 */
    char arn[256];                   /* whose the keys are */
    struct dsql_local_keys keys;     /* made up, or those of the folder, if it has no id */
    char faults[512];                /* in force from the start */
};

enum dsql_session_state {
    DSQL_SESSION_FIRST,    /* nothing said yet */
    DSQL_SESSION_TLS,      /* shaking hands */
    DSQL_SESSION_STARTUP,  /* waiting for the StartupMessage */
    DSQL_SESSION_PASSWORD, /* waiting for the token */
    DSQL_SESSION_ROLE,     /* waiting for PostgreSQL to say what is in force for the role */
    DSQL_SESSION_ACTIVE,
    DSQL_SESSION_CLOSING, /* once what is waiting has been sent */
    DSQL_SESSION_DEAD,    /* freed at the end of this turn of the loop */
};

/* What is done with the answer to a COMMIT that was struck after it was sent. */
enum dsql_cut {
    DSQL_CUT_NONE,
    DSQL_CUT_CLOSE,  /* the connection is closed instead */
    DSQL_CUT_FAILED, /* the answer becomes XX000 */
};

struct dsql_session {
    struct dsql_front *front;
    struct dsql_session *next, *prev; /* in the front's list */
    struct dsql_queue_node login;     /* in the front's queue of those before login */
    struct dsql_mono began;
    struct dsql_deferred_free ending;
    enum dsql_session_state state;
    bool admitted;  /* counts against open_max */
    bool asked_gss; /* for GSS encryption, which is granted never and may be asked once */
    bool direct;    /* TLS without an SSLRequest */
    bool overdue;   /* past its lifetime; goes when its transaction has ended */
    bool waited;    /* a latency that was asked for has passed */
    /* How PostgreSQL's session differs from a fresh one: it can't be given to another client. */
    bool has_settings;
    bool has_prepared;   /* by PREPARE */
    bool mapped;         /* the role to who signed the token */
    bool renews;         /* a role's settings: sessions opened before are out of date */
    bool cut_implicit;   /* the COMMIT that was struck is the end of a statement of its own */
    bool ddl;            /* a statement of DDL is under way, or its transaction is open */
    uint32_t blocked;    /* for how many rounds of unblock.c it has waited for DDL */
    uint64_t blocked_in; /* the last of these rounds */
    enum dsql_cut cut;
    uint64_t cut_after; /* ends of the pipeline that come before the answer that is cut */
    struct dsql_pipeline pipeline;
    struct dsql_places places;
    struct dsql_watch client;
    SSL *ssl;
    struct dsql_outbox to_client;
    struct dsql_pg_framer from_client;
    struct dsql_timer life, hold;
    struct dsql_backend *backend; /* NULL while it needs none */
    struct dsql_sql_tx tx;
    struct dsql_stale_session stale;
    bool presets;    /* the startup packet sets more than application_name */
    bool sync_index; /* disable_sync_create_index=off */
    struct dsql_names names;
    struct dsql_reading *reading; /* a long message that is not passed on yet; NULL if none */
    char *startup;                /* the StartupMessage for PostgreSQL */
    size_t startup_len;
    char user[64];
    char id[DSQL_BASE32_ID_LEN + 1]; /* sys.current_session_id() */
    char next_tag[32];               /* under which the next command completes; empty for its own */
};

enum { DSQL_ADMISSIONS_MAX = 16384 };

struct dsql_front {
    struct dsql_local_options *options;
    const struct dsql_postgres *pg;
    struct dsql_log *log;
    SSL_CTX *tls;
    struct dsql_token_keyring keyring;
    struct dsql_pg_limits login_limits, client_limits, backend_limits;
    struct dsql_bucket bucket;
    struct dsql_sql_cache cache;
    struct dsql_loop loop;
    struct dsql_watch listener;
    struct dsql_timer rest;   /* runs while the listener is not watched, see accept.c */
    bool is_short;            /* of descriptors or memory, at the last accept() */
    struct dsql_queue logins; /* sessions before login, the oldest first */
    struct dsql_session *sessions;
    struct dsql_backends backends;
    struct dsql_unblock unblock;
    struct dsql_builds builds;
    struct dsql_readings readings;
    struct dsql_faults faults;
    struct dsql_timer stall; /* runs while no client is answered */
    struct dsql_mono started;
    struct dsql_local_counts counts, reported;
    struct dsql_stale stale;
    size_t open;         /* admitted and not closed */
    int64_t *admissions; /* when the last ones were let in, by the service's clock; a ring */
};

/* Opens the listener; options->port is the chosen one afterwards. */
DSQL_MUST_USE enum dsql_rc dsql_front_init(struct dsql_front *front,
                                           struct dsql_local_options *options,
                                           const struct dsql_postgres *pg, SSL_CTX *tls,
                                           struct dsql_log *log, struct dsql_err *err);
void dsql_front_fini(struct dsql_front *front);

/* Serves for at most wait_ns, or until something happened. */
void dsql_front_turn(struct dsql_front *front, int64_t wait_ns);

/* What there is to be seen now. */
void dsql_front_look(const struct dsql_front *front, struct dsql_local_sight *sight);

/* One line of what it saw; always, or only if that is more than the last one said. */
void dsql_front_report(struct dsql_front *front, bool always);

/* The service's clock: runs time_scale times as fast as ours. */
struct dsql_mono dsql_front_now(const struct dsql_front *front);

/* Does what a fault says at once: drops connections, stalls or goes on. */
void dsql_front_obey(struct dsql_front *front, const struct dsql_fault_order *order);
void dsql_front_resume(struct dsql_front *front);
static inline bool dsql_front_is_stalled(const struct dsql_front *front)
{
    return dsql_heap_node_is_in(&front->stall.node);
}

/* accept.c */
DSQL_MUST_USE enum dsql_rc dsql_accept_open(struct dsql_front *front, struct dsql_err *err);

/* session.c */
void dsql_session_begin(struct dsql_session *session);
void dsql_session_flush(struct dsql_session *session);
void dsql_session_close(struct dsql_session *session);
/* After a long message: what came behind it, and what the client has sent since. */
void dsql_session_go_on(struct dsql_session *session, struct dsql_span rest);
void dsql_session_resume(struct dsql_session *session);
/* Whether nothing of it is under way: no transaction, no answer it waits for. */
bool dsql_session_is_idle(const struct dsql_session *session);
/* Whether PostgreSQL owes it nothing, and no message of it is on the way there. */
bool dsql_session_is_quiet(const struct dsql_session *session);
/* Ends it with a FATAL error; the refusal is counted if it is one (not DSQL_LOCAL_REFUSALS). */
void dsql_session_fatal(struct dsql_session *session, enum dsql_local_refusal refusal,
                        const char *sqlstate, const char *message, const char *hint);
/* A peer that does not speak the protocol costs one connection and a line in the log. */
void dsql_session_drop(struct dsql_session *session, const char *why);

/* login.c */
void dsql_login_startup(struct dsql_session *session, const struct dsql_pg_piece *piece);
void dsql_login_password(struct dsql_session *session, const struct dsql_pg_piece *piece);
/* PostgreSQL says what is in force for the role, which is let in: a row of values. */
void dsql_login_row(struct dsql_session *session, struct dsql_pg_values in_force);
/* PostgreSQL has answered the question; without a row the role is not mapped. */
void dsql_login_mapped(struct dsql_session *session);

/* relay.c and answer.c */
void dsql_front_relay_from_client(struct dsql_session *session, const struct dsql_pg_piece *piece);
/* A long message that was read, or its next portion. */
void dsql_front_relay_read(struct dsql_session *session, struct dsql_reading *reading);
void dsql_front_relay_fini(struct dsql_session *session);
void dsql_front_answer(struct dsql_session *session, const struct dsql_pg_piece *piece);

/* fault/strike.c: faults of statements and of COMMIT. */
enum dsql_strike {
    DSQL_STRIKE_NONE, /* the statement runs; what is done with its answer is remembered */
    DSQL_STRIKE_FAIL, /* the statement fails with the refusal */
    DSQL_STRIKE_CLOSE /* the connection is closed */
};

/* Whether it fails because the catalogue changed: asked when it is parsed by itself, too. */
bool dsql_strike_stale(struct dsql_session *session, const struct dsql_sql_stmt *stmt,
                       struct dsql_sql_refusal *refusal);

/* A statement that the rules let pass. */
enum dsql_strike dsql_strike_statement(struct dsql_session *session,
                                       const struct dsql_sql_stmt *stmt,
                                       struct dsql_sql_refusal *refusal);

/* The end of a transaction: a COMMIT, or implicit, with the statement that it consists of. */
enum dsql_strike dsql_strike_commit(struct dsql_session *session, bool implicit,
                                    struct dsql_sql_refusal *refusal);

/* Before a message that begins something new: prepares the statements that stand in for COMMIT, if
 * the client speaks the extended protocol. The one for a refusal; empty if there is none. */
void dsql_strike_prime(struct dsql_session *session, bool extended);
struct dsql_span dsql_strike_primed(const struct dsql_session *session,
                                    const struct dsql_sql_refusal *refusal);

#endif

/*
 * Sessions at PostgreSQL, apart from the sessions of clients: opened when the first statement
 * comes, and shared. A client between two transactions that left nothing behind in its session
 * there (settings, PREPARE) can do without it; while there are few it keeps it nevertheless, beyond
 * that the one that rested longest is taken away from its client and serves another. What a client
 * has prepared by the protocol is prepared again when it gets another session.
 *
 * Invariants: (S1) a session is in one queue: `free` if it serves no client, `resting` if its
 * client could do without it, else in none; (S2) session->backend and backend->session point at
 * each other; (S3) only one opened with the same StartupMessage serves a client.
 */
#ifndef DSQL_LOCAL_BACKEND_H
#define DSQL_LOCAL_BACKEND_H

#include "base/queue.h"
#include "net/loop.h"
#include "net/outbox.h"
#include "pgwire/frame.h"

struct dsql_front;
struct dsql_session;

enum {
    DSQL_BACKENDS_EASY = 64, /* up to here no client's session is taken away */
    DSQL_BACKENDS_MAX = 980, /* PostgreSQL takes 1,000, some for itself */
};

struct dsql_backend {
    struct dsql_front *front;
    struct dsql_session *session; /* the client's that is served; may be NULL */
    struct dsql_queue_node idle;  /* S1 */
    struct dsql_deferred_free ending;
    struct dsql_watch watch;
    struct dsql_outbox out;
    struct dsql_pg_framer in;
    uint32_t pid;    /* of PostgreSQL's process; 0 until it said so */
    uint32_t hidden; /* ReadyForQuery messages to come for what no client asked */
    bool opening;    /* PostgreSQL has not let us in yet */
    bool moving;     /* to another client: what it reports of settings is not for that one */
    bool primed;     /* has the statements that stand in for COMMIT */
    bool soiled;     /* a client has named statements, and may leave some behind: those that it
                        closed may be there still, if PostgreSQL did not carry that out */
    char *startup;
    size_t startup_len;
    uint64_t generation;
};

struct dsql_backends {
    struct dsql_queue free, resting; /* the first is the one that rests longest */
    size_t count;
    uint64_t generation; /* sessions opened before the last change of a role's settings are older */
    uint64_t opened, taken;
};

/* Gives the session one that is its own until it rests; false if there is none to be had. */
bool dsql_backend_need(struct dsql_session *session);

/* The client is between two transactions: others may take it, if it left nothing behind. */
void dsql_backend_rest(struct dsql_session *session);

/* The client's session is over. */
void dsql_backend_leave(struct dsql_session *session);

/* Sends what waits and watches; a session that can't go on is closed. */
void dsql_backend_flush(struct dsql_backend *backend);

/* What free sessions know of a role's settings is out of date. */
void dsql_backends_renew(struct dsql_backends *backends);
void dsql_backends_fini(struct dsql_front *front);

#endif

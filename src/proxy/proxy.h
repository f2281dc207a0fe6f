/*
 * proxy: the pool for every language. Clients speak plain PostgreSQL to it on this machine; behind
 * it are the connections of src/pool, each lent to a client for one transaction.
 *
 *     proxy.c        the whole: opened, run, drained, closed
 *     entry.c        who comes in: accept, peer's user, startup packet, welcome
 *     client.c       one client: its bytes, its end
 *     relay.c        its messages on their way to the server; reply.c the way back
 *     server.c       lending, waiting in line, taking back, losing a connection
 *     answers.c      which answers are outstanding, sans I/O
 *     statements.c   prepared statements that clients share, sans I/O
 *     settings.c     the parameters of a session, sans I/O
 *     sql_words.c    what is read off a statement's text
 *
 * One thread runs the loop and owns everything here. The pool's opener thread touches a connection
 * only while it is not lent; what the proxy knows of a connection hangs on the PGconn as instance
 * data, and when the opener closes one it is put on a list that the loop frees.
 *
 * Invariants: (X1) client->server and server->client point at each other; (X2) a server connection
 * goes back to the pool only between two transactions, with no answer outstanding; (X3) a client
 * that waits is in the pool's line and, in the same order, in the proxy's.
 */
#ifndef DSQL_PROXY_PROXY_H
#define DSQL_PROXY_PROXY_H

#include <openssl/ssl.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/log.h"
#include "net/loop.h"
#include "net/outbox.h"
#include "pgwire/frame.h"
#include "pgwire/startup.h"
#include "pool/pool.h"
#include "proxy/answers.h"
#include "proxy/settings.h"

enum { DSQL_PROXY_UIDS = 64, DSQL_PROXY_REPORTED = 13 };

struct dsql_proxy_options {
    uint16_t port;               /* on 127.0.0.1; 0: any, the chosen one afterwards */
    char socket_folder[100];     /* of a Unix socket; empty: none */
    uid_t uids[DSQL_PROXY_UIDS]; /* who may come in, beside the proxy's own user and root */
    size_t uid_count;
    int64_t clients_max;
    int64_t wait_ns;  /* how long a client waits for a connection */
    int64_t login_ns; /* how long a client may take to log in */
    const struct dsql_clock *clock;
};

/* What it has counted; read by other threads. */
struct dsql_proxy_counts {
    _Atomic uint64_t accepted, refused, transactions, waits, timeouts, lost, unknown, cancels;
    _Atomic uint64_t clients, waiting, lent; /* now */
};

enum dsql_client_state {
    DSQL_CLIENT_STARTUP,
    DSQL_CLIENT_CHECKING, /* its startup parameters are tried on a server connection */
    DSQL_CLIENT_ACTIVE,
    DSQL_CLIENT_CLOSING, /* once what is waiting has been sent */
    DSQL_CLIENT_LEAVING, /* gone; its server connection is being cleaned */
    DSQL_CLIENT_DEAD,
};

/* Why a client may not come in. */
enum dsql_client_barred {
    DSQL_BARRED_NOT,
    DSQL_BARRED_STRANGER, /* nobody knows whose it is */
    DSQL_BARRED_USER,
    DSQL_BARRED_FULL,
};

struct dsql_client {
    struct dsql_proxy *proxy;
    struct dsql_client *next, *prev;
    struct dsql_deferred_free ending;
    struct dsql_watch watch;
    struct dsql_outbox out;
    struct dsql_pg_framer in;
    struct dsql_strbuf held; /* bytes that came and can't be processed yet */
    struct dsql_timer login;
    enum dsql_client_state state;
    enum dsql_client_barred barred;
    uid_t uid; /* of this machine */
    uint32_t pid, key;
    struct dsql_server *server; /* X1 */

    bool waits; /* X3 */
    struct dsql_checkout_ticket ticket;
    struct dsql_client *wait_next, *wait_prev;
    struct dsql_mono waits_since;

    struct dsql_answers answers;
    struct dsql_definitions names;
    struct dsql_statement *unnamed; /* what its unnamed statement is, or NULL */
    struct dsql_definition
        *deallocates;               /* of the client's names, by the portal bound last; or NULL */
    bool deallocates_all;           /* the portal bound last does */
    struct dsql_settings *settings; /* as of its last transaction */
    struct dsql_settings *initial;  /* what RESET ALL goes back to */
    enum dsql_pg_tx tx;
    bool segment_open;     /* messages of the extended protocol without a Sync yet */
    bool segment_commits;  /* one of them may commit something */
    bool settings_dirty;   /* have to be read back */
    unsigned reads_failed; /* in a row */
    bool pinned;           /* it left something on its connection that can't be moved */
    bool pinned_prepare;   /* likewise: PREPARE */
    bool fatal_seen;       /* the server said goodbye, and the client has read it */
};

/* What the proxy knows of one server connection. */
struct dsql_server {
    struct dsql_proxy *proxy;
    struct dsql_client *client; /* X1 */
    struct dsql_conn *conn;     /* the handle while it is lent, else NULL */
    struct dsql_watch watch;
    SSL *ssl;
    struct dsql_outbox out;
    struct dsql_pg_framer in;
    struct dsql_settings *settings; /* in force; NULL: not known */
    struct dsql_statement_cache cache;
    struct dsql_statement *unnamed;
    struct dsql_strbuf row; /* of settings that are read back, as far as it has come */
    bool doubtful;          /* closed instead of returned */
    bool heard;             /* has said something since it was lent */
    struct dsql_server *gone_next;
};

struct dsql_proxy {
    struct dsql_proxy_options options;
    struct dsql_log *log;
    struct dsql_pool *pool;
    struct dsql_loop loop;
    struct dsql_watch loopback, local; /* listeners */
    struct dsql_timer rest;            /* runs while the listeners are not watched */
    char socket_path[108];
    struct dsql_pg_limits client_limits, server_limits;
    struct dsql_client *clients;
    size_t client_count;
    struct dsql_client *wait_first, *wait_last; /* X3 */
    struct dsql_timer wait_timer;
    struct dsql_waker waker;
    struct dsql_watch wake; /* an eventfd */
    pthread_t thread;
    bool served; /* the waker was called by the loop's own thread */
    struct dsql_statements statements;
    struct dsql_settings *base;                       /* of a fresh connection */
    struct dsql_strbuf greeting[DSQL_PROXY_REPORTED]; /* what a server reports at login */
    uint32_t next_pid;
    bool draining;
    pthread_mutex_t gone_lock;
    struct dsql_server *gone; /* closed by the pool; freed by the loop */
    struct dsql_proxy_counts counts;
};

/*
 * Reads what a fresh connection is like from one of the pool's, and listens. The pool stays the
 * caller's and outlives the proxy. options->port is the chosen one afterwards.
 */
DSQL_MUST_USE enum dsql_rc dsql_proxy_open(struct dsql_proxy *proxy,
                                           const struct dsql_proxy_options *options,
                                           struct dsql_pool *pool, struct dsql_log *log,
                                           struct dsql_err *err);
/* Serves for at most wait_ns, or until something happened. */
void dsql_proxy_turn(struct dsql_proxy *proxy, int64_t wait_ns);
/* No new clients, and those between two transactions are told to go; true once none is left. */
bool dsql_proxy_drain(struct dsql_proxy *proxy);
/* Ends what is left. The pool is drained first or after. */
void dsql_proxy_close(struct dsql_proxy *proxy);
/* After the pool has been closed: frees what the proxy knew of its connections. */
void dsql_proxy_fini(struct dsql_proxy *proxy);

/* entry.c */
DSQL_MUST_USE enum dsql_rc dsql_entry_open(struct dsql_proxy *proxy, struct dsql_err *err);
void dsql_entry_close(struct dsql_proxy *proxy);
void dsql_entry_startup(struct dsql_client *client, const struct dsql_pg_piece *piece);
/* The client's settings are known and good. */
void dsql_entry_welcome(struct dsql_client *client);

/* client.c */
void dsql_client_begin(struct dsql_client *client, int fd);
void dsql_client_flush(struct dsql_client *client);
void dsql_client_close(struct dsql_client *client);
/* Goes on with what was held. */
void dsql_client_resume(struct dsql_client *client);
void dsql_client_error(struct dsql_client *client, const char *severity, const char *sqlstate,
                       const char *message, const char *hint);
/* An error that ends it. */
void dsql_client_fatal(struct dsql_client *client, const char *sqlstate, const char *message,
                       const char *hint);

/* relay.c */
/* False: it can't be processed now, and comes again. */
bool dsql_relay(struct dsql_client *client, const struct dsql_pg_piece *piece);
/* Puts the client's settings in place on its connection, and reads them back if asked to. */
void dsql_relay_settings(struct dsql_client *client, bool read_back);

/* reply.c */
void dsql_reply(struct dsql_server *server, const struct dsql_pg_piece *piece);
/* Undoes what n of the outstanding messages, from the next one on, were to do, and drops them. */
void dsql_reply_drop(struct dsql_client *client, uint32_t n);

/* server.c */
/* Whether the client has a connection; if not, it waits for one and is called again. */
bool dsql_server_need(struct dsql_client *client);
/* Takes the connection back if nothing of the client's is under way on it. */
void dsql_server_settle(struct dsql_client *client);
/* The client is gone: its connection is returned, or closed if something is under way. */
void dsql_server_leave(struct dsql_client *client);
void dsql_server_flush(struct dsql_server *server);
/* The connection is lost: the client is told what that means. */
void dsql_server_lose(struct dsql_server *server);
/* A client that waits is let go: its statement fails. */
void dsql_server_cancel_wait(struct dsql_client *client);
/* Leaves the line. */
void dsql_server_stop_waiting(struct dsql_client *client);
/* Those whose turn has come. */
void dsql_server_serve(struct dsql_proxy *proxy);
void dsql_server_init(struct dsql_proxy *proxy);
void dsql_server_free_gone(struct dsql_proxy *proxy);

#endif

/*
 * proxy: the pool for every language. Clients speak plain PostgreSQL to it on this machine; behind
 * it are the connections of src/pool, each lent to a client for one transaction.
 *
 *     proxy.c        the whole: opened, run, drained, closed
 *     entry.c        who comes in: accept, peer's user, startup packet, welcome
 *     login.c        passwords: SCRAM-SHA-256 (scram.c, sans I/O) from a file of users (users.c)
 *     client.c       one client: its bytes, its end
 *     handover.c     another process takes over the listeners
 *     console.c      the virtual database `dsql`: SHOW, PAUSE, RESUME, RELOAD
 *     sample.c       what was counted, for /metrics
 *     relay.c        its messages on their way to the server; reply.c the way back
 *     server.c       lending, waiting in line, taking back, losing a connection
 *     guard.c        the client's settings are put in place in front of what it sends
 *     replay.c       a transaction that met a conflict is run again
 *     answers.c      which answers are outstanding, sans I/O
 *     prepared.c     a client's prepared statements on its connection
 *     portals.c      what running a portal does beyond its answers, sans I/O
 *     statements.c   prepared statements that clients share, sans I/O
 *     setters.c      whether the database has functions and views that change settings
 *     settings.c     the parameters of a session, sans I/O
 *     compat.c       statements of tools that the service refuses for no harm, sans I/O
 *     sql_words.c    what is read off a statement's text; sql_names.c the names in it
 *
 * One thread runs the loop and owns everything here. The pool's opener thread touches a connection
 * only while it is not lent; what the proxy knows of a connection hangs on the PGconn as instance
 * data, and when the opener closes one it is put on a list that the loop frees.
 *
 * Invariants: (X1) client->server and server->client point at each other; (X2) a server connection
 * goes back to the pool only between two transactions, with no answer outstanding; (X3) a client
 * that waits is in its pool's line and, in the same order, in its role's; (X4) what a client sent
 * is on the way to the server only once its settings are in force there, or behind a guard, with
 * which the server refuses it unless they are (guard.h).
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
#include "proxy/compat.h"
#include "proxy/guard.h"
#include "proxy/handover.h"
#include "proxy/prepared.h"
#include "proxy/replay.h"
#include "proxy/setters.h"
#include "proxy/settings.h"
#include "proxy/users.h"

enum {
    DSQL_PROXY_TRIES = 3, /* to put a client's settings in place, or to read them back */
    DSQL_PROXY_UIDS = 64,
    DSQL_PROXY_REPORTED = 13,
    DSQL_PROXY_ROLES = 16,
    DSQL_PROXY_NAMES = 64
};

/* The names of a client's user and of a role. */
struct dsql_proxy_name {
    char user[DSQL_USER_NAME], role[DSQL_USER_NAME];
};

struct dsql_proxy_options {
    char address[64]; /* numeric; empty: 127.0.0.1. Another one needs users_file and certificate */
    uint16_t port;    /* 0: any, the chosen one afterwards */
    /* Sockets that listen already, at most one for TCP and one Unix socket; they are the proxy's
     * then. With any, address, port and socket_folder are not looked at. */
    int listeners[DSQL_PROXY_LISTENERS];
    size_t listener_count;
    bool owns_path;                               /* the Unix socket's path is removed at the end */
    char users_file[256];                         /* of passwords; empty: none */
    char certificate[256], key[256];              /* for TLS to clients; empty: none */
    struct dsql_proxy_name map[DSQL_PROXY_NAMES]; /* who has another role than its own name */
    size_t map_count;
    char operators[256];         /* users who may see and command the proxy, separated by commas */
    int64_t user_clients_max;    /* of one user; 0: as many as of all */
    char socket_folder[100];     /* of a Unix socket; empty: none */
    uid_t uids[DSQL_PROXY_UIDS]; /* who may come in, beside the proxy's own user and root */
    size_t uid_count;
    int64_t clients_max;
    bool strict;      /* refused statements that would do no harm stay refused (--compat=off) */
    int retries;      /* times that a transaction is run again after a conflict; 0: never */
    int64_t wait_ns;  /* how long a client waits for a connection */
    int64_t login_ns; /* how long a client may take to log in */
    const struct dsql_clock *clock;
};

/* What it has counted; read by other threads. */
struct dsql_proxy_counts {
    _Atomic uint64_t accepted, refused, transactions, waits, timeouts, lost, unknown, cancels;
    _Atomic uint64_t statements, received, sent; /* received, sent: bytes, from and to clients */
    _Atomic uint64_t compat[DSQL_COMPAT_KINDS];  /* answered as done */
    /* Time in which a connection was lent, answers were outstanding, or a client was in line. */
    _Atomic uint64_t lent_us, answering_us, waited_us;
    /* runs of transactions that had met a conflict; transactions whose answer is that of a later
     * run; conflicts that clients were told of though they might have been run again */
    _Atomic uint64_t retries, retried, conflicts;
    _Atomic uint64_t clients, waiting, lent; /* now */
};

/* The counts that the metrics were told last. */
struct dsql_proxy_sample {
    uint64_t accepted, refused, transactions, waits, timeouts, lost, unknown, statements, received,
        sent, retries, retried, conflicts;
    uint64_t compat[DSQL_COMPAT_KINDS];
};

enum dsql_client_state {
    DSQL_CLIENT_STARTUP,
    DSQL_CLIENT_LOGIN,    /* the client is asked for its password */
    DSQL_CLIENT_CHECKING, /* the client's startup parameters are tried on a server connection */
    DSQL_CLIENT_ACTIVE,
    DSQL_CLIENT_CLOSING, /* once what is waiting has been sent */
    DSQL_CLIENT_LEAVING, /* gone; its server connection is being cleaned */
    DSQL_CLIENT_DEAD,
};

/* Why a client may not come in. */
enum dsql_client_barred {
    DSQL_BARRED_NOT,
    DSQL_BARRED_STRANGER, /* the kernel does not say whose it is */
    DSQL_BARRED_USER,
    DSQL_BARRED_FULL,
};

struct dsql_client {
    struct dsql_proxy *proxy;
    struct dsql_proxy_role *role; /* of the database; NULL before login */
    struct dsql_client *next, *prev;
    struct dsql_deferred_free ending;
    struct dsql_watch watch;
    struct dsql_outbox out;
    struct dsql_pg_framer in;
    struct dsql_strbuf held; /* bytes that came and can't be processed yet */
    struct dsql_timer login;
    enum dsql_client_state state;
    enum dsql_client_barred barred;
    bool known;                     /* by the kernel, as one who may come in: no password */
    bool remote;                    /* from another machine */
    bool console;                   /* of the virtual database */
    bool may_command;               /* there */
    bool awaits_pause;              /* its PAUSE is answered once no connection is lent */
    bool parked;                    /* waits for RESUME */
    SSL *ssl;                       /* NULL: plain */
    struct dsql_login *login_state; /* while its password is asked for */
    struct dsql_client *login_next, *login_prev; /* of those before login, the oldest first */
    struct dsql_mono began;                      /* when it came */
    struct dsql_mono lent_at;  /* when a connection was lent to it last; 0: never */
    struct dsql_mono asked_at; /* the first message whose answer is outstanding; 0: none */
    char user[DSQL_USER_NAME]; /* as the startup packet says */
    uid_t uid;                 /* of this machine, if known */
    uint32_t pid, key;
    struct dsql_server *server; /* X1 */

    bool waits; /* X3 */
    struct dsql_checkout_ticket ticket;
    struct dsql_client *wait_next, *wait_prev;
    struct dsql_mono waits_since;

    struct dsql_guard *guard;   /* that is not answered; or NULL */
    struct dsql_replay *replay; /* of its transaction; NULL: it is not run again */
    struct dsql_answers answers;
    struct dsql_definitions names;
    struct dsql_statement *unnamed;           /* what its unnamed statement is, or NULL */
    struct dsql_settings *unnamed_under;      /* as a definition's */
    struct dsql_definition *unnamed_executes; /* what that executes, as a definition's */
    struct dsql_portals portals;
    struct dsql_settings *settings; /* as of its last transaction */
    struct dsql_settings *initial;  /* what RESET ALL goes back to */
    enum dsql_pg_tx tx;
    bool segment_open;     /* messages of the extended protocol without a Sync yet */
    bool segment_commits;  /* one of them may commit something */
    bool settings_dirty;   /* have to be read back */
    uint64_t own_context;  /* of what it prepares while its settings are not known; 0: none yet */
    bool may_set;          /* what is not answered may change settings */
    bool settings_unread;  /* a transaction that has ended may have changed some */
    bool settings_due;     /* the connection's settings are not known to be the client's */
    bool change_failed;    /* the settings that are being put in place are not */
    unsigned tries_failed; /* to put settings in place or to read them, in a row */
    bool pinned;           /* the client left something on its connection that can't be moved */
    bool at_home;          /* its prepared statements are on the connection under its own names */
    bool creates;          /* the transaction has a CREATE or ALTER */
    bool begun;            /* BEGIN is all that its transaction has seen */
    bool fatal_seen;       /* the server said goodbye, and the client has read it */
};

/* What the proxy knows of one server connection. */
struct dsql_server {
    struct dsql_proxy *proxy;
    struct dsql_client *client; /* X1 */
    struct dsql_conn *conn;     /* the handle while it is lent, else NULL */
    struct dsql_mono began;     /* when it was lent for the first time */
    struct dsql_watch watch;
    SSL *ssl;
    struct dsql_outbox out;
    struct dsql_pg_framer in;
    struct dsql_settings *settings; /* in force; NULL: not known */
    struct dsql_statement_cache cache;
    struct dsql_statement *unnamed;
    uint64_t unnamed_context;
    uint64_t guards;         /* the number of the last one (guard.h) */
    struct dsql_strbuf need; /* the error of what the next query needs, if that failed */
    struct dsql_strbuf row;  /* of settings that are read back, as far as it has come */
    bool doubtful;           /* closed instead of returned */
    bool unreadable;         /* the settings that were read make no sense */
    bool heard;              /* has said something since it was lent */
    bool suspect;            /* something happened on its socket while it was idle */
    bool emptied;            /* the last read of its socket, by TLS, left nothing there */
    bool unread;             /* the socket may have more, which makes no event by itself */
    struct dsql_server *gone_next;
};

/* One role of the database: its pool, who waits for it, and what a fresh connection is like. */
struct dsql_proxy_role {
    struct dsql_proxy *proxy;
    struct dsql_pool *pool;                     /* its options have the role's name */
    struct dsql_client *wait_first, *wait_last; /* X3 */
    struct dsql_timer wait_timer;
    struct dsql_settings *base;                       /* of a fresh connection */
    struct dsql_strbuf greeting[DSQL_PROXY_REPORTED]; /* what a server reports at login */
};

struct dsql_proxy {
    struct dsql_proxy_options options;
    struct dsql_log *log;
    struct dsql_proxy_role roles[DSQL_PROXY_ROLES];
    size_t role_count;
    struct dsql_loop loop;
    struct dsql_watch loopback, local; /* listeners */
    struct dsql_timer rest;            /* runs while the listeners are not watched */
    char socket_path[108];
    struct dsql_pg_limits client_limits, server_limits, login_limits;
    struct dsql_users users;
    SSL_CTX *tls;                                 /* NULL: none */
    struct dsql_client *login_first, *login_last; /* before login */
    size_t login_count;
    struct dsql_client *clients;
    size_t client_count;
    struct dsql_waker waker;
    struct dsql_watch wake; /* an eventfd */
    pthread_t thread;
    bool served; /* the waker was called by the loop's own thread */
    struct dsql_statements statements;
    struct dsql_setters setters;
    uint64_t own_contexts; /* the last one that a client got */
    uint32_t next_pid;
    bool draining;
    bool paused;                      /* no connection is lent */
    bool pausing;                     /* and some still are */
    struct dsql_proxy_sample sampled; /* what the metrics know already */
    pthread_mutex_t gone_lock;
    struct dsql_server *gone; /* closed by the pool; freed by the loop */
    struct dsql_proxy_counts counts;
};

/*
 * Reads what a fresh connection is like from one of each pool, and listens. Each pool is that of
 * one role; the first is that of clients who name none. The pools stay the caller's and outlive
 * the proxy. options->port is the chosen one afterwards.
 */
DSQL_MUST_USE enum dsql_rc dsql_proxy_open(struct dsql_proxy *proxy,
                                           const struct dsql_proxy_options *options,
                                           struct dsql_pool *const *pools, size_t pool_count,
                                           struct dsql_log *log, struct dsql_err *err);
/* Serves for at most wait_ns, or until something happened. */
void dsql_proxy_turn(struct dsql_proxy *proxy, int64_t wait_ns);
/* No new clients, and those between two transactions are told to go; true once none is left. */
bool dsql_proxy_drain(struct dsql_proxy *proxy);
/* Ends what is left. The pool is drained first or after. */
void dsql_proxy_close(struct dsql_proxy *proxy);
/* After the pool has been closed: frees what the proxy knew of its connections. */
void dsql_proxy_fini(struct dsql_proxy *proxy);

/* Reads the users file and the certificate again; on failure those in use stay. */
DSQL_MUST_USE enum dsql_rc dsql_proxy_reload(struct dsql_proxy *proxy, struct dsql_err *err);

/* entry.c */
/* An error that ends the client, counted and logged. */
void dsql_entry_refuse(struct dsql_client *client, const char *sqlstate, const char *message,
                       const char *hint);
/* The client is who it says: it gets its role and what else its startup packet asks for. */
void dsql_entry_admit(struct dsql_client *client, const struct dsql_pg_startup *startup);
/* The client is not before login any more. */
void dsql_entry_leave(struct dsql_client *client);
DSQL_MUST_USE enum dsql_rc dsql_entry_open(struct dsql_proxy *proxy, struct dsql_err *err);
void dsql_entry_close(struct dsql_proxy *proxy);
void dsql_entry_startup(struct dsql_client *client, const struct dsql_pg_piece *piece);
/* The client's settings are known and good. */
void dsql_entry_welcome(struct dsql_client *client);

/* console.c */
/* A message to the virtual database; false: it comes again. */
bool dsql_console(struct dsql_client *client, const struct dsql_pg_piece *piece);
/* Answers PAUSE when no connection is lent any more. */
void dsql_console_turn(struct dsql_proxy *proxy);

/* sample.c */
/* Tells the metrics what was counted since the last call. */
void dsql_proxy_sample(struct dsql_proxy *proxy, struct dsql_metrics *metrics);

/* login.c */
/* Asks for the password. packet: the body of the startup packet. */
void dsql_proxy_login_begin(struct dsql_client *client, struct dsql_span packet,
                            const struct dsql_pg_startup *startup);
void dsql_proxy_login_message(struct dsql_client *client, const struct dsql_pg_piece *piece);
void dsql_proxy_login_free(struct dsql_client *client);

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
/* Whether the client's settings are being put in place, with a guard or without. */
bool dsql_relay_is_changing(const struct dsql_client *client);
/* An answer will come to what was just put. */
void dsql_relay_expect(struct dsql_client *client, struct dsql_answer entry);

/* Statements of the proxy's own, whose answers the client does not get. */
void dsql_relay_hidden_query(struct dsql_client *client, struct dsql_span sql,
                             enum dsql_answer_purpose purpose);
void dsql_relay_hidden_sync(struct dsql_client *client);

/* reply.c */
/* Whether the same goes better the next time: the catalogue had changed (OC001), for one. */
bool dsql_reply_may_go_again(const struct dsql_pg_piece *piece);
/* Whether the server ends the connection with this error. */
bool dsql_reply_is_fatal(const struct dsql_pg_piece *piece);
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
/* Goes on with what the client waits for: what it sent, and the end of its transaction. */
void dsql_server_go_on(struct dsql_client *client);
/* The connection is lost: the client is told what that means, if it has sent something there. */
void dsql_server_lose(struct dsql_server *server);
/* No answer is outstanding any more: how long that took is counted. */
void dsql_server_note_answered(struct dsql_client *client);
/* The client's settings were not put in place: it is done again, or the client told. */
void dsql_server_change_failed(struct dsql_server *server);
/* A client that waits is let go: its statement fails. */
void dsql_server_cancel_wait(struct dsql_client *client);
/* PAUSE is over for a client that wanted a connection. */
void dsql_server_unpark(struct dsql_client *client);
/* Leaves the line. */
void dsql_server_stop_waiting(struct dsql_client *client);
/* Lends connections to the clients whose turn has come. */
void dsql_server_serve(struct dsql_proxy *proxy);
void dsql_server_init(struct dsql_proxy *proxy);
void dsql_server_free_gone(struct dsql_proxy *proxy);

#endif

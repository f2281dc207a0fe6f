/*
 * Long query strings. Reading a megabyte of SQL takes a fraction of a second, in which the front's
 * one thread would serve no other client. A thread of its own reads a long string; meanwhile
 * nothing more is taken from its client. What the string says is then judged in the front's thread,
 * a portion of its statements in each turn of the loop.
 *
 * Words: a reading is one long message of one client, from its arrival until it is passed on.
 *
 * Rules: (R1) a session has at most one reading, and while it has one no other message of that
 * session is looked at; (R2) a reading whose thread runs is freed only after that thread has said
 * that it is done; (R3) a thread touches its own reading and the list of finished ones, nothing
 * else.
 */
#ifndef DSQL_LOCAL_READING_H
#define DSQL_LOCAL_READING_H

#include <pthread.h>

#include "base/strbuf.h"
#include "local/rules/sql_stmt.h"
#include "net/loop.h"
#include "pgwire/frame.h"

struct dsql_front;
struct dsql_session;
struct dsql_reading;

enum {
    DSQL_READING_LONG = 16 << 10, /* bytes of a message; shorter ones are read at once */
    DSQL_READING_PORTION = 2000,  /* statements that are judged in one turn */
    DSQL_READING_THREADS = 8,     /* at once; more readings wait for one of them */
};

/* All readings of a front. */
struct dsql_readings {
    struct dsql_front *front;
    struct dsql_watch done_watch;  /* an eventfd: a thread is done */
    struct dsql_reading *waiting;  /* for a thread, the oldest first */
    size_t threads;                /* that were started and not joined yet */
    pthread_mutex_t lock;          /* of the list of finished ones */
    struct dsql_reading *finished; /* whose threads are done */
};

/* A Query message on its way to PostgreSQL. */
struct dsql_front_relay_query {
    struct dsql_strbuf sql; /* what goes to PostgreSQL */
    size_t at;              /* how many statements are judged */
    bool as_it_came;        /* a single statement that travels unchanged */
    bool ended;             /* nothing comes behind the statement that was judged last */
};

struct dsql_reading {
    struct dsql_deferred_free ending;
    struct dsql_readings *all;
    struct dsql_session *session; /* NULL if its client is gone */
    struct dsql_reading *next;    /* in a list of dsql_readings */
    pthread_t thread;
    bool with_thread;           /* a thread was started */
    bool read;                  /* there is a script, or rc says why there is none */
    char *message;              /* a copy: header, body */
    struct dsql_pg_piece piece; /* of that copy */
    struct dsql_span text;      /* the query string in it */
    struct dsql_sql_dialect dialect;
    struct dsql_sql_script *script;
    enum dsql_rc rc;
    char *rest; /* what came behind the message */
    size_t rest_len;
    struct dsql_timer portion; /* runs between two portions */
    struct dsql_front_relay_query query;
};

DSQL_MUST_USE enum dsql_rc dsql_readings_init(struct dsql_readings *all, struct dsql_front *front,
                                              struct dsql_err *err);
/* Waits for the threads. All sessions are closed. */
void dsql_readings_fini(struct dsql_readings *all);

/* Begins a reading if the message holds a long query string: then the session has one. False: the
 * message is for the caller. */
bool dsql_reading_begin(struct dsql_session *session, const struct dsql_pg_piece *piece);

/* Keeps what came behind the message, for the end of the reading. */
void dsql_reading_keep(struct dsql_session *session, struct dsql_span rest);

/* The statements after those of this portion are judged in the next turn. Without memory for that
 * the session is closed. */
void dsql_reading_go_on(struct dsql_reading *reading);

/* The session ends. */
void dsql_reading_leave(struct dsql_session *session);

#endif

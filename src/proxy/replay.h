/*
 * --retry-conflicts: a transaction that met a conflict (40001) when it was to commit is run again,
 * if the client can't tell the difference.
 *
 * Words: the *record* is what the client has sent since its transaction began. Its *decisive* part
 * begins with the first message that may commit: COMMIT, or a statement that runs by itself. The
 * answers to the decisive part are *withheld* until its ReadyForQuery; those to what came before
 * are *given* as they come, and their length and checksum are kept.
 *
 * Invariants: (Y1) when a record is sent again, its decisive part is not sent before all answers to
 * what comes before it are there and equal those given; (Y2) of a run that is followed by another
 * the client has seen given answers only; (Y3) nothing is run again once an answer has told of a
 * COMMIT, after the connection was lost, or with COPY in it; (Y4) record and withheld answers take
 * at most DSQL_REPLAY_BYTES for each client: above, the transaction goes on without.
 */
#ifndef DSQL_PROXY_REPLAY_H
#define DSQL_PROXY_REPLAY_H

#include "pgwire/frame.h"

enum { DSQL_REPLAY_BYTES = 1 << 20 };

struct dsql_client;
struct dsql_replay;

/* What an answer of the server added to the client's outbox. */
struct dsql_heard {
    size_t before; /* the length of the outbox before it */
    bool late;     /* the answer is one to the decisive part */
    bool ends;     /* the answer is a ReadyForQuery of the client's */
};

/* A message of the client's is about to be relayed; false: not now, it comes again. */
bool dsql_replay_admits(struct dsql_client *client, uint8_t type);
/* The message that is being relayed may commit. */
void dsql_replay_decisive(struct dsql_client *client);
/* Whether what is being relayed belongs to the decisive part. */
bool dsql_replay_is_late(const struct dsql_client *client);
/* The message was relayed. */
void dsql_replay_note(struct dsql_client *client, const struct dsql_pg_piece *piece);
/* The client waits for answers of the decisive part before its end: they go out. */
void dsql_replay_flush(struct dsql_client *client);

/* The server has completed a command. */
void dsql_replay_tag(struct dsql_client *client, struct dsql_span tag);
/* The server says error to the decisive part. body: of the message. */
void dsql_replay_error(struct dsql_client *client, struct dsql_span body);
/* COPY has begun. */
void dsql_replay_copy(struct dsql_client *client);
/* An answer has been dealt with. */
void dsql_replay_heard(struct dsql_client *client, struct dsql_heard heard);

/* Goes on with a run again, as far as answers are there. */
void dsql_replay_go_on(struct dsql_client *client);
/* Whether a transaction is being run again, or waits for that. */
bool dsql_replay_is_running(const struct dsql_client *client);
/* Whether half a message of the server's has not reached the client. */
bool dsql_replay_withholds(const struct dsql_client *client);
/* The connection is gone. True: the client has its answers; false: it has to be told. */
bool dsql_replay_lost(struct dsql_client *client);
void dsql_replay_free(struct dsql_client *client);

#endif

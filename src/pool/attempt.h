/*
 * One attempt to connect, from the address and the token it needs to a ready connection or to a
 * failure that is explained. Several are under way at once; none of these functions waits.
 *
 * All are the opener's: it calls them without state_lock held. An attempt owns its slot, which is
 * OPENING, until it ends: then the slot is READY and on offer, or EMPTY, and core, the budget and
 * the stats know why. Failures of one kind that come together are logged as one line.
 *
 * Sockets are watched in the pool's epoll; an event's data is the slot, and above it, in the upper
 * 32 bits, the slot's generation. A ready connection stays watched for the other side's hang-up.
 */
#ifndef DSQL_POOL_ATTEMPT_H
#define DSQL_POOL_ATTEMPT_H

#include "pool/pool.h"

/* Finds address and token, and answers the keeper's PREPARE: they are there, they are not there
 * yet, or they failed, which is noted. */
void dsql_attempt_prepare(struct dsql_pool *pool, struct dsql_mono now,
                          char address[DSQL_RESOLVED_SIZE], struct dsql_secret *token);

/* Starts one in a slot that is OPENING. */
void dsql_attempt_begin(struct dsql_pool *pool, struct dsql_conn *conn,
                        const struct dsql_secret *token, const char *address);
/* Goes on after an event of the attempt's socket. */
void dsql_attempt_go_on(struct dsql_pool *pool, struct dsql_conn *conn);
/* Ends one: it has taken too long, which is a failure, or is not wanted any more. */
void dsql_attempt_cut(struct dsql_pool *pool, struct dsql_conn *conn, bool timed_out);

/* Logs the failures that were collected, once it is time to. */
void dsql_attempts_say_failures(struct dsql_pool *pool, struct dsql_mono now);

#endif

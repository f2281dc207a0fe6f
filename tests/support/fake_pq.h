/*
 * A libpq that connects to nobody: each connection is one end of a socket pair, whose other end
 * plays the server. For the faults that a real one won't produce on demand, and for stress under
 * sanitizers. Programs that use it are linked with libpq's functions wrapped (cmake/tests.cmake).
 */
#ifndef DSQL_TESTS_FAKE_PQ_H
#define DSQL_TESTS_FAKE_PQ_H

#include <libpq-fe.h>

#include "base/defs.h"
#include "dsql/pool.h"

/* Everything as at the start. No connection may exist. */
void fake_pq_reset(void);

/* The nth call from now that can fail does; 0 for none. Answers whether the last one came. */
bool fake_pq_fail_at(size_t n);

/* From now on connects fail with this text of libpq's; NULL: they succeed. */
void fake_pq_refuse(const char *text);

/* From now on connects never end. */
void fake_pq_stall(bool stall);

/* The server closes every nth connection; answers how many. */
size_t fake_pq_drop(size_t every);

/* What a caller did to it. */
void fake_pq_set_transaction(PGconn *pg, PGTransactionStatusType status);

/* A caller has it, and gives it back: what happens in between that must not (a second caller, a
 * close) is counted. */
void fake_pq_hold(PGconn *pg);
void fake_pq_let_go(PGconn *pg);
size_t fake_pq_shared(void);
size_t fake_pq_closed_under_caller(void);

/* Connections that exist, and connects that were begun. */
size_t fake_pq_live(void);
size_t fake_pq_begun(void);

/* Options for a pool of n on it, in reservoir mode, quick and without a start delay. */
void fake_pq_options(struct dsql_pool_options *options, int64_t n);

#endif

/*
 * DDL is the one thing that takes real locks in PostgreSQL, and no session may wait for another.
 * While a client's DDL is under way or its transaction is open, the front asks PostgreSQL every few
 * milliseconds which session waits for which, and one of the two gives way:
 *
 * - DDL waits for a transaction that is open and idle: that transaction is rolled back where it
 *   stands, and its client learns it by OC001 from its next statement or its COMMIT.
 * - A statement waits for DDL: after a short while it is cancelled, and fails with OC001.
 *
 * A statement that is running is let run to its end.
 */
#ifndef DSQL_LOCAL_UNBLOCK_H
#define DSQL_LOCAL_UNBLOCK_H

#include "local/front/aside.h"

struct dsql_front;
struct dsql_session;

/* One waits for the other; process ids of PostgreSQL's. */
struct dsql_unblock_pair {
    uint32_t waiter, blocker;
};

enum { DSQL_UNBLOCK_PAIRS = 256 };

struct dsql_unblock {
    struct dsql_front *front;
    struct dsql_aside aside;
    struct dsql_timer timer; /* runs while DDL is under way */
    uint64_t round;
    struct dsql_unblock_pair pairs[DSQL_UNBLOCK_PAIRS];
    size_t count;
};

void dsql_unblock_init(struct dsql_unblock *unblock, struct dsql_front *front);
void dsql_unblock_fini(struct dsql_unblock *unblock);

/* The session begins a statement of DDL. */
void dsql_unblock_ddl(struct dsql_session *session);

/* The words of OC001 for one who was cancelled; false if the error has another cause. */
bool dsql_unblock_words(const struct dsql_pg_report *report, struct dsql_pg_report *words);

#endif

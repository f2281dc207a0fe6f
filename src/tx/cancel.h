/*
 * A cancel handle: a flag, a descriptor that poll() sees, and those who wait in another way. Safe
 * from any thread.
 */
#ifndef DSQL_TX_CANCEL_H
#define DSQL_TX_CANCEL_H

#include "dsql/tx.h"

/* Readable once it was fired; -1 for NULL, which poll() ignores. */
int dsql_cancel_fd(const struct dsql_cancel *cancel);

/* A function that a cancellation calls. Memory of the caller's, from watch to unwatch. */
struct dsql_cancel_watch {
    void (*fired)(void *arg); /* from the thread that fires or watches; twice at most */
    void *arg;
    struct dsql_cancel_watch *next, *prev;
};

/* If it was fired already, `fired` is called at once. cancel may be NULL. */
void dsql_cancel_watch(struct dsql_cancel *cancel, struct dsql_cancel_watch *watch);

/* Afterwards `fired` is not running and will not be called. */
void dsql_cancel_unwatch(struct dsql_cancel *cancel, struct dsql_cancel_watch *watch);

#endif

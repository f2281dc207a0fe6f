/* A cancel handle: a flag, and a descriptor that poll() sees. Safe from any thread. */
#ifndef DSQL_TX_CANCEL_H
#define DSQL_TX_CANCEL_H

#include "dsql/tx.h"

/* Readable once it was fired; -1 for NULL, which poll() ignores. */
int dsql_cancel_fd(const struct dsql_cancel *cancel);

#endif

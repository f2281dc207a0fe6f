/*
 * Whose failure it is. Statements wait for each other, so that the failure of one may come to light
 * while a later one is called; and what it says of the row is then not said of that one's.
 */
#ifndef DSQL_TX_BLAME_H
#define DSQL_TX_BLAME_H

#include "dsql/tx.h"

/* How much the transaction has sent or queued so far. */
size_t dsql_tx_queued(const struct dsql_tx *tx);

/* Whether its failure is that of something queued before there were so many. */
bool dsql_tx_failed_before(const struct dsql_tx *tx, size_t queued);

#endif

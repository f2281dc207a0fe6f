/*
 * The service's limits on what a transaction, a row, a value and a key may be. Rows are counted at
 * the statement, a transaction's size is judged at COMMIT.
 */
#ifndef DSQL_LOCAL_MODULE_SIZES_H
#define DSQL_LOCAL_MODULE_SIZES_H

#include "local/module/module.h"

#include <executor/tuptable.h>
#include <utils/relcache.h>

/* A row is inserted or gets a new version: row is NULL for one that is deleted. again: it is one
 * that this transaction wrote before, and is counted already. */
void dsql_sizes_write(Relation rel, TupleTableSlot *row, bool again);

/* How many rows this transaction has written. */
int64 dsql_sizes_rows(void);

/* A row was locked. */
void dsql_sizes_lock(void);

/* Fails if the transaction is too large to commit. */
void dsql_sizes_check(void);

void dsql_sizes_forget(void);

#endif

/*
 * The unique keys of the rows that this transaction wrote, as numbers: a key is its index and a
 * 64-bit hash of its values. Two that are equal by the index's own rules have the same hash.
 */
#ifndef DSQL_LOCAL_MODULE_KEYS_H
#define DSQL_LOCAL_MODULE_KEYS_H

#include "local/module/module.h"

#include <executor/tuptable.h>
#include <utils/relcache.h>

struct dsql_key {
    Oid index;
    uint64 hash;
};

/* Notes the keys of a row that is written, and fails if one is too long. old is the version it
 * replaces, or NULL: keys that stay the same are not noted. */
void dsql_keys_note(Relation rel, TupleTableSlot *row, TupleTableSlot *old);

/* A slot for old versions of this relation, kept until the transaction ends. */
TupleTableSlot *dsql_keys_slot(Relation rel);

/* How many indexes the relation has. */
int dsql_keys_index_count(Relation rel);

int dsql_keys_all(const struct dsql_key **keys);

/* A subtransaction was rolled back, and its locks with it. Its keys stay: rather one conflict too
 * many. */
void dsql_keys_roll_back(void);

/* The transaction ended. */
void dsql_keys_forget(void);

#endif

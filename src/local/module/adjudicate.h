/*
 * The log of what was committed, in shared memory, and the verdict at COMMIT.
 *
 * An entry says: this transaction did this to that object (a row's identity or a unique key). It
 * matters to a transaction whose snapshot does not see the entry's transaction. Such a pair is
 * compared by the matrix; the later to arrive here is the later to commit, and it is the one that
 * fails.
 *
 * Invariants: (J1) an entry is in the log before its transaction is over, so no snapshot sees a
 * transaction whose entries are still to come; (J2) an entry is dropped only when every snapshot
 * that does not see it fails for another reason: a later entry of the same object that conflicts
 * with at least as much and is unseen by at least as many, or the floor. A transaction whose
 * snapshot does not see all transactions below the floor fails whatever it did.
 *
 * A row has as many identities as there are snapshots. A transaction that only shares the key of a
 * version may commit although another replaced that version meanwhile. Its share then goes to the
 * version that is there now: the entry of the replacement says which one.
 */
#ifndef DSQL_LOCAL_MODULE_ADJUDICATE_H
#define DSQL_LOCAL_MODULE_ADJUDICATE_H

#include "local/module/versions.h"

#include <utils/snapshot.h>

/* What was done to one object. */
struct dsql_effect {
    Oid object;       /* relation or index */
    uint64 where;     /* the version, or the key */
    uint64 successor; /* the version that replaced it; 0: none */
    uint8 modes;
};

/* Shared memory: asked for while PostgreSQL starts, then found by everybody. */
void dsql_log_request(void);
void dsql_log_attach(void);

/*
 * Compares the effects with the log; if nothing conflicts they are in the log afterwards, under
 * xid. The array is used up. False, and nothing logged, if the transaction must fail.
 */
bool dsql_adjudicate(Snapshot snapshot, TransactionId xid, struct dsql_effect *effects, int count);

#endif

/*
 * What this transaction did to rows and will carry out at COMMIT. Lives in the transaction's
 * memory; empty for one that only reads.
 *
 * Invariants: (V1) an identity, never a version of our own, carries modes; (V2) a version of our
 * own that replaced another knows the identity it stands for.
 */
#ifndef DSQL_LOCAL_MODULE_VERSIONS_H
#define DSQL_LOCAL_MODULE_VERSIONS_H

#include "local/module/module.h"

#include <access/htup.h>
#include <storage/itemptr.h>
#include <utils/hsearch.h>
#include <utils/relcache.h>
#include <utils/snapshot.h>

/* What was done to an identity: the rows of the matrix. */
enum dsql_mode {
    DSQL_MODE_KEY_SHARE = 1, /* FOR KEY SHARE, a foreign key's check */
    DSQL_MODE_WRITE = 2,     /* UPDATE of columns that are in no key */
    DSQL_MODE_EXCLUSIVE = 4, /* INSERT, DELETE, UPDATE of a key, FOR UPDATE */
};

struct dsql_version_id {
    Oid relation;
    ItemPointerData tid;
};

struct dsql_version {
    struct dsql_version_id id; /* the hash key */
    uint8 modes;               /* enum dsql_mode, or'ed */
    bool gone;                 /* deleted or replaced by this transaction */
    CommandId gone_at;         /* the command that did it */
    bool stands_for_another;   /* a version of our own, which replaces another */
    ItemPointerData identity;  /* the replaced version of the snapshot */
    ItemPointerData
        successor; /* of an identity: the version of our own that replaced it, if valid */
};

/* What is remembered about a version; NULL: nothing. */
struct dsql_version *dsql_version_find(Relation rel, const ItemPointerData *tid);

/* What is remembered about a version, made if there is nothing yet. */
struct dsql_version *dsql_version_get(Relation rel, const ItemPointerData *tid);

/* Whether the version is one that this snapshot of this transaction must not see any more. */
bool dsql_version_is_hidden(Relation rel, const ItemPointerData *tid, CommandId seen_at);

/* Remembers what was done to a version; own: this transaction wrote it. */
void dsql_version_touch(Relation rel, const ItemPointerData *tid, bool own, enum dsql_mode mode);

/* Remembers that it is gone, from this command on. */
void dsql_version_remove(Relation rel, const ItemPointerData *tid, CommandId at);

/* Remembers that a new version replaced an old one, which is our own or not. */
void dsql_version_replace(Relation rel, const ItemPointerData *old, bool own,
                          const ItemPointerData *replacement);

/* All of them, for COMMIT: NULL if there are none. */
HTAB *dsql_versions_all(void);

/* A subtransaction was rolled back: what it deleted is there again. */
void dsql_versions_roll_back(SubTransactionId subtransaction);

/* The transaction ended; its memory goes by itself. */
void dsql_versions_forget(void);

#endif

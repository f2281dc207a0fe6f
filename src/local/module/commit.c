/* The end of a transaction: the verdict at COMMIT, and what was remembered is carried out. */
#include "local/module/module.h"

#include "local/module/adjudicate.h"
#include "local/module/catalog.h"
#include "local/module/keys.h"
#include "local/module/sizes.h"
#include "local/module/versions.h"

#include <access/heapam.h>
#include <access/table.h>
#include <access/xact.h>
#include <utils/rel.h>
#include <utils/snapmgr.h>

/* 0: none */
static uint64 number_of(const ItemPointerData *tid)
{
    if (!ItemPointerIsValid(tid))
        return 0;
    return (uint64)ItemPointerGetBlockNumber(tid) << 16 | ItemPointerGetOffsetNumber(tid);
}

/* All effects of this transaction, in its memory. */
static struct dsql_effect *collect(int *count)
{
    const struct dsql_key *keys;
    HTAB *versions = dsql_versions_all();
    int key_count = dsql_keys_all(&keys), n = 0;
    Size room = (Size)key_count + (versions ? (Size)hash_get_num_entries(versions) : 0);
    struct dsql_effect *effects = palloc((room + 1) * sizeof(*effects));
    if (versions) {
        HASH_SEQ_STATUS walk;
        const struct dsql_version *version;
        hash_seq_init(&walk, versions);
        while ((version = hash_seq_search(&walk)) != NULL)
            if (version->modes)
                effects[n++] = (struct dsql_effect){.object = version->id.relation,
                                                    .where = number_of(&version->id.tid),
                                                    .successor = number_of(&version->successor),
                                                    .modes = version->modes};
    }
    for (int i = 0; i < key_count; i++)
        effects[n++] = (struct dsql_effect){
            .object = keys[i].index, .where = keys[i].hash, .modes = DSQL_MODE_EXCLUSIVE};
    *count = n;
    return effects;
}

static void fail(void)
{
    ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
                    errmsg("change conflicts with another transaction (OC000)")));
}

static int by_place(const void *a, const void *b)
{
    const struct dsql_version_id *x = a, *y = b;
    if (x->relation != y->relation)
        return x->relation < y->relation ? -1 : 1;
    return ItemPointerCompare((ItemPointer)&x->tid, (ItemPointer)&y->tid);
}

/* Deletes the versions that are gone: no other transaction works on them. */
static void carry_out(void)
{
    HTAB *versions = dsql_versions_all();
    HASH_SEQ_STATUS walk;
    const struct dsql_version *version;
    int count = 0;
    if (!versions)
        return;
    struct dsql_version_id *gone =
        palloc((Size)(hash_get_num_entries(versions) + 1) * sizeof(*gone));
    hash_seq_init(&walk, versions);
    while ((version = hash_seq_search(&walk)) != NULL)
        if (version->gone)
            gone[count++] = version->id;
    if (count == 0)
        return;
    qsort(gone, (size_t)count, sizeof(*gone), by_place);
    CommandCounterIncrement(); /* our own versions of the last command can be deleted too */
    CommandId cid = GetCurrentCommandId(true);
    Relation rel = NULL;
    for (int i = 0; i < count; i++) {
        TM_FailureData failure;
        if (!rel || RelationGetRelid(rel) != gone[i].relation) {
            if (rel)
                table_close(rel, NoLock);
            rel = table_open(gone[i].relation, NoLock); /* locked by the statement */
        }
        if (heap_delete(rel, &gone[i].tid, cid, InvalidSnapshot, false, &failure, false) != TM_Ok)
            fail();
    }
    if (rel)
        table_close(rel, NoLock);
}

static void before_commit(void)
{
    int count;
    struct dsql_effect *effects = collect(&count);
    dsql_sizes_check();
    if (count > 0 && !IsolationUsesXactSnapshot())
        ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                        errmsg("only REPEATABLE READ can be adjudicated")));
    /* What only locked rows needs an xid as well: others must be able to tell it from their past.
     */
    if (count > 0 &&
        !dsql_adjudicate(GetTransactionSnapshot(), GetTopTransactionId(), effects, count))
        fail();
    pfree(effects);
    carry_out();
    dsql_catalog_commit();
}

static void forget(void)
{
    dsql_versions_forget();
    dsql_keys_forget();
    dsql_sizes_forget();
    dsql_catalog_forget();
}

static void on_transaction(XactEvent event, void *unused)
{
    switch (event) {
    case XACT_EVENT_PRE_COMMIT:
        before_commit();
        break;
    case XACT_EVENT_COMMIT:
    case XACT_EVENT_ABORT:
    case XACT_EVENT_PREPARE:
        forget();
        break;
    case XACT_EVENT_PRE_PREPARE: /* never gets further: the front sends one only to see it fail, in
                                    words of its own, and PostgreSQL has no room for any */
        break;
    case XACT_EVENT_PARALLEL_COMMIT:
    case XACT_EVENT_PARALLEL_ABORT:
    case XACT_EVENT_PARALLEL_PRE_COMMIT:
        break;
    }
}

static void on_subtransaction(SubXactEvent event, SubTransactionId subtransaction,
                              SubTransactionId parent, void *unused)
{
    if (event == SUBXACT_EVENT_ABORT_SUB) {
        dsql_versions_roll_back(subtransaction);
        dsql_keys_roll_back();
    }
}

void dsql_commit_init(void)
{
    RegisterXactCallback(on_transaction, NULL);
    RegisterSubXactCallback(on_subtransaction, NULL);
}

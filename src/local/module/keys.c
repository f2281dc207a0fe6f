#include "local/module/module.h"

#include "local/module/keys.h"

#include <access/genam.h>
#include <catalog/index.h>
#include <common/hashfn.h>
#include <executor/executor.h>
#include <nodes/execnodes.h>
#include <utils/hsearch.h>
#include <utils/memutils.h>
#include <utils/rel.h>
#include <utils/typcache.h>

/* A unique index, ready to give the keys of rows. */
struct unique_index {
    Oid oid;
    IndexInfo *info;
    FmgrInfo
        *hashes[INDEX_MAX_KEYS]; /* NULL: a type that can't be hashed, all values count as one */
    Oid collations[INDEX_MAX_KEYS];
};

struct keyed_relation {
    Oid oid; /* the hash key */
    int index_count;
    int unique_count;
    struct unique_index *uniques;
    EState *estate;
    TupleTableSlot *old;
};

static HTAB *relations;
static struct dsql_key *keys;
static int key_count, key_room;

static void open_index(struct unique_index *out, Relation index)
{
    out->oid = RelationGetRelid(index);
    out->info = BuildIndexInfo(index);
    for (int i = 0; i < out->info->ii_NumIndexKeyAttrs; i++) {
        TypeCacheEntry *type =
            lookup_type_cache(TupleDescAttr(RelationGetDescr(index), i)->atttypid,
                              TYPECACHE_HASH_EXTENDED_PROC_FINFO);
        out->hashes[i] =
            OidIsValid(type->hash_extended_proc) ? &type->hash_extended_proc_finfo : NULL;
        out->collations[i] = index->rd_indcollation[i];
    }
}

/* While this transaction writes to the relation nobody can change its indexes. */
static struct keyed_relation *relation_of(Relation rel)
{
    Oid oid = RelationGetRelid(rel);
    bool found;
    MemoryContext caller = MemoryContextSwitchTo(TopTransactionContext);
    if (!relations) {
        HASHCTL control = {.keysize = sizeof(Oid),
                           .entrysize = sizeof(struct keyed_relation),
                           .hcxt = TopTransactionContext};
        relations = hash_create("dsql keys", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    struct keyed_relation *relation = hash_search(relations, &oid, HASH_FIND, &found);
    if (!found) {
        List *indexes = RelationGetIndexList(rel);
        ListCell *cell;
        struct keyed_relation fresh = {.oid = oid, .index_count = list_length(indexes)};
        fresh.uniques = palloc0((Size)(fresh.index_count + 1) * sizeof(*fresh.uniques));
        foreach (cell, indexes) {
            Relation index = index_open(lfirst_oid(cell), AccessShareLock);
            if (index->rd_index->indisunique)
                open_index(&fresh.uniques[fresh.unique_count++], index);
            index_close(index, NoLock);
        }
        fresh.estate = CreateExecutorState();
        fresh.old = MakeSingleTupleTableSlot(CreateTupleDescCopy(RelationGetDescr(rel)),
                                             &TTSOpsBufferHeapTuple);
        /* Only now: what failed half-way must not be found. */
        relation = hash_search(relations, &oid, HASH_ENTER, &found);
        *relation = fresh;
    }
    MemoryContextSwitchTo(caller);
    return relation;
}

/* The key of a row in an index; false if it has none there. */
static bool key_of(struct keyed_relation *relation, struct unique_index *index, TupleTableSlot *row,
                   uint64 *key)
{
    Datum values[INDEX_MAX_KEYS];
    bool nulls[INDEX_MAX_KEYS];
    IndexInfo *info = index->info;
    ExprContext *context = GetPerTupleExprContext(relation->estate);
    context->ecxt_scantuple = row;
    if (info->ii_Predicate != NIL) {
        if (!info->ii_PredicateState)
            info->ii_PredicateState = ExecPrepareQual(info->ii_Predicate, relation->estate);
        if (!ExecQual(info->ii_PredicateState, context))
            return false;
    }
    FormIndexDatum(info, row, relation->estate, values, nulls);
    MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
    uint64 hash = 0;
    bool distinct = false;
    for (int i = 0; i < info->ii_NumIndexKeyAttrs; i++) {
        uint64 part = 0;
        if (nulls[i])
            distinct = distinct || !info->ii_NullsNotDistinct;
        else if (index->hashes[i])
            part = DatumGetUInt64(FunctionCall2Coll(index->hashes[i], index->collations[i],
                                                    values[i], Int64GetDatum(1)));
        hash = hash_combine64(hash, part);
    }
    MemoryContextSwitchTo(caller);
    *key = hash;
    return !distinct;
}

static void add_key(Oid index, uint64 hash)
{
    if (key_count == key_room) {
        int room = key_room ? 2 * key_room : 64;
        Size size = (Size)room * sizeof(*keys);
        keys = keys ? repalloc(keys, size) : MemoryContextAlloc(TopTransactionContext, size);
        key_room = room;
    }
    keys[key_count++] = (struct dsql_key){.index = index, .hash = hash};
}

void dsql_keys_note(Relation rel, TupleTableSlot *row, TupleTableSlot *old)
{
    struct keyed_relation *relation = relation_of(rel);
    for (int i = 0; i < relation->unique_count; i++) {
        struct unique_index *index = &relation->uniques[i];
        uint64 now, before;
        if (key_of(relation, index, row, &now) &&
            !(old && key_of(relation, index, old, &before) && before == now))
            add_key(index->oid, now);
    }
    ResetPerTupleExprContext(relation->estate);
}

TupleTableSlot *dsql_keys_slot(Relation rel)
{
    return relation_of(rel)->old;
}

int dsql_keys_index_count(Relation rel)
{
    return relation_of(rel)->index_count;
}

int dsql_keys_all(const struct dsql_key **all)
{
    *all = keys;
    return key_count;
}

void dsql_keys_roll_back(void)
{
    relations = NULL;
}

void dsql_keys_forget(void)
{
    relations = NULL;
    keys = NULL;
    key_count = key_room = 0;
}

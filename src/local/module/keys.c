#include "local/module/module.h"

#include "local/module/keys.h"

#include <access/detoast.h>
#include <access/genam.h>
#include <catalog/index.h>
#include <common/hashfn.h>
#include <executor/executor.h>
#include <nodes/execnodes.h>
#include <nodes/nodeFuncs.h>
#include <utils/hsearch.h>
#include <utils/memutils.h>
#include <utils/rel.h>
#include <utils/typcache.h>

/* As measured on the service: one budget for all columns, some bytes for each after the first. */
enum { KEY_MOST = 1981, KEY_COLUMN = 7 };

/* An index, ready to give the keys of rows. */
struct keyed_index {
    Oid oid;
    bool unique, primary;
    IndexInfo *info;
    FmgrInfo
        *hashes[INDEX_MAX_KEYS]; /* NULL: a type that can't be hashed, all values count as one */
    Oid collations[INDEX_MAX_KEYS];
    int16 lengths[INDEX_MAX_KEYS]; /* typlen of the values */
};

struct keyed_relation {
    Oid oid; /* the hash key */
    int index_count;
    struct keyed_index *indexes;
    EState *estate;
    TupleTableSlot *old;
};

static HTAB *relations;
static struct dsql_key *keys;
static int key_count, key_room;

/* What is computed from a row for the index's column. That is not always what the index stores:
 * of a name it keeps a C string, of a polygon a box. */
static Oid type_of_values(Relation rel, const IndexInfo *info, int column, ListCell **expression)
{
    AttrNumber number = info->ii_IndexAttrNumbers[column];
    if (number != 0)
        return TupleDescAttr(RelationGetDescr(rel), number - 1)->atttypid;
    if (!*expression)
        return InvalidOid; /* no index is so: each column without a number has its expression */
    Oid type = exprType(lfirst(*expression));
    *expression = lnext(info->ii_Expressions, *expression);
    return type;
}

static void open_index(struct keyed_index *out, Relation rel, Relation index)
{
    out->oid = RelationGetRelid(index);
    out->unique = index->rd_index->indisunique;
    out->primary = index->rd_index->indisprimary;
    out->info = BuildIndexInfo(index);
    ListCell *expression = list_head(out->info->ii_Expressions);
    for (int i = 0; i < out->info->ii_NumIndexKeyAttrs; i++) {
        Oid type_id = type_of_values(rel, out->info, i, &expression);
        TypeCacheEntry *type = lookup_type_cache(type_id, TYPECACHE_HASH_EXTENDED_PROC_FINFO);
        out->lengths[i] = type->typlen;
        out->hashes[i] =
            OidIsValid(type->hash_extended_proc) ? &type->hash_extended_proc_finfo : NULL;
        out->collations[i] = index->rd_indcollation[i];
    }
}

/* While this transaction writes to the relation no other can change its indexes. */
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
        struct keyed_relation fresh = {.oid = oid};
        fresh.indexes = palloc0((Size)(list_length(indexes) + 1) * sizeof(*fresh.indexes));
        foreach (cell, indexes) {
            Relation index = index_open(lfirst_oid(cell), AccessShareLock);
            open_index(&fresh.indexes[fresh.index_count++], rel, index);
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

/* A row in an index: whether it has a key there that must be unique, and how long its key is. */
struct key {
    bool there, distinct;
    uint64 hash;
    Size size;
};

static Size size_of(Datum value, int16 length)
{
    if (length > 0)
        return (Size)length;
    return length == -1 ? toast_raw_datum_size(value) - VARHDRSZ : strlen(DatumGetCString(value));
}

static struct key key_of(struct keyed_relation *relation, struct keyed_index *index,
                         TupleTableSlot *row)
{
    Datum values[INDEX_MAX_KEYS];
    bool nulls[INDEX_MAX_KEYS];
    struct key key = {0};
    IndexInfo *info = index->info;
    ExprContext *context = GetPerTupleExprContext(relation->estate);
    context->ecxt_scantuple = row;
    if (info->ii_Predicate != NIL) {
        if (!info->ii_PredicateState)
            info->ii_PredicateState = ExecPrepareQual(info->ii_Predicate, relation->estate);
        if (!ExecQual(info->ii_PredicateState, context))
            return key;
    }
    FormIndexDatum(info, row, relation->estate, values, nulls);
    MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
    key.there = true;
    for (int i = 0; i < info->ii_NumIndexKeyAttrs; i++) {
        uint64 part = 0;
        if (nulls[i])
            key.distinct = key.distinct || !info->ii_NullsNotDistinct;
        else if (index->unique && index->hashes[i])
            part = DatumGetUInt64(FunctionCall2Coll(index->hashes[i], index->collations[i],
                                                    values[i], Int64GetDatum(1)));
        key.hash = hash_combine64(key.hash, part);
        key.size += i > 0 ? KEY_COLUMN : 0;
        if (!nulls[i])
            key.size += size_of(values[i], index->lengths[i]);
    }
    MemoryContextSwitchTo(caller);
    return key;
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

/* A secondary index carries the primary key. */
static void check_size(Size size, Size primary)
{
    if (size + (primary > 0 ? primary + KEY_COLUMN : 0) > KEY_MOST)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("key size too large")));
}

void dsql_keys_note(Relation rel, TupleTableSlot *row, TupleTableSlot *old)
{
    struct keyed_relation *relation = relation_of(rel);
    Size primary = 0, largest = 0;
    for (int i = 0; i < relation->index_count; i++) {
        struct keyed_index *index = &relation->indexes[i];
        struct key now = key_of(relation, index, row);
        if (!now.there)
            continue;
        if (index->primary)
            primary = now.size;
        else
            largest = Max(largest, now.size);
        if (!index->unique || now.distinct)
            continue;
        if (old) {
            struct key before = key_of(relation, index, old);
            if (before.there && !before.distinct && before.hash == now.hash)
                continue;
        }
        add_key(index->oid, now.hash);
    }
    check_size(primary, 0);
    if (largest > 0)
        check_size(largest, primary);
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

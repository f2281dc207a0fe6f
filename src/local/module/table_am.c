/*
 * The table access method: PostgreSQL's heap, with another idea of writing and of visibility.
 *
 * Reading: every scan uses the transaction's one snapshot, whatever newer one it is given (foreign
 * keys bring their own), and what this transaction removed is filtered out behind the heap.
 * Checks for unique keys see the same: another's concurrent row is not there, and COMMIT decides.
 */
#include "local/module/module.h"

#include "local/module/keys.h"
#include "local/module/sizes.h"
#include "local/module/versions.h"

#include <access/heapam.h>
#include <access/tableam.h>
#include <access/xact.h>
#include <catalog/pg_am_d.h>
#include <commands/vacuum.h>
#include <executor/tuptable.h>
#include <fmgr.h>
#include <utils/datum.h>
#include <utils/rel.h>
#include <utils/snapmgr.h>

static const TableAmRoutine *heap;
static TableAmRoutine routine;

/* A command that comes after all others: it sees all that this transaction did. */
#define LAST_COMMAND (InvalidCommandId - 1)

/* -- Reading. */

/* Whether the two see the same transactions: between equal bounds others can only have ended. */
static bool sees_the_same(Snapshot a, Snapshot b)
{
    return a->xmin == b->xmin && a->xmax == b->xmax && a->xcnt == b->xcnt &&
           a->subxcnt == b->subxcnt;
}

/*
 * The snapshot to look with, in place of the one given: the transaction's. A check for what is
 * there right now ("dirty") becomes a look at the snapshot and all that this transaction wrote.
 * memory is used for the answer where none exists yet.
 */
static Snapshot look_with(Snapshot given, SnapshotData *memory)
{
    CommandId at;
    if (dsql_in_ddl() || !IsolationUsesXactSnapshot())
        return given;
    if (given->snapshot_type == SNAPSHOT_MVCC)
        at = given->curcid;
    else if (given->snapshot_type == SNAPSHOT_DIRTY)
        at = LAST_COMMAND;
    else
        return given;
    Snapshot ours = GetTransactionSnapshot();
    if (given->snapshot_type == SNAPSHOT_MVCC && sees_the_same(given, ours))
        return given;
    *memory = *ours;
    memory->curcid = at;
    memory->copied = false;
    memory->active_count = memory->regd_count = 0;
    return memory;
}

/* Whether this transaction removed it, as far as the snapshot can tell. */
static bool is_hidden(Relation rel, const ItemPointerData *tid, Snapshot snapshot)
{
    switch (snapshot->snapshot_type) {
    case SNAPSHOT_MVCC:
        return dsql_version_is_hidden(rel, tid, snapshot->curcid);
    case SNAPSHOT_SELF:
    case SNAPSHOT_DIRTY:
        return dsql_version_is_hidden(rel, tid, LAST_COMMAND);
    case SNAPSHOT_ANY:
    case SNAPSHOT_TOAST:
    case SNAPSHOT_HISTORIC_MVCC:
    case SNAPSHOT_NON_VACUUMABLE:
        break;
    }
    return false;
}

static bool slot_is_hidden(TableScanDesc scan, TupleTableSlot *slot)
{
    return scan->rs_snapshot && is_hidden(scan->rs_rd, &slot->tts_tid, scan->rs_snapshot);
}

static TableScanDesc scan_begin(Relation rel, Snapshot snapshot, int key_count,
                                struct ScanKeyData *keys, ParallelTableScanDesc parallel,
                                uint32 flags)
{
    SnapshotData memory;
    Snapshot ours = snapshot ? look_with(snapshot, &memory) : snapshot;
    if (ours != snapshot) {
        if (flags & SO_TEMP_SNAPSHOT)
            UnregisterSnapshot(snapshot);
        ours = RegisterSnapshot(ours);
        flags |= SO_TEMP_SNAPSHOT; /* the heap lets it go at the end of the scan */
    }
    return heap->scan_begin(rel, ours, key_count, keys, parallel, flags);
}

static bool scan_getnextslot(TableScanDesc scan, ScanDirection direction, TupleTableSlot *slot)
{
    while (heap->scan_getnextslot(scan, direction, slot))
        if (!slot_is_hidden(scan, slot))
            return true;
    return false;
}

static bool scan_getnextslot_tidrange(TableScanDesc scan, ScanDirection direction,
                                      TupleTableSlot *slot)
{
    while (heap->scan_getnextslot_tidrange(scan, direction, slot))
        if (!slot_is_hidden(scan, slot))
            return true;
    return false;
}

static bool scan_bitmap_next_tuple(TableScanDesc scan, struct TBMIterateResult *page,
                                   TupleTableSlot *slot)
{
    while (heap->scan_bitmap_next_tuple(scan, page, slot))
        if (!slot_is_hidden(scan, slot))
            return true;
    return false;
}

static bool scan_sample_next_tuple(TableScanDesc scan, struct SampleScanState *state,
                                   TupleTableSlot *slot)
{
    while (heap->scan_sample_next_tuple(scan, state, slot))
        if (!slot_is_hidden(scan, slot))
            return true;
    return false;
}

static bool index_fetch_tuple(struct IndexFetchTableData *scan, ItemPointer tid, Snapshot snapshot,
                              TupleTableSlot *slot, bool *call_again, bool *all_dead)
{
    SnapshotData memory;
    Snapshot ours = look_with(snapshot, &memory);
    if (snapshot->snapshot_type == SNAPSHOT_DIRTY && ours != snapshot) {
        /* There is no transaction to wait for. */
        snapshot->xmin = snapshot->xmax = InvalidTransactionId;
        snapshot->speculativeToken = 0;
    }
    if (!heap->index_fetch_tuple(scan, tid, ours, slot, call_again, all_dead))
        return false;
    if (!is_hidden(scan->rel, &slot->tts_tid, ours))
        return true;
    ExecClearTuple(slot);
    *call_again = false;
    return false;
}

static bool tuple_fetch_row_version(Relation rel, ItemPointer tid, Snapshot snapshot,
                                    TupleTableSlot *slot)
{
    SnapshotData memory;
    Snapshot ours = look_with(snapshot, &memory);
    if (!heap->tuple_fetch_row_version(rel, tid, ours, slot))
        return false;
    if (!is_hidden(rel, tid, ours))
        return true;
    ExecClearTuple(slot);
    return false;
}

static bool tuple_satisfies_snapshot(Relation rel, TupleTableSlot *slot, Snapshot snapshot)
{
    SnapshotData memory;
    Snapshot ours = look_with(snapshot, &memory);
    return heap->tuple_satisfies_snapshot(rel, slot, ours) && !is_hidden(rel, &slot->tts_tid, ours);
}

/* -- Writing. */

static void tuple_insert(Relation rel, TupleTableSlot *slot, CommandId cid, int options,
                         struct BulkInsertStateData *bulk)
{
    if (!dsql_in_ddl()) {
        dsql_sizes_write(rel, slot, false);
        dsql_keys_note(rel, slot, NULL);
    }
    heap->tuple_insert(rel, slot, cid, options, bulk);
}

static void tuple_insert_speculative(Relation rel, TupleTableSlot *slot, CommandId cid, int options,
                                     struct BulkInsertStateData *bulk, uint32 token)
{
    dsql_sizes_write(rel, slot, false);
    dsql_keys_note(rel, slot, NULL);
    heap->tuple_insert_speculative(rel, slot, cid, options, bulk, token);
}

static void multi_insert(Relation rel, TupleTableSlot **slots, int count, CommandId cid,
                         int options, struct BulkInsertStateData *bulk)
{
    for (int i = 0; i < count && !dsql_in_ddl(); i++) {
        dsql_sizes_write(rel, slots[i], false);
        dsql_keys_note(rel, slots[i], NULL);
    }
    heap->multi_insert(rel, slots, count, cid, options, bulk);
}

/*
 * Looks at the version that a statement wants to change or lock; it is in slot afterwards. The
 * answer is the heap's for a transaction that is alone: whatever others did is found out at COMMIT.
 */
static TM_Result look_at(Relation rel, ItemPointer tid, CommandId cid, TupleTableSlot *slot,
                         bool *own, TM_FailureData *failure)
{
    if (!heap->tuple_fetch_row_version(rel, tid, SnapshotAny, slot))
        elog(ERROR, "a row that was read is gone");
    HeapTupleHeader header = ((HeapTupleTableSlot *)slot)->tuple->t_data;
    *own = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(header));
    failure->ctid = *tid;
    failure->xmax = InvalidTransactionId;
    failure->cmax = InvalidCommandId;
    failure->traversed = false;
    if (*own && HeapTupleHeaderGetCmin(header) >= cid)
        return TM_Invisible;
    const struct dsql_version *version = dsql_version_find(rel, tid);
    if (!version || !version->gone)
        return TM_Ok;
    failure->xmax = GetTopTransactionId();
    failure->cmax = version->gone_at;
    return version->gone_at >= cid ? TM_SelfModified : TM_Invisible;
}

static TM_Result tuple_delete(Relation rel, ItemPointer tid, CommandId cid, Snapshot snapshot,
                              Snapshot crosscheck, bool wait, TM_FailureData *failure, bool moving)
{
    bool own;
    if (dsql_in_ddl())
        return heap->tuple_delete(rel, tid, cid, snapshot, crosscheck, wait, failure, moving);
    TupleTableSlot *old = dsql_keys_slot(rel);
    TM_Result result = look_at(rel, tid, cid, old, &own, failure);
    ExecClearTuple(old);
    if (result != TM_Ok)
        return result;
    dsql_sizes_write(rel, NULL, own);
    dsql_version_touch(rel, tid, own, DSQL_MODE_EXCLUSIVE);
    dsql_version_remove(rel, tid, cid);
    return TM_Ok;
}

/* Whether a column of a key changed: one in a unique index that is neither partial nor on an
 * expression. */
static bool key_changed(Relation rel, TupleTableSlot *old, TupleTableSlot *new)
{
    Bitmapset *columns = RelationGetIndexAttrBitmap(rel, INDEX_ATTR_BITMAP_KEY);
    bool changed = false;
    for (int bit = -1; !changed && (bit = bms_next_member(columns, bit)) >= 0;) {
        int column = bit + FirstLowInvalidHeapAttributeNumber;
        if (column <= 0)
            continue;
        Form_pg_attribute attribute = TupleDescAttr(RelationGetDescr(rel), column - 1);
        bool old_null, new_null;
        Datum old_value = slot_getattr(old, column, &old_null);
        Datum new_value = slot_getattr(new, column, &new_null);
        changed = old_null != new_null ||
                  (!old_null &&
                   !datum_image_eq(old_value, new_value, attribute->attbyval, attribute->attlen));
    }
    bms_free(columns);
    return changed;
}

static TM_Result tuple_update(Relation rel, ItemPointer tid, TupleTableSlot *slot, CommandId cid,
                              Snapshot snapshot, Snapshot crosscheck, bool wait,
                              TM_FailureData *failure, LockTupleMode *lock, bool *update_indexes)
{
    bool own;
    if (dsql_in_ddl())
        return heap->tuple_update(rel, tid, slot, cid, snapshot, crosscheck, wait, failure, lock,
                                  update_indexes);
    TupleTableSlot *old = dsql_keys_slot(rel);
    ItemPointerData old_tid = *tid; /* it may be the slot's own, which the insert overwrites */
    TM_Result result = look_at(rel, tid, cid, old, &own, failure);
    *lock = LockTupleExclusive;
    *update_indexes = false;
    if (result == TM_Ok) {
        bool key = key_changed(rel, old, slot);
        dsql_sizes_write(rel, slot, own);
        dsql_keys_note(rel, slot, old);
        ExecClearTuple(old);
        heap->tuple_insert(rel, slot, cid, 0, NULL);
        dsql_version_touch(rel, &old_tid, own, key ? DSQL_MODE_EXCLUSIVE : DSQL_MODE_WRITE);
        dsql_version_remove(rel, &old_tid, cid);
        dsql_version_replace(rel, &old_tid, own, &slot->tts_tid);
        *update_indexes = true;
    }
    ExecClearTuple(old);
    return result;
}

static TM_Result tuple_lock(Relation rel, ItemPointer tid, Snapshot snapshot, TupleTableSlot *slot,
                            CommandId cid, LockTupleMode mode, LockWaitPolicy policy, uint8 flags,
                            TM_FailureData *failure)
{
    bool own;
    if (dsql_in_ddl())
        return heap->tuple_lock(rel, tid, snapshot, slot, cid, mode, policy, flags, failure);
    TM_Result result = look_at(rel, tid, cid, slot, &own, failure);
    if (result != TM_Ok)
        return result;
    switch (mode) {
    case LockTupleKeyShare:
        dsql_version_touch(rel, tid, own, DSQL_MODE_KEY_SHARE);
        break;
    case LockTupleNoKeyExclusive: /* before an UPDATE that says more */
        dsql_version_touch(rel, tid, own, DSQL_MODE_WRITE);
        break;
    case LockTupleShare:
    case LockTupleExclusive:
        dsql_version_touch(rel, tid, own, DSQL_MODE_EXCLUSIVE);
        dsql_sizes_lock();
        break;
    }
    return TM_Ok;
}

/* -- The rest. */

/* The heap's index build insists on a relation of the heap. */
static double index_build_range_scan(Relation rel, Relation index, struct IndexInfo *info,
                                     bool allow_sync, bool anyvisible, bool progress,
                                     BlockNumber start, BlockNumber count,
                                     IndexBuildCallback callback, void *state, TableScanDesc scan)
{
    double rows = 0;
    rel->rd_tableam = heap;
    PG_TRY();
    {
        rows = heap->index_build_range_scan(rel, index, info, allow_sync, anyvisible, progress,
                                            start, count, callback, state, scan);
    }
    PG_FINALLY();
    {
        rel->rd_tableam = &routine;
    }
    PG_END_TRY();
    return rows;
}

static void index_validate_scan(Relation rel, Relation index, struct IndexInfo *info,
                                Snapshot snapshot, struct ValidateIndexState *state)
{
    rel->rd_tableam = heap;
    PG_TRY();
    {
        heap->index_validate_scan(rel, index, info, snapshot, state);
    }
    PG_FINALLY();
    {
        rel->rd_tableam = &routine;
    }
    PG_END_TRY();
}

/* Cutting empty pages off takes a lock that others would wait for. */
static void relation_vacuum(Relation rel, struct VacuumParams *params,
                            BufferAccessStrategy strategy)
{
    VacuumParams gentle = *params;
    gentle.truncate = VACOPTVALUE_DISABLED;
    heap->relation_vacuum(rel, &gentle, strategy);
}

/* Large values are written once and never changed: PostgreSQL's own way is right for them. */
static Oid relation_toast_am(Relation rel)
{
    return HEAP_TABLE_AM_OID;
}

void dsql_table_am_init(void)
{
    heap = GetHeapamTableAmRoutine();
    routine = *heap;
    routine.scan_begin = scan_begin;
    routine.scan_getnextslot = scan_getnextslot;
    routine.scan_getnextslot_tidrange = scan_getnextslot_tidrange;
    routine.scan_bitmap_next_tuple = scan_bitmap_next_tuple;
    routine.scan_sample_next_tuple = scan_sample_next_tuple;
    routine.index_fetch_tuple = index_fetch_tuple;
    routine.tuple_fetch_row_version = tuple_fetch_row_version;
    routine.tuple_satisfies_snapshot = tuple_satisfies_snapshot;
    routine.tuple_insert = tuple_insert;
    routine.tuple_insert_speculative = tuple_insert_speculative;
    routine.multi_insert = multi_insert;
    routine.tuple_delete = tuple_delete;
    routine.tuple_update = tuple_update;
    routine.tuple_lock = tuple_lock;
    routine.index_build_range_scan = index_build_range_scan;
    routine.index_validate_scan = index_validate_scan;
    routine.relation_vacuum = relation_vacuum;
    routine.relation_toast_am = relation_toast_am;
}

PGDLLEXPORT Datum dsql_table_am(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_table_am);
Datum dsql_table_am(PG_FUNCTION_ARGS)
{
    PG_RETURN_POINTER(&routine);
}

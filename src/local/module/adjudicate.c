#include "local/module/module.h"

#include "local/module/adjudicate.h"

#include <access/transam.h>
#include <common/hashfn.h>
#include <miscadmin.h>
#include <storage/ipc.h>
#include <storage/lwlock.h>
#include <storage/procarray.h>
#include <storage/shmem.h>
#include <utils/snapmgr.h>

enum { NONE = -1 };

struct entry {
    Oid object;
    TransactionId xid;
    uint64 where;
    uint64 successor;
    int32 next; /* in its bucket, or in the list of free ones */
    uint8 mode; /* exactly one */
};

struct log {
    LWLock *lock;
    int32 room, used;
    int32 bucket_mask;
    int32 first_free;
    TransactionId floor; /* the newest transaction of which entries were given up; or none */
    /* The buckets follow, then the entries. */
};

static struct log *log_;
static int32 *buckets;
static struct entry *entries;

static int32 bucket_count(void)
{
    int32 count = 1024;
    while (count < dsql_log_entries)
        count *= 2;
    return count;
}

static Size log_size(void)
{
    Size size = MAXALIGN(sizeof(struct log));
    size = add_size(size, MAXALIGN(mul_size((Size)bucket_count(), sizeof(int32))));
    return add_size(size, mul_size((Size)dsql_log_entries, sizeof(struct entry)));
}

void dsql_log_request(void)
{
    RequestAddinShmemSpace(log_size());
    RequestNamedLWLockTranche("dsql_log", 1);
}

static void make_empty(void)
{
    for (int32 i = 0; i <= log_->bucket_mask; i++)
        buckets[i] = NONE;
    for (int32 i = 0; i < log_->room; i++)
        entries[i].next = i + 1 < log_->room ? i + 1 : NONE;
    log_->first_free = 0;
    log_->used = 0;
}

void dsql_log_attach(void)
{
    bool found;
    LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
    log_ = ShmemInitStruct("dsql_log", log_size(), &found);
    buckets = (int32 *)((char *)log_ + MAXALIGN(sizeof(struct log)));
    entries =
        (struct entry *)((char *)buckets + MAXALIGN(mul_size((Size)bucket_count(), sizeof(int32))));
    if (!found) {
        log_->lock = &GetNamedLWLockTranche("dsql_log")->lock;
        log_->room = dsql_log_entries;
        log_->bucket_mask = bucket_count() - 1;
        log_->floor = InvalidTransactionId;
        make_empty();
    }
    LWLockRelease(AddinShmemInitLock);
}

static int32 *bucket_of(Oid object, uint64 where)
{
    return &buckets[hash_combine64(murmurhash32(object), where * UINT64CONST(0x9E3779B97F4A7C15)) >>
                        20 &
                    (uint64)log_->bucket_mask];
}

/* The matrix. */
static uint8 enemies_of(uint8 mode)
{
    switch (mode) {
    case DSQL_MODE_EXCLUSIVE:
        return DSQL_MODE_EXCLUSIVE | DSQL_MODE_WRITE | DSQL_MODE_KEY_SHARE;
    case DSQL_MODE_WRITE:
        return DSQL_MODE_EXCLUSIVE | DSQL_MODE_WRITE;
    default:
        return DSQL_MODE_EXCLUSIVE;
    }
}

/* Judges one effect, and moves it to the version of the row that is there now. */
static bool conflicts(struct dsql_effect *effect, Snapshot snapshot)
{
    uint8 enemies = 0;
    for (int mode = DSQL_MODE_KEY_SHARE; mode <= DSQL_MODE_EXCLUSIVE; mode *= 2)
        enemies |= effect->modes & mode ? enemies_of((uint8)mode) : 0;
    for (uint64 successor;; effect->where = successor) {
        successor = 0;
        for (int32 i = *bucket_of(effect->object, effect->where); i != NONE; i = entries[i].next) {
            const struct entry *entry = &entries[i];
            if (entry->object != effect->object || entry->where != effect->where ||
                !XidInMVCCSnapshot(entry->xid, snapshot))
                continue;
            if (entry->mode & enemies)
                return true;
            if (entry->successor)
                successor = entry->successor;
        }
        if (!successor)
            return false;
    }
}

static void free_entry(int32 *link)
{
    int32 i = *link;
    *link = entries[i].next;
    entries[i].next = log_->first_free;
    log_->first_free = i;
    log_->used--;
}

/* Drops the entries of transactions before xid. */
static void drop_before(TransactionId xid)
{
    for (int32 b = 0; b <= log_->bucket_mask; b++) {
        for (int32 *link = &buckets[b]; *link != NONE;) {
            if (TransactionIdPrecedes(entries[*link].xid, xid))
                free_entry(link);
            else
                link = &entries[*link].next;
        }
    }
}

/*
 * Makes room, an eighth of the log at least, so that it pays. What every snapshot sees is not
 * needed. If that is not enough, the older half of the transactions in the log is given up, and the
 * floor rises.
 */
static void make_room(int32 wanted)
{
    wanted = Max(wanted, log_->room / 8);
    TransactionId horizon = GetOldestNonRemovableTransactionId(NULL);
    drop_before(horizon);
    if (TransactionIdIsValid(log_->floor) && TransactionIdPrecedes(log_->floor, horizon))
        log_->floor = InvalidTransactionId;
    TransactionId newest = ReadNextTransactionId();
    while (log_->room - log_->used < wanted && log_->used > 0) {
        TransactionId oldest = newest;
        for (int32 b = 0; b <= log_->bucket_mask; b++)
            for (int32 i = buckets[b]; i != NONE; i = entries[i].next)
                if (TransactionIdPrecedes(entries[i].xid, oldest))
                    oldest = entries[i].xid;
        TransactionId floor = oldest + (newest - oldest) / 2;
        if (!TransactionIdIsNormal(floor))
            floor = FirstNormalTransactionId;
        log_->floor = floor;
        TransactionIdAdvance(floor);
        drop_before(floor);
    }
}

/*
 * An entry of the same object goes if the new one stands for it as well (J2). The new transaction
 * sees all of them that conflict with it, or it would not be here: so a transaction that does not
 * see them does not see it either. Key shares do not conflict with each other and must be looked at
 * one by one.
 */
static bool is_covered(const struct entry *old, uint8 mode, Snapshot snapshot)
{
    switch (mode) {
    case DSQL_MODE_EXCLUSIVE:
        return true;
    case DSQL_MODE_WRITE:
        return old->mode == DSQL_MODE_WRITE;
    default:
        return old->mode == DSQL_MODE_KEY_SHARE && !XidInMVCCSnapshot(old->xid, snapshot);
    }
}

static void add(const struct dsql_effect *effect, uint8 mode, TransactionId xid, Snapshot snapshot)
{
    int32 *bucket = bucket_of(effect->object, effect->where);
    for (int32 *link = bucket; *link != NONE;) {
        const struct entry *old = &entries[*link];
        if (old->object == effect->object && old->where == effect->where &&
            is_covered(old, mode, snapshot))
            free_entry(link);
        else
            link = &entries[*link].next;
    }
    int32 i = log_->first_free;
    Assert(i != NONE);
    log_->first_free = entries[i].next;
    log_->used++;
    entries[i] = (struct entry){.object = effect->object,
                                .where = effect->where,
                                .successor = effect->successor,
                                .mode = mode,
                                .xid = xid,
                                .next = *bucket};
    *bucket = i;
}

static void add_all(Snapshot snapshot, TransactionId xid, const struct dsql_effect *effects,
                    int count)
{
    for (int e = 0; e < count; e++) {
        uint8 modes = effects[e].modes;
        if (modes & DSQL_MODE_EXCLUSIVE)
            modes = DSQL_MODE_EXCLUSIVE;
        for (int mode = DSQL_MODE_KEY_SHARE; mode <= DSQL_MODE_EXCLUSIVE; mode *= 2)
            if (modes & mode)
                add(&effects[e], (uint8)mode, xid, snapshot);
    }
}

bool dsql_adjudicate(Snapshot snapshot, TransactionId xid, struct dsql_effect *effects, int count)
{
    LWLockAcquire(log_->lock, LW_EXCLUSIVE);
    int32 wanted = 2 * count; /* a row may have been written and share-locked */
    bool ok = wanted <= log_->room;
    if (ok && log_->room - log_->used < wanted)
        make_room(wanted);
    /* All transactions before xmin are over and seen. */
    ok = ok && !(TransactionIdIsValid(log_->floor) &&
                 TransactionIdFollowsOrEquals(log_->floor, snapshot->xmin));
    for (int e = 0; ok && e < count; e++)
        ok = !conflicts(&effects[e], snapshot);
    if (ok)
        add_all(snapshot, xid, effects, count);
    LWLockRelease(log_->lock);
    return ok;
}

#include "local/module/module.h"

#include "local/module/versions.h"

#include <access/xact.h>
#include <utils/memutils.h>
#include <utils/rel.h>

/* A deletion and who did it, so that a subtransaction can be undone. */
struct removal {
    struct dsql_version_id id, identity;
    ItemPointerData successor; /* of the identity, before */
    SubTransactionId subtransaction;
};

static HTAB *versions;
static struct removal *removals;
static int removal_count, removal_room;

static void id_of(struct dsql_version_id *id, Relation rel, const ItemPointerData *tid)
{
    memset(id, 0, sizeof(*id)); /* padding takes part in hashing */
    id->relation = RelationGetRelid(rel);
    id->tid = *tid;
}

static struct dsql_version *find(const struct dsql_version_id *id)
{
    return hash_search(versions, id, HASH_FIND, NULL);
}

struct dsql_version *dsql_version_find(Relation rel, const ItemPointerData *tid)
{
    struct dsql_version_id id;
    if (!versions)
        return NULL;
    id_of(&id, rel, tid);
    return find(&id);
}

struct dsql_version *dsql_version_get(Relation rel, const ItemPointerData *tid)
{
    struct dsql_version_id id;
    bool found;
    if (!versions) {
        HASHCTL control = {.keysize = sizeof(struct dsql_version_id),
                           .entrysize = sizeof(struct dsql_version),
                           .hcxt = TopTransactionContext};
        versions =
            hash_create("dsql versions", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
    }
    id_of(&id, rel, tid);
    struct dsql_version *version = hash_search(versions, &id, HASH_ENTER, &found);
    if (!found) {
        memset(version, 0, sizeof(*version));
        version->id = id;
        ItemPointerSetInvalid(&version->successor);
    }
    return version;
}

bool dsql_version_is_hidden(Relation rel, const ItemPointerData *tid, CommandId seen_at)
{
    const struct dsql_version *version = dsql_version_find(rel, tid);
    return version && version->gone && version->gone_at < seen_at;
}

void dsql_version_touch(Relation rel, const ItemPointerData *tid, bool own, enum dsql_mode mode)
{
    if (own) {
        const struct dsql_version *version = dsql_version_find(rel, tid);
        if (!version || !version->stands_for_another)
            return; /* no other transaction can know a row that this one inserted */
        ItemPointerData identity = version->identity;
        dsql_version_get(rel, &identity)->modes |= mode;
        return;
    }
    dsql_version_get(rel, tid)->modes |= mode;
}

void dsql_version_remove(Relation rel, const ItemPointerData *tid, CommandId at)
{
    struct dsql_version *version = dsql_version_get(rel, tid);
    version->gone = true;
    version->gone_at = at;
    if (removal_count == removal_room) {
        int room = removal_room ? 2 * removal_room : 64;
        Size size = (Size)room * sizeof(*removals);
        removals =
            removals ? repalloc(removals, size) : MemoryContextAlloc(TopTransactionContext, size);
        removal_room = room;
    }
    struct removal *removal = &removals[removal_count++];
    removal->id = removal->identity = version->id;
    if (version->stands_for_another)
        removal->identity.tid = version->identity;
    removal->successor = find(&removal->identity)->successor;
    removal->subtransaction = GetCurrentSubTransactionId();
}

void dsql_version_replace(Relation rel, const ItemPointerData *old, bool own,
                          const ItemPointerData *replacement)
{
    ItemPointerData identity = *old;
    if (own) {
        const struct dsql_version *version = dsql_version_find(rel, old);
        if (!version || !version->stands_for_another)
            return;
        identity = version->identity;
    }
    struct dsql_version *version = dsql_version_get(rel, replacement);
    version->stands_for_another = true;
    version->identity = identity;
    dsql_version_get(rel, &identity)->successor = *replacement;
}

HTAB *dsql_versions_all(void)
{
    return versions;
}

void dsql_versions_roll_back(SubTransactionId subtransaction)
{
    /* Its own children, committed or not, have higher numbers; no other subtransaction since it
     * began. */
    while (removal_count > 0 && removals[removal_count - 1].subtransaction >= subtransaction) {
        const struct removal *removal = &removals[--removal_count];
        find(&removal->id)->gone = false;
        find(&removal->identity)->successor = removal->successor;
    }
}

void dsql_versions_forget(void)
{
    versions = NULL;
    removals = NULL;
    removal_count = removal_room = 0;
}

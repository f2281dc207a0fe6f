/*
 * The item that a fleet shares in the protocol `blocks`, and the only ways in which it changes.
 * Both are plain data: budget/ writes an operation as a DynamoDB UpdateItem, tests and the
 * simulator apply it with dsql_registry_apply(). The two mean the same, and a test compares them on
 * real servers.
 *
 * A *block* is what one owner has: slots (connections it may hold), permits (connects it may make)
 * and a beat that changes with everything it writes. The bucket of connects is kept in the item
 * too: level + all permits + spent changes only when somebody *claims* what time has let flow in,
 * so that drawing, using, returning and losing permits need no agreement about time.
 *
 * Rules of the item: (R1) the slots of all blocks never exceed the limit: whoever takes more has
 * seen the current version, and nothing else raises a block; (R2) level + permits + spent never
 * exceed the burst; (R3) a block is changed only by its owner, and removed only by its owner or
 * while its beat is the one that was seen to stand still.
 */
#ifndef DSQL_CORE_REGISTRY_H
#define DSQL_CORE_REGISTRY_H

#include "base/time.h"

enum {
    DSQL_OWNER_ID_LEN = 16,
    DSQL_OWNER_NAME_MAX = 63,
    DSQL_OWNERS_MAX = 2048, /* what fits into an item of 400 KB, with room to spare */
    DSQL_REMOVE_MAX = 4,    /* blocks taken away in one operation */
    DSQL_PERMIT = 1000,     /* level and spent are counted in thousandths of a permit */
};

struct dsql_block {
    char id[DSQL_OWNER_ID_LEN + 1];
    char name[DSQL_OWNER_NAME_MAX + 1]; /* the service, for people */
    int64_t slots, want, permits;
    int64_t beat;
    int64_t ttl_ms;  /* the owner's, so that observers with a shorter one don't take it for dead */
    int64_t seen_ms; /* the owner's wall clock at its last beat: shown to people, never compared */
};

struct dsql_registry {
    bool exists;
    int64_t version; /* changes whenever slots are taken */
    int64_t claim;   /* changes whenever flow is claimed */
    int64_t level, spent;
    int64_t rate; /* thousandths of a permit a second, in effect: lower after throttling */
    struct dsql_block *blocks; /* sorted by id */
    size_t count, room;
};

/* All zero is an item that does not exist. */
void dsql_registry_fini(struct dsql_registry *registry);
DSQL_MUST_USE enum dsql_rc dsql_registry_reserve(struct dsql_registry *registry, size_t blocks);
DSQL_MUST_USE enum dsql_rc dsql_registry_copy(struct dsql_registry *to,
                                              const struct dsql_registry *from);
void dsql_registry_sort(struct dsql_registry *registry);

/* The block of an owner, or NULL. */
struct dsql_block *dsql_registry_find(const struct dsql_registry *registry, const char *id);

int64_t dsql_registry_slots(const struct dsql_registry *registry);
int64_t dsql_registry_permits(const struct dsql_registry *registry);

/*
 * The fair share of each block in `total` slots: nobody gets more than it wants, nobody less than
 * somebody who gets more. Shares for the same item are the same everywhere; where they don't
 * divide, smaller ids get one more. Answers that of the block at `index`.
 */
int64_t dsql_registry_share(const struct dsql_registry *registry, size_t index, int64_t total);

/* How many slots all blocks but the one at `except` lack of their shares. */
int64_t dsql_registry_lacking(const struct dsql_registry *registry, size_t except, int64_t total);

enum dsql_registry_kind {
    DSQL_REGISTRY_OPEN,   /* makes the item if there is none: always applied */
    DSQL_REGISTRY_JOIN,   /* adds a block: if there is none of that id */
    DSQL_REGISTRY_UPDATE, /* if the block's beat is beat_old */
    DSQL_REGISTRY_LEAVE,  /* takes the block away: if its beat is beat_old */
};

/* One conditional update of the item: all of it is applied, or nothing. */
struct dsql_registry_op {
    enum dsql_registry_kind kind;
    struct dsql_block
        block; /* id, beat, ttl, name, times; and if set_block, what it has from now on */
    int64_t beat_old;
    bool set_block;
    bool grow; /* takes slots: if the version is version_old; the version changes */
    int64_t version_old;
    int64_t level_add; /* thousandths; negative for a draw */
    int64_t level_min; /* applied only if level is at least so high */
    int64_t spent_add;
    bool claim; /* if the claim is claim_old; the claim changes, the rate becomes rate_new */
    int64_t claim_old;
    bool slow; /* if the rate is rate_old: it becomes rate_new, and the level 0 */
    int64_t rate_old, rate_new;
    size_t remove_count; /* blocks to take away: if their beats are these */
    struct {
        char id[DSQL_OWNER_ID_LEN + 1];
        int64_t beat;
    } remove[DSQL_REMOVE_MAX];
    /* OPEN: what a new item holds. */
    int64_t level_new;
};

/* Applies the operation or refuses it, as the table does. Fails only with DSQL_NO_MEMORY. */
DSQL_MUST_USE enum dsql_rc dsql_registry_apply(struct dsql_registry *registry,
                                               const struct dsql_registry_op *op, bool *applied);

#endif

/*
 * The item that a fleet shares in the protocol `blocks`, and the only ways in which it changes.
 * Both are plain data: budget/ writes an operation as a DynamoDB UpdateItem, tests and the
 * simulator apply it with dsql_registry_apply(). The two mean the same, and a test compares them on
 * real servers.
 *
 * A *block* is what one owner has: *slots* (connections it may hold), a *flow* (connects a second),
 * a *purse* (the most permits it may have in hand) and a beat that changes with everything it
 * writes. Permits that no owner has in hand lie in the *pot*.
 *
 * Rules of the item: (RG1) the slots of all blocks never exceed the limit, (RG2) their flows never
 * the rate, (RG3) their purses and the pot together never the burst: an owner that makes one of the
 * three sums grow has seen the current version; (RG4) a block is changed only by its owner, and
 * removed only by its owner or while its beat is the one that was seen to stand still.
 *
 * Why that bounds the connects: let H be the permits in the pot and in all purses. H grows only by
 * flow, so by at most rate * t in t seconds (RG2); it is never above the burst (RG3); a connect
 * takes one. So in any stretch of t seconds there are at most burst + rate * t connects. An owner
 * counts its flow from when it heard of it, and no longer after it asked to give it up: less than
 * the table says, never more. What is given up or taken away is room, not permits: a purse starts
 * empty but for what it was given out of the pot.
 */
#ifndef DSQL_CORE_REGISTRY_H
#define DSQL_CORE_REGISTRY_H

#include "base/time.h"

enum {
    DSQL_OWNER_ID_LEN = 16,
    DSQL_OWNER_NAME_MAX = 63,
    DSQL_OWNER_BYTES = 150, /* in the item, about */
    DSQL_OWNERS_MAX = 2048, /* what fits into an item of 400 KB, with room to spare */
    DSQL_REMOVE_MAX = 4,    /* blocks taken away in one operation */
    DSQL_PERMIT = 1000,     /* flows and rates are counted in thousandths of a permit a second */
};

/* What is shared out: how much of it a block has, and how much its owner would like to have. */
enum dsql_good { DSQL_SLOTS, DSQL_FLOW, DSQL_GOODS };
struct dsql_part {
    int64_t has, wants;
};

struct dsql_block {
    char id[DSQL_OWNER_ID_LEN + 1];
    char name[DSQL_OWNER_NAME_MAX + 1]; /* the service, for people */
    struct dsql_part of[DSQL_GOODS];
    int64_t purse;
    int64_t beat;
    int64_t ttl_ms;  /* the owner's, so that observers with a shorter one don't take it for dead */
    int64_t seen_ms; /* the owner's wall clock at its last beat: shown to people, never compared */
};

struct dsql_registry {
    bool exists;
    int64_t version; /* changes whenever a sum grows */
    int64_t pot;
    int64_t rate;  /* thousandths of a permit a second, in effect: lower after throttling */
    int64_t limit; /* the slots of all that the last owner to join goes by: shown to people, never
                      compared; 0 if no owner has written one */
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

/* The sums of (RG1) and (RG2), and of all purses. */
int64_t dsql_registry_sum(const struct dsql_registry *registry, enum dsql_good good);
int64_t dsql_registry_purses(const struct dsql_registry *registry);

/*
 * The fair share of each block in `total` of a good: no block gets more than it wants, and none
 * that wants more gets less than another. Shares for the same item are the same everywhere; where
 * they don't divide, smaller ids get one more. Answers that of the block at `index`.
 */
int64_t dsql_registry_share(const struct dsql_registry *registry, enum dsql_good good, size_t index,
                            int64_t total);

/* The fair share of the block at `index` if it wanted `wants`, and how much all others lack of
 * their shares. */
struct dsql_stake {
    int64_t share, others_lack;
};
struct dsql_stake dsql_registry_stake(const struct dsql_registry *registry, enum dsql_good good,
                                      size_t index, int64_t wants, int64_t total);

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
    bool grow; /* a sum grows: if the version is version_old; the version changes */
    int64_t version_old;
    int64_t pot_add; /* negative for a draw: if there are so many in it */
    bool set_rate;   /* if the rate is rate_old: it becomes rate_new */
    int64_t rate_old, rate_new;
    bool empty_pot;      /* whatever pot_add says */
    size_t remove_count; /* blocks to take away: if their beats are these */
    struct {
        char id[DSQL_OWNER_ID_LEN + 1];
        int64_t beat;
    } remove[DSQL_REMOVE_MAX];
    /* OPEN: what a new item holds; rate_new too. */
    int64_t pot_new;
    int64_t limit; /* OPEN, JOIN */
};

/* Applies the operation or refuses it, as the table does. Fails only with DSQL_NO_MEMORY. */
DSQL_MUST_USE enum dsql_rc dsql_registry_apply(struct dsql_registry *registry,
                                               const struct dsql_registry_op *op, bool *applied);

#endif

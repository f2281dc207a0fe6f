#include "core/registry.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/least.h"

void dsql_registry_fini(struct dsql_registry *registry)
{
    free(registry->blocks);
    *registry = (struct dsql_registry){0};
}

enum dsql_rc dsql_registry_reserve(struct dsql_registry *registry, size_t blocks)
{
    return DSQL_GROW(registry->blocks, registry->room, blocks) ? DSQL_OK : DSQL_NO_MEMORY;
}

enum dsql_rc dsql_registry_copy(struct dsql_registry *to, const struct dsql_registry *from)
{
    enum dsql_rc rc = dsql_registry_reserve(to, from->count);
    if (rc)
        return rc;
    struct dsql_block *blocks = to->blocks;
    size_t room = to->room;
    if (from->count > 0)
        memcpy(blocks, from->blocks, from->count * sizeof(*blocks));
    *to = *from;
    to->blocks = blocks;
    to->room = room;
    return DSQL_OK;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const struct dsql_block *)a)->id, ((const struct dsql_block *)b)->id);
}

void dsql_registry_sort(struct dsql_registry *registry)
{
    if (registry->count > 0)
        qsort(registry->blocks, registry->count, sizeof(*registry->blocks), by_id);
}

/* Where the id stands, or where it would. */
static size_t place(const struct dsql_registry *registry, const char *id, bool *found)
{
    size_t low = 0, high = registry->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(registry->blocks[middle].id, id);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *found = false;
    return low;
}

struct dsql_block *dsql_registry_find(const struct dsql_registry *registry, const char *id)
{
    bool found;
    size_t at = place(registry, id, &found);
    return found ? &registry->blocks[at] : NULL;
}

int64_t dsql_registry_sum(const struct dsql_registry *registry, enum dsql_good good)
{
    int64_t sum = 0;
    for (size_t i = 0; i < registry->count; i++)
        sum += registry->blocks[i].of[good].has;
    return sum;
}

int64_t dsql_registry_purses(const struct dsql_registry *registry)
{
    int64_t sum = 0;
    for (size_t i = 0; i < registry->count; i++)
        sum += registry->blocks[i].purse;
    return sum;
}

/* How much of a good each block wants, where the one at `index` wants `wants`. */
struct claims {
    const struct dsql_registry *registry;
    enum dsql_good good;
    size_t index;
    int64_t wants;
};

static int64_t claim_of(const struct claims *claims, size_t i)
{
    return i == claims->index ? claims->wants : claims->registry->blocks[i].of[claims->good].wants;
}

/* What is handed out when no block gets more than `level`. */
static int64_t handed_out(const struct claims *claims, int64_t level)
{
    int64_t sum = 0;
    for (size_t i = 0; i < claims->registry->count; i++) {
        int64_t wants = claim_of(claims, i);
        sum += dsql_least(wants, level);
    }
    return sum;
}

/* Each block gets at most `low`; the first `left` of those that want more get one more. */
struct shares {
    int64_t low, left;
};

static struct shares share_out(const struct claims *claims, int64_t total)
{
    int64_t most = 0;
    for (size_t i = 0; i < claims->registry->count; i++) {
        int64_t wants = claim_of(claims, i);
        most = dsql_most(wants, most);
    }
    if (total <= 0)
        return (struct shares){0, 0};
    if (handed_out(claims, most) <= total)
        return (struct shares){most, 0};
    int64_t low = 0, high = most; /* handed_out(low) <= total < handed_out(high) */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (handed_out(claims, middle) <= total)
            low = middle;
        else
            high = middle;
    }
    return (struct shares){low, total - handed_out(claims, low)};
}

/* To be asked in the order of the blocks. */
static int64_t share_of(struct shares *shares, int64_t wants)
{
    if (wants <= shares->low)
        return wants;
    return shares->low + (shares->left-- > 0);
}

struct dsql_stake dsql_registry_stake(const struct dsql_registry *registry, enum dsql_good good,
                                      size_t index, int64_t wants, int64_t total)
{
    assert(index < registry->count);
    struct claims claims = {registry, good, index, wants};
    struct shares shares = share_out(&claims, total);
    struct dsql_stake stake = {0};
    for (size_t i = 0; i < registry->count; i++) {
        int64_t share = share_of(&shares, claim_of(&claims, i));
        int64_t lacks = share - registry->blocks[i].of[good].has;
        if (i == index)
            stake.share = share;
        else if (lacks > 0)
            stake.others_lack += lacks;
    }
    return stake;
}

int64_t dsql_registry_share(const struct dsql_registry *registry, enum dsql_good good, size_t index,
                            int64_t total)
{
    assert(index < registry->count);
    int64_t wants = registry->blocks[index].of[good].wants;
    return dsql_registry_stake(registry, good, index, wants, total).share;
}

static bool permitted(const struct dsql_registry *registry, const struct dsql_registry_op *op)
{
    const struct dsql_block *own = dsql_registry_find(registry, op->block.id);
    if (!registry->exists)
        return false;
    if (op->kind == DSQL_REGISTRY_JOIN ? own != NULL : !own || own->beat != op->beat_old)
        return false;
    if (op->grow && registry->version != op->version_old)
        return false;
    if (registry->pot + op->pot_add < 0 || (op->set_rate && registry->rate != op->rate_old))
        return false;
    for (size_t i = 0; i < op->remove_count; i++) {
        const struct dsql_block *other = dsql_registry_find(registry, op->remove[i].id);
        if (!other || other->beat != op->remove[i].beat)
            return false;
    }
    return true;
}

static void take_away(struct dsql_registry *registry, const char *id)
{
    bool found;
    size_t at = place(registry, id, &found);
    assert(found);
    memmove(&registry->blocks[at], &registry->blocks[at + 1],
            (registry->count - at - 1) * sizeof(*registry->blocks));
    registry->count--;
}

static enum dsql_rc add_block(struct dsql_registry *registry, const struct dsql_block *block)
{
    bool found;
    enum dsql_rc rc = dsql_registry_reserve(registry, registry->count + 1);
    if (rc)
        return rc;
    size_t at = place(registry, block->id, &found);
    assert(!found);
    memmove(&registry->blocks[at + 1], &registry->blocks[at],
            (registry->count - at) * sizeof(*registry->blocks));
    registry->blocks[at] = *block;
    registry->count++;
    return DSQL_OK;
}

static void set_block(struct dsql_registry *registry, const struct dsql_registry_op *op)
{
    struct dsql_block *own = dsql_registry_find(registry, op->block.id);
    if (op->set_block)
        *own = op->block;
    own->beat = op->block.beat;
    own->seen_ms = op->block.seen_ms;
}

enum dsql_rc dsql_registry_apply(struct dsql_registry *registry, const struct dsql_registry_op *op,
                                 bool *applied)
{
    enum dsql_rc rc = DSQL_OK;
    if (op->kind == DSQL_REGISTRY_OPEN) {
        if (!registry->exists) {
            registry->exists = true;
            registry->pot = op->pot_new;
            registry->rate = op->rate_new;
            registry->limit = op->limit;
        }
        *applied = true;
        return DSQL_OK;
    }
    *applied = permitted(registry, op);
    if (!*applied)
        return DSQL_OK;
    if (op->kind == DSQL_REGISTRY_JOIN)
        rc = add_block(registry, &op->block);
    else if (op->kind == DSQL_REGISTRY_LEAVE)
        take_away(registry, op->block.id);
    else
        set_block(registry, op);
    if (rc)
        return rc;
    if (op->kind == DSQL_REGISTRY_JOIN)
        registry->limit = op->limit;
    for (size_t i = 0; i < op->remove_count; i++)
        take_away(registry, op->remove[i].id);
    registry->version += op->grow;
    registry->pot = op->empty_pot ? 0 : registry->pot + op->pot_add;
    if (op->set_rate)
        registry->rate = op->rate_new;
    return DSQL_OK;
}

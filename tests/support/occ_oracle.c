#include "support/occ_oracle.h"

#include <assert.h>
#include <string.h>

void occ_begin(struct occ_tx *tx, struct occ_world *world)
{
    tx->world = world;
    tx->looked = false;
    tx->snapshot = 0;
    tx->row_count = tx->own_count = tx->effect_count = 0;
}

void occ_look(struct occ_tx *tx)
{
    if (tx->looked)
        return;
    tx->looked = true;
    tx->snapshot = tx->world->commits;
    tx->row_count = tx->world->row_count;
    memcpy(tx->rows, tx->world->rows, tx->row_count * sizeof(tx->rows[0]));
}

struct occ_row *occ_find(struct occ_tx *tx, enum occ_table table, int id)
{
    occ_look(tx);
    for (size_t i = 0; i < tx->row_count; i++)
        if (tx->rows[i].table == table && tx->rows[i].id == id)
            return &tx->rows[i];
    return NULL;
}

static bool is_own(const struct occ_tx *tx, uint64_t number)
{
    for (size_t i = 0; i < tx->own_count; i++)
        if (tx->own[i] == number)
            return true;
    return false;
}

static void note(struct occ_tx *tx, enum occ_kind kind, uint64_t what, unsigned mode)
{
    if (kind == OCC_ROW && is_own(tx, what))
        return; /* nobody else can know it */
    for (size_t i = 0; i < tx->effect_count; i++) {
        if (tx->effects[i].kind == kind && tx->effects[i].what == what) {
            tx->effects[i].modes |= mode;
            return;
        }
    }
    assert(tx->effect_count < OCC_EFFECTS_MAX);
    tx->effects[tx->effect_count++] =
        (struct occ_effect){.kind = kind, .what = what, .modes = mode};
}

static bool k_is_taken(const struct occ_tx *tx, int k)
{
    for (size_t i = 0; i < tx->row_count; i++)
        if (tx->rows[i].table == OCC_T && tx->rows[i].k == k)
            return true;
    return false;
}

static bool has_children(const struct occ_tx *tx, int id)
{
    for (size_t i = 0; i < tx->row_count; i++)
        if (tx->rows[i].table == OCC_C && tx->rows[i].k == id)
            return true;
    return false;
}

enum occ_answer occ_insert(struct occ_tx *tx, enum occ_table table, int id, int k, int v)
{
    if (occ_find(tx, table, id) || (table == OCC_T && k != OCC_NULL && k_is_taken(tx, k)))
        return OCC_DUPLICATE;
    if (table == OCC_C) {
        const struct occ_row *parent = occ_find(tx, OCC_T, k);
        if (!parent)
            return OCC_FOREIGN;
        note(tx, OCC_ROW, parent->number, OCC_KEY_SHARE);
    }
    note(tx, table == OCC_T ? OCC_T_ID : OCC_C_ID, (uint64_t)id, OCC_EXCLUSIVE);
    if (table == OCC_T && k != OCC_NULL)
        note(tx, OCC_T_K, (uint64_t)k, OCC_EXCLUSIVE);
    assert(tx->row_count < OCC_ROWS_MAX && tx->own_count < OCC_ROWS_MAX);
    uint64_t number = ++tx->world->next_number;
    tx->own[tx->own_count++] = number;
    tx->rows[tx->row_count++] =
        (struct occ_row){.number = number, .table = table, .id = id, .k = k, .v = v};
    return OCC_DONE;
}

enum occ_answer occ_update(struct occ_tx *tx, struct occ_row *row, int id, int k, int v)
{
    assert(row->table == OCC_T);
    if (id != row->id && occ_find(tx, OCC_T, id))
        return OCC_DUPLICATE;
    if (k != row->k && k != OCC_NULL && k_is_taken(tx, k))
        return OCC_DUPLICATE;
    if (id != row->id && has_children(tx, row->id))
        return OCC_FOREIGN;
    bool key = id != row->id || k != row->k;
    note(tx, OCC_ROW, row->number, key ? OCC_EXCLUSIVE : OCC_WRITE);
    if (id != row->id)
        note(tx, OCC_T_ID, (uint64_t)id, OCC_EXCLUSIVE);
    if (k != row->k && k != OCC_NULL)
        note(tx, OCC_T_K, (uint64_t)k, OCC_EXCLUSIVE);
    row->id = id;
    row->k = k;
    row->v = v;
    return OCC_DONE;
}

enum occ_answer occ_delete(struct occ_tx *tx, struct occ_row *row)
{
    if (row->table == OCC_T && has_children(tx, row->id))
        return OCC_FOREIGN;
    note(tx, OCC_ROW, row->number, OCC_EXCLUSIVE);
    *row = tx->rows[--tx->row_count];
    return OCC_DONE;
}

void occ_lock(struct occ_tx *tx, const struct occ_row *row, enum occ_mode mode)
{
    note(tx, OCC_ROW, row->number, mode);
}

/* The matrix, for all that both did. */
static bool clash(unsigned a, unsigned b)
{
    if ((a & OCC_EXCLUSIVE) || (b & OCC_EXCLUSIVE))
        return true;
    return (a & OCC_WRITE) && (b & OCC_WRITE);
}

static bool conflicts(const struct occ_tx *tx)
{
    const struct occ_world *world = tx->world;
    for (size_t i = 0; i < world->log_count; i++) {
        const struct occ_effect *theirs = &world->log[i];
        if (theirs->committed <= tx->snapshot)
            continue;
        for (size_t e = 0; e < tx->effect_count; e++)
            if (tx->effects[e].kind == theirs->kind && tx->effects[e].what == theirs->what &&
                clash(tx->effects[e].modes, theirs->modes))
                return true;
    }
    return false;
}

static struct occ_row *by_number(struct occ_row *rows, size_t count, uint64_t number)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}

/* Carries over the rows that the transaction wrote, and only those. */
static void apply(struct occ_tx *tx)
{
    struct occ_world *world = tx->world;
    for (size_t e = 0; e < tx->effect_count; e++) {
        if (tx->effects[e].kind != OCC_ROW || tx->effects[e].modes == OCC_KEY_SHARE)
            continue;
        struct occ_row *there = by_number(world->rows, world->row_count, tx->effects[e].what);
        const struct occ_row *ours = by_number(tx->rows, tx->row_count, tx->effects[e].what);
        assert(there);
        *there = ours ? *ours : world->rows[--world->row_count];
    }
    for (size_t i = 0; i < tx->own_count; i++) {
        const struct occ_row *ours = by_number(tx->rows, tx->row_count, tx->own[i]);
        if (ours) {
            assert(world->row_count < OCC_ROWS_MAX);
            world->rows[world->row_count++] = *ours;
        }
    }
}

bool occ_commit(struct occ_tx *tx, uint64_t oldest)
{
    struct occ_world *world = tx->world;
    if (tx->effect_count == 0)
        return true; /* it only read */
    if (conflicts(tx))
        return false;
    apply(tx);
    world->commits++;
    size_t kept = 0;
    for (size_t i = 0; i < world->log_count; i++)
        if (world->log[i].committed > oldest)
            world->log[kept++] = world->log[i];
    world->log_count = kept;
    for (size_t e = 0; e < tx->effect_count; e++) {
        assert(world->log_count < OCC_LOG_MAX);
        struct occ_effect *entry = &world->log[world->log_count++];
        *entry = tx->effects[e];
        entry->committed = world->commits;
    }
    return true;
}

bool occ_is_consistent(const struct occ_world *world)
{
    for (size_t i = 0; i < world->row_count; i++) {
        const struct occ_row *row = &world->rows[i];
        bool parent = row->table == OCC_T;
        for (size_t j = 0; j < world->row_count; j++) {
            const struct occ_row *other = &world->rows[j];
            if (i != j && other->table == row->table &&
                (other->id == row->id ||
                 (row->table == OCC_T && row->k != OCC_NULL && other->k == row->k)))
                return false;
            parent = parent || (other->table == OCC_T && other->id == row->k);
        }
        if (!parent)
            return false;
    }
    return true;
}

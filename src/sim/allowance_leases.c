/*
 * A fleet's budget by the protocol `leases`: core's process side, and a table of leases, a counter
 * and the connects of each second. A request outlives its sender, as with `blocks`.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/leases.h"
#include "sim/world.h"

#define ANSWER_TIMEOUT_NS (2 * DSQL_S)
#define PERMIT_AGAIN_NS   (200 * DSQL_MS)

enum { SECONDS_KEPT = 4096 };

struct second {
    int64_t second, connects;
};

struct dsql_sim_lease_table {
    struct dsql_lease_found *items; /* sorted by id */
    size_t count, room;
    bool exists;
    int64_t active, updates;
    struct second seconds[SECONDS_KEPT]; /* a ring: clocks that differ use different ones */
    size_t second_count;
    struct letter *letters;
};

struct owner {
    struct dsql_sim_allowance allowance;
    struct dsql_sim_process *process;
    struct dsql_leases leases;
    struct dsql_sim_event due;
    struct letter *letter; /* the request under way */
};

struct letter {
    struct dsql_sim_world *world;
    struct owner *owner; /* NULL: nobody waits for it any more */
    char owner_id[17];
    struct dsql_leases_op op;
    struct dsql_leases_answer answer;
    struct dsql_lease_found *found; /* a copy, for a scan's answer */
    enum dsql_sim_fortune fortune;
    int64_t one_way_ns;
    struct dsql_sim_event event;
    struct letter *next, *prev;
};

static struct owner *owner_of(struct dsql_sim_allowance *allowance)
{
    return DSQL_CONTAINER_OF(allowance, struct owner, allowance);
}

/* ---- the table ---- */

/* Where a lease is, or would be. */
static size_t place_of(const struct dsql_sim_lease_table *table, const char *id)
{
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(table->items[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct dsql_lease_found *find(const struct dsql_sim_lease_table *table, const char *id)
{
    size_t place = place_of(table, id);
    return place < table->count && strcmp(table->items[place].id, id) == 0 ? &table->items[place]
                                                                           : NULL;
}

static bool put(struct dsql_sim_lease_table *table, const struct letter *letter, const char *id)
{
    if (table->count == table->room) {
        size_t room = table->room > 0 ? 2 * table->room : 64;
        void *grown = reallocarray(table->items, room, sizeof *table->items);
        if (!grown)
            return false;
        table->items = grown;
        table->room = room;
    }
    size_t place = place_of(table, id);
    struct dsql_lease_found *item = &table->items[place];
    memmove(item + 1, item, (table->count++ - place) * sizeof *item);
    *item = (struct dsql_lease_found){.beat = letter->op.beat, .renewed = true};
    memcpy(item->id, id, sizeof item->id);
    memcpy(item->owner, letter->owner_id, sizeof item->owner);
    return true;
}

static void take_away(struct dsql_sim_lease_table *table, struct dsql_lease_found *item)
{
    size_t place = (size_t)(item - table->items);
    memmove(item, item + 1, (--table->count - place) * sizeof *item);
}

static int64_t *connects_of(struct dsql_sim_lease_table *table, int64_t second)
{
    size_t kept = table->second_count < SECONDS_KEPT ? table->second_count : SECONDS_KEPT;
    for (size_t i = 1; i <= kept; i++) {
        struct second *entry = &table->seconds[(table->second_count - i) % SECONDS_KEPT];
        if (entry->second == second)
            return &entry->connects;
    }
    struct second *entry = &table->seconds[table->second_count++ % SECONDS_KEPT];
    *entry = (struct second){.second = second};
    return &entry->connects;
}

static bool removes(const struct dsql_leases_op *op)
{
    return op->kind == DSQL_LEASES_RELEASE || op->kind == DSQL_LEASES_REAP;
}

static bool has_ids(const struct dsql_leases_op *op)
{
    return removes(op) || op->kind == DSQL_LEASES_ACQUIRE || op->kind == DSQL_LEASES_RENEW;
}

/* The conditions of a request: all of it is carried out, or nothing. */
static enum dsql_leases_outcome judge(struct letter *letter, struct dsql_sim_lease_table *table)
{
    const struct dsql_sim_budget *budget = &letter->world->scenario->budget;
    const struct dsql_leases_op *op = &letter->op;
    enum dsql_leases_outcome outcome = DSQL_LEASES_OK;
    if ((op->kind == DSQL_LEASES_ACQUIRE &&
         table->active > budget->connections - budget->headroom - op->count) ||
        (removes(op) && table->active < op->count) ||
        (op->kind == DSQL_LEASES_CONNECT &&
         *connects_of(table, op->second) > budget->rate - op->count) ||
        (op->kind == DSQL_LEASES_RECOUNT &&
         (table->active != op->active || table->updates != op->updated_ms)))
        outcome = DSQL_LEASES_REFUSED;
    for (int64_t i = 0; has_ids(op) && i < op->count; i++) {
        const struct dsql_lease_found *item = find(table, op->ids[i]);
        bool *missing = &letter->answer.missing[i];
        *missing = op->kind == DSQL_LEASES_ACQUIRE ? item != NULL
                   : op->kind == DSQL_LEASES_REAP  ? !item || item->beat != op->beat
                                                   : !item;
        if (*missing)
            outcome = DSQL_LEASES_MISSING;
    }
    return outcome;
}

/* False if there is no memory. */
static bool carry_out(struct letter *letter, struct dsql_sim_lease_table *table)
{
    const struct dsql_leases_op *op = &letter->op;
    struct dsql_leases_answer *answer = &letter->answer;
    answer->outcome = judge(letter, table);
    if (answer->outcome != DSQL_LEASES_OK)
        return true;
    if (op->kind == DSQL_LEASES_LOOK) {
        answer->exists = table->exists;
        answer->active = table->active;
        answer->updated_ms = table->updates;
        return true;
    }
    if (op->kind == DSQL_LEASES_SCAN) {
        letter->found = calloc(table->count + 1, sizeof *letter->found);
        if (!letter->found)
            return false;
        if (table->count > 0)
            memcpy(letter->found, table->items, table->count * sizeof *letter->found);
        answer->found = letter->found;
        answer->found_count = table->count;
        answer->last = true;
        return true;
    }
    if (op->kind == DSQL_LEASES_CONNECT || op->kind == DSQL_LEASES_SLOW) {
        *connects_of(table, op->second) += op->count;
    } else if (op->kind == DSQL_LEASES_RECOUNT) {
        table->active = op->count;
        table->updates++;
    } else if (op->kind != DSQL_LEASES_RENEW) {
        table->active += removes(op) ? -op->count : op->count;
        table->exists = true;
        table->updates++;
    }
    for (int64_t i = 0; has_ids(op) && i < op->count; i++) {
        if (removes(op))
            take_away(table, find(table, op->ids[i]));
        else if (op->kind == DSQL_LEASES_RENEW)
            find(table, op->ids[i])->beat = op->beat;
        else if (!put(table, letter, op->ids[i]))
            return false;
    }
    return true;
}

/* ---- requests ---- */

static void letter_free(struct letter *letter)
{
    struct dsql_sim_lease_table *table = letter->world->table.leases;
    if (letter->prev)
        letter->prev->next = letter->next;
    else
        table->letters = letter->next;
    if (letter->next)
        letter->next->prev = letter->prev;
    dsql_sim_cancel(&letter->world->kernel, &letter->event);
    free(letter->found);
    free(letter);
}

static void pump(struct owner *owner);

static void letter_returns(struct dsql_sim_kernel *kernel, void *arg)
{
    struct letter *letter = arg;
    struct owner *owner = letter->owner;
    if (!owner) {
        letter_free(letter);
        return;
    }
    struct dsql_sim_process *process = owner->process;
    if (dsql_sim_process_is_paused(process, &letter->event))
        return;
    owner->letter = NULL;
    if (dsql_leases_answer(&owner->leases, dsql_sim_process_now(process),
                           dsql_sim_process_wall(process), &letter->answer) != DSQL_OK)
        kernel->no_memory = true;
    letter_free(letter);
    pump(owner);
    dsql_sim_process_wake(process);
}

static void letter_arrives(struct dsql_sim_kernel *kernel, void *arg)
{
    struct letter *letter = arg;
    bool done = letter->fortune == DSQL_SIM_ANSWERED || letter->fortune == DSQL_SIM_UNHEARD;
    int64_t wait_ns = letter->one_way_ns;
    if (done && !carry_out(letter, letter->world->table.leases))
        kernel->no_memory = true;
    if (done && letter->answer.outcome == DSQL_LEASES_OK && letter->owner)
        dsql_sim_check_beat(letter->owner->process);
    if (letter->fortune == DSQL_SIM_NOT_DONE) {
        letter->answer.outcome = DSQL_LEASES_CONFLICT;
    } else if (letter->fortune != DSQL_SIM_ANSWERED) {
        letter->answer = (struct dsql_leases_answer){.outcome = DSQL_LEASES_LOST};
        wait_ns = ANSWER_TIMEOUT_NS;
    }
    dsql_sim_event_init(&letter->event, letter_returns, letter);
    dsql_sim_after(kernel, &letter->event, wait_ns);
}

static void send(struct owner *owner, const struct dsql_leases_op *op)
{
    struct dsql_sim_world *world = owner->process->world;
    struct letter *letter = calloc(1, sizeof *letter);
    if (!letter) {
        world->kernel.no_memory = true;
        return;
    }
    letter->world = world;
    letter->owner = owner;
    letter->op = *op;
    memcpy(letter->owner_id, owner->leases.config.owner, sizeof letter->owner_id);
    letter->fortune = dsql_sim_dynamodb_draw(world, &letter->one_way_ns);
    letter->next = world->table.leases->letters;
    if (letter->next)
        letter->next->prev = letter;
    world->table.leases->letters = letter;
    world->table.requests++;
    owner->letter = letter;
    dsql_sim_event_init(&letter->event, letter_arrives, letter);
    dsql_sim_after(&world->kernel, &letter->event, letter->one_way_ns);
}

/* Sends what the owner has to say, or has it asked again when it will. */
static void pump(struct owner *owner)
{
    struct dsql_sim_process *process = owner->process;
    struct dsql_mono now = dsql_sim_process_now(process);
    struct dsql_wall wall = dsql_sim_process_wall(process);
    struct dsql_leases_op op;
    if (owner->letter)
        return;
    if (dsql_leases_next(&owner->leases, now, wall, &op)) {
        send(owner, &op);
        return;
    }
    int64_t wait_ns = dsql_leases_due_ns(&owner->leases, now, wall);
    if (wait_ns != INT64_MAX) {
        dsql_sim_after(&process->world->kernel, &owner->due,
                       dsql_sim_process_to_world(process, wait_ns));
    }
}

static void is_due(struct dsql_sim_kernel *kernel, void *arg)
{
    struct owner *owner = arg;
    (void)kernel;
    if (dsql_sim_process_is_paused(owner->process, &owner->due))
        return;
    pump(owner);
    dsql_sim_process_wake(owner->process); /* what it may hold depends on the time, too */
}

/* ---- what a process sees of it ---- */

static int64_t slots(struct dsql_sim_allowance *allowance)
{
    struct owner *owner = owner_of(allowance);
    return dsql_leases_slots(&owner->leases, dsql_sim_process_now(owner->process));
}

static bool permit(struct dsql_sim_allowance *allowance, struct dsql_mono now, int64_t *wait_ns)
{
    struct owner *owner = owner_of(allowance);
    (void)now;
    *wait_ns = PERMIT_AGAIN_NS;
    bool given = dsql_leases_permit(&owner->leases, dsql_sim_process_wall(owner->process));
    pump(owner);
    return given;
}

static void used(struct dsql_sim_allowance *allowance, int64_t n)
{
    struct owner *owner = owner_of(allowance);
    dsql_leases_used(&owner->leases, n);
    pump(owner);
}

static void throttled(struct dsql_sim_allowance *allowance, struct dsql_mono now)
{
    struct owner *owner = owner_of(allowance);
    (void)now;
    dsql_leases_throttled(&owner->leases, dsql_sim_process_wall(owner->process));
    pump(owner);
}

static void no_concern(struct dsql_sim_allowance *allowance, struct dsql_mono now)
{
    (void)allowance;
    (void)now;
}

static void drain(struct dsql_sim_allowance *allowance)
{
    struct owner *owner = owner_of(allowance);
    dsql_leases_drain(&owner->leases);
    pump(owner);
}

static void destroy(struct dsql_sim_allowance *allowance)
{
    struct owner *owner = owner_of(allowance);
    if (owner->letter)
        owner->letter->owner = NULL;
    dsql_sim_cancel(&owner->process->world->kernel, &owner->due);
    dsql_leases_fini(&owner->leases);
    free(owner);
}

static const struct dsql_sim_allowance_ops leases_ops = {
    .slots = slots,
    .permit = permit,
    .used = used,
    .opened = no_concern,
    .throttled = throttled,
    .full = no_concern,
    .drain = drain,
    .destroy = destroy,
};

struct dsql_sim_allowance *dsql_sim_allowance_leases(struct dsql_sim_process *process)
{
    struct dsql_sim_world *world = process->world;
    const struct dsql_sim_budget *budget = &world->scenario->budget;
    struct owner *owner = calloc(1, sizeof *owner);
    if (owner && !world->table.leases)
        world->table.leases = calloc(1, sizeof *world->table.leases);
    struct dsql_leases_config config = {
        .limit = budget->connections - budget->headroom,
        .rate = budget->rate,
        .ttl_ns = budget->ttl_ns,
    };
    (void)snprintf(config.owner, sizeof config.owner, "%08zx%08x",
                   (size_t)(process - world->processes) & 0xffffffff, process->lives);
    if (!owner || !world->table.leases ||
        dsql_leases_init(&owner->leases, &config, dsql_rng_split(&process->rng),
                         dsql_sim_process_now(process)) != DSQL_OK) {
        free(owner);
        return NULL;
    }
    owner->allowance.ops = &leases_ops;
    owner->process = process;
    dsql_sim_event_init(&owner->due, is_due, owner);
    dsql_leases_want(&owner->leases, dsql_sim_process_target(process));
    dsql_sim_after(&world->kernel, &owner->due, 0);
    return &owner->allowance;
}

void dsql_sim_lease_table_free(struct dsql_sim_lease_table *table)
{
    if (!table)
        return;
    for (struct letter *next, *letter = table->letters; letter; letter = next) {
        next = letter->next;
        dsql_sim_cancel(&letter->world->kernel, &letter->event);
        free(letter->found);
        free(letter);
    }
    free(table->items);
    free(table);
}

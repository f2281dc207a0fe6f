/*
 * A fleet's budget by the protocol `leases`: core's process side, and a table of leases, a counter
 * and the connects of each second.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "core/leases.h"
#include "sim/post.h"

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
};

struct owner {
    struct dsql_sim_sender sender;
    struct dsql_leases leases;
};

struct request {
    struct dsql_sim_letter letter;
    char owner_id[17];
    struct dsql_leases_op op;
    struct dsql_leases_answer answer;
    struct dsql_lease_found *found; /* a copy, for a scan's answer */
};

static struct owner *owner_sending(struct dsql_sim_sender *sender)
{
    return DSQL_CONTAINER_OF(sender, struct owner, sender);
}

static struct request *request_of(struct dsql_sim_letter *letter)
{
    return DSQL_CONTAINER_OF(letter, struct request, letter);
}

/* -- The table. */

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

static bool put(struct dsql_sim_lease_table *table, const struct request *request, const char *id)
{
    if (!DSQL_GROW(table->items, table->room, table->count + 1))
        return false;
    size_t place = place_of(table, id);
    struct dsql_lease_found *item = &table->items[place];
    memmove(item + 1, item, (table->count++ - place) * sizeof(*item));
    *item = (struct dsql_lease_found){.beat = request->op.beat, .renewed = true};
    memcpy(item->id, id, sizeof(item->id));
    memcpy(item->owner, request->owner_id, sizeof(item->owner));
    return true;
}

static void renew(struct dsql_lease_found *item, const struct request *request)
{
    item->beat = request->op.beat;
    memcpy(item->owner, request->owner_id, sizeof(item->owner));
}

static void take_away(struct dsql_sim_lease_table *table, struct dsql_lease_found *item)
{
    size_t place = (size_t)(item - table->items);
    memmove(item, item + 1, (--table->count - place) * sizeof(*item));
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
static enum dsql_leases_outcome judge(struct request *request, struct dsql_sim_lease_table *table)
{
    const struct dsql_sim_budget *budget = &request->letter.world->scenario->budget;
    const struct dsql_leases_op *op = &request->op;
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
        bool *missing = &request->answer.missing[i];
        *missing = dsql_leases_is_missing(op, i, item);
        if (*missing)
            outcome = DSQL_LEASES_MISSING;
    }
    return outcome;
}

/* False if there is no memory. */
static bool apply(struct request *request, struct dsql_sim_lease_table *table)
{
    const struct dsql_leases_op *op = &request->op;
    struct dsql_leases_answer *answer = &request->answer;
    answer->outcome = judge(request, table);
    if (answer->outcome != DSQL_LEASES_OK)
        return true;
    if (op->kind == DSQL_LEASES_LOOK) {
        answer->exists = table->exists;
        answer->active = answer->ours = table->active; /* no other program is in the table */
        answer->updated_ms = table->updates;
        return true;
    }
    if (op->kind == DSQL_LEASES_SCAN) {
        request->found = calloc(table->count + 1, sizeof(*request->found));
        if (!request->found)
            return false;
        if (table->count > 0)
            memcpy(request->found, table->items, table->count * sizeof(*request->found));
        answer->found = request->found;
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
            renew(find(table, op->ids[i]), request);
        else if (!put(table, request, op->ids[i]))
            return false;
    }
    return true;
}

/* -- Requests. */

static struct dsql_sim_letter *write_request(struct dsql_sim_sender *sender)
{
    struct owner *owner = owner_sending(sender);
    struct dsql_leases_op op;
    if (!dsql_leases_next(&owner->leases, dsql_sim_process_moment(sender->process),
                          dsql_sim_nonce(sender->process->world), &op))
        return NULL;
    struct request *request = calloc(1, sizeof(*request));
    if (!request) {
        sender->process->world->kernel.no_memory = true;
        return NULL;
    }
    request->op = op;
    memcpy(request->owner_id, owner->leases.config.owner, sizeof(request->owner_id));
    return &request->letter;
}

static void carry_out(struct dsql_sim_letter *letter)
{
    struct request *request = request_of(letter);
    if (!apply(request, letter->world->table.leases))
        letter->world->kernel.no_memory = true;
    if (request->answer.outcome == DSQL_LEASES_OK && letter->sender)
        dsql_sim_check_beat(letter->sender->process);
}

static void read_answer(struct dsql_sim_sender *sender, struct dsql_sim_letter *letter)
{
    struct owner *owner = owner_sending(sender);
    struct dsql_leases_answer answer = request_of(letter)->answer;
    if (letter->fortune != DSQL_SIM_ANSWERED)
        answer = (struct dsql_leases_answer){.outcome = letter->fortune == DSQL_SIM_NOT_DONE
                                                            ? DSQL_LEASES_CONFLICT
                                                            : DSQL_LEASES_LOST};
    if (dsql_leases_answer(&owner->leases, dsql_sim_process_moment(sender->process), &answer) !=
        DSQL_OK)
        letter->world->kernel.no_memory = true;
}

static void free_request(struct dsql_sim_letter *letter)
{
    struct request *request = request_of(letter);
    free(request->found);
    free(request);
}

static struct dsql_sim_letter *copy_request(const struct dsql_sim_letter *letter)
{
    const struct request *from = DSQL_CONTAINER_OF(letter, const struct request, letter);
    struct request *request = calloc(1, sizeof(*request));
    if (!request)
        return NULL;
    request->op = from->op;
    memcpy(request->owner_id, from->owner_id, sizeof(request->owner_id));
    return &request->letter;
}

static void remember(struct dsql_sim_sender *sender, const struct dsql_sim_sender *from)
{
    struct owner *owner = owner_sending(sender);
    const struct owner *other = DSQL_CONTAINER_OF(from, const struct owner, sender);
    struct dsql_sim_process *process = owner->sender.process;
    const struct dsql_leases *remembered = &other->leases;
    struct dsql_leases *leases = &owner->leases;
    struct dsql_lease_held *held = calloc(remembered->held.room + 1, sizeof(*held));
    if (!held) {
        process->world->kernel.no_memory = true;
        return;
    }
    if (remembered->held.count > 0)
        memcpy(held, remembered->held.items, remembered->held.count * sizeof(*held));
    struct dsql_lease_owner *owners = leases->survey.owners;
    memcpy(owners, remembered->survey.owners, remembered->survey.owner_count * sizeof(*owners));
    free(leases->held.items);
    *leases = *remembered;
    leases->held.items = held;
    leases->survey.owners = owners;
    dsql_allowance_used(&leases->allowance, 0);
    /* No answer reaches the copy's socket. */
    const struct dsql_leases_answer lost = {.outcome = DSQL_LEASES_LOST};
    if (leases->request.under_way &&
        dsql_leases_answer(leases, dsql_sim_process_moment(process), &lost) != DSQL_OK)
        process->world->kernel.no_memory = true;
    dsql_sim_check_copied(process, other->sender.process, (double)leases->connects.permits);
    dsql_sim_sender_pump(&owner->sender);
}

static const struct dsql_sim_post_ops post_ops = {
    .write = write_request,
    .copy = copy_request,
    .carry_out = carry_out,
    .read = read_answer,
    .free = free_request,
    .remember = remember,
};

struct dsql_sim_sender *dsql_sim_budget_leases(struct dsql_sim_process *process)
{
    struct dsql_sim_world *world = process->world;
    const struct dsql_sim_budget *budget = &world->scenario->budget;
    struct owner *owner = calloc(1, sizeof(*owner));
    if (owner && !world->table.leases)
        world->table.leases = calloc(1, sizeof(*world->table.leases));
    struct dsql_leases_config config = {
        .connections = budget->connections,
        .headroom = budget->headroom,
        .rate = budget->rate,
        .ttl_ns = budget->ttl_ns,
    };
    (void)snprintf(config.owner, sizeof(config.owner), "%08zx%08x",
                   (size_t)(process - world->processes) & 0xffffffff, process->lives);
    if (!owner || !world->table.leases ||
        dsql_leases_init(&owner->leases, &config, dsql_rng_split(&process->rng),
                         dsql_sim_process_now(process)) != DSQL_OK) {
        free(owner);
        return NULL;
    }
    dsql_allowance_want(&owner->leases.allowance, dsql_sim_process_target(process));
    dsql_sim_sender_init(&owner->sender, process, &owner->leases.allowance, &post_ops);
    return &owner->sender;
}

void dsql_sim_lease_table_free(struct dsql_sim_lease_table *table)
{
    if (!table)
        return;
    free(table->items);
    free(table);
}

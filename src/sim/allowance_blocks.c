/*
 * A fleet's budget by the protocol `blocks`: core's owner and core's registry, with a network of
 * letters between them. A letter outlives its sender: what a process asked for before it crashed
 * may still be carried out.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/blocks.h"
#include "sim/world.h"

#define ANSWER_TIMEOUT_NS (2 * DSQL_S)
#define PERMIT_AGAIN_NS   DSQL_S /* at the latest: an answer wakes the process */

struct owner {
    struct dsql_sim_allowance allowance;
    struct dsql_sim_process *process;
    struct dsql_blocks blocks;
    struct dsql_sim_event due;
    struct dsql_sim_letter *letter; /* the request under way */
};

struct dsql_sim_letter {
    struct dsql_sim_world *world;
    struct owner *owner; /* NULL: nobody waits for it any more */
    struct dsql_registry_op op;
    struct dsql_registry view;
    enum dsql_blocks_outcome outcome;
    enum dsql_sim_fortune fortune;
    int64_t one_way_ns;
    struct dsql_sim_event event;
    struct dsql_sim_letter *next, *prev;
};

static struct owner *owner_of(struct dsql_sim_allowance *allowance)
{
    return DSQL_CONTAINER_OF(allowance, struct owner, allowance);
}

static void letter_free(struct dsql_sim_letter *letter)
{
    struct dsql_sim_table *table = &letter->world->table;
    if (letter->prev)
        letter->prev->next = letter->next;
    else
        table->letters = letter->next;
    if (letter->next)
        letter->next->prev = letter->prev;
    dsql_sim_cancel(&letter->world->kernel, &letter->event);
    dsql_registry_fini(&letter->view);
    free(letter);
}

static void pump(struct owner *owner);

static void letter_returns(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_letter *letter = arg;
    struct owner *owner = letter->owner;
    if (!owner) {
        letter_free(letter);
        return;
    }
    struct dsql_sim_process *process = owner->process;
    if (dsql_sim_process_is_paused(process, &letter->event))
        return;
    owner->letter = NULL;
    if (dsql_blocks_answer(&owner->blocks, dsql_sim_process_now(process), letter->outcome,
                           &letter->view) != DSQL_OK)
        kernel->no_memory = true;
    letter_free(letter);
    pump(owner);
    dsql_sim_process_wake(process);
}

static void letter_arrives(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_letter *letter = arg;
    struct dsql_registry *registry = &letter->world->table.registry;
    bool applied = false;
    int64_t wait_ns = letter->one_way_ns;
    letter->outcome = DSQL_BLOCKS_LOST;
    if (letter->fortune == DSQL_SIM_ANSWERED || letter->fortune == DSQL_SIM_UNHEARD) {
        if (dsql_registry_apply(registry, &letter->op, &applied) != DSQL_OK)
            kernel->no_memory = true;
        for (size_t i = 0; applied && i < letter->op.remove_count; i++)
            dsql_sim_check_taken(letter->world, letter->op.remove[i].id);
        if (applied && letter->owner)
            dsql_sim_check_beat(letter->owner->process);
    }
    if (letter->fortune == DSQL_SIM_ANSWERED) {
        letter->outcome = applied ? DSQL_BLOCKS_APPLIED : DSQL_BLOCKS_REFUSED;
        if (dsql_registry_copy(&letter->view, registry) != DSQL_OK)
            kernel->no_memory = true;
    } else if (letter->fortune != DSQL_SIM_NOT_DONE) {
        wait_ns = ANSWER_TIMEOUT_NS;
    }
    dsql_sim_event_init(&letter->event, letter_returns, letter);
    dsql_sim_after(kernel, &letter->event, wait_ns);
}

static void send(struct owner *owner, const struct dsql_registry_op *op)
{
    struct dsql_sim_world *world = owner->process->world;
    struct dsql_sim_letter *letter = calloc(1, sizeof *letter);
    if (!letter) {
        world->kernel.no_memory = true;
        return;
    }
    letter->world = world;
    letter->owner = owner;
    letter->op = *op;
    letter->fortune = dsql_sim_dynamodb_draw(world, &letter->one_way_ns);
    letter->next = world->table.letters;
    if (letter->next)
        letter->next->prev = letter;
    world->table.letters = letter;
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
    struct dsql_registry_op op;
    if (owner->letter)
        return;
    if (dsql_blocks_next(&owner->blocks, now, &op)) {
        op.block.seen_ms = dsql_sim_process_wall(process).ns / DSQL_MS;
        send(owner, &op);
        return;
    }
    int64_t wait_ns = dsql_blocks_due_ns(&owner->blocks, now);
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

static int64_t slots(struct dsql_sim_allowance *allowance)
{
    struct owner *owner = owner_of(allowance);
    return dsql_blocks_slots(&owner->blocks, dsql_sim_process_now(owner->process));
}

static bool permit(struct dsql_sim_allowance *allowance, struct dsql_mono now, int64_t *wait_ns)
{
    struct owner *owner = owner_of(allowance);
    *wait_ns = PERMIT_AGAIN_NS;
    bool given = dsql_blocks_permit(&owner->blocks, now);
    pump(owner);
    return given;
}

static void used(struct dsql_sim_allowance *allowance, int64_t n)
{
    struct owner *owner = owner_of(allowance);
    dsql_blocks_used(&owner->blocks, n);
    pump(owner);
}

static void opened(struct dsql_sim_allowance *allowance, struct dsql_mono now)
{
    (void)allowance;
    (void)now;
}

static void throttled(struct dsql_sim_allowance *allowance, struct dsql_mono now)
{
    struct owner *owner = owner_of(allowance);
    dsql_blocks_throttled(&owner->blocks, now);
    pump(owner);
}

static void full(struct dsql_sim_allowance *allowance, struct dsql_mono now)
{
    struct owner *owner = owner_of(allowance);
    dsql_blocks_refused_full(&owner->blocks, now);
    pump(owner);
}

static void drain(struct dsql_sim_allowance *allowance)
{
    struct owner *owner = owner_of(allowance);
    dsql_blocks_drain(&owner->blocks);
    pump(owner);
}

static void destroy(struct dsql_sim_allowance *allowance)
{
    struct owner *owner = owner_of(allowance);
    if (owner->letter)
        owner->letter->owner = NULL;
    dsql_sim_cancel(&owner->process->world->kernel, &owner->due);
    dsql_blocks_fini(&owner->blocks);
    free(owner);
}

static const struct dsql_sim_allowance_ops blocks_ops = {
    .slots = slots,
    .permit = permit,
    .used = used,
    .opened = opened,
    .throttled = throttled,
    .full = full,
    .drain = drain,
    .destroy = destroy,
};

struct dsql_sim_process *dsql_sim_owner_process(struct dsql_sim_world *world, const char *id)
{
    uint64_t number = strtoull(id, NULL, 16);
    size_t index = (size_t)(number >> 32);
    if (index >= world->process_count)
        return NULL;
    struct dsql_sim_process *process = &world->processes[index];
    return process->life != DSQL_SIM_OFF && process->lives == (uint32_t)number ? process : NULL;
}

struct dsql_sim_allowance *dsql_sim_allowance_blocks(struct dsql_sim_process *process)
{
    struct dsql_sim_world *world = process->world;
    const struct dsql_sim_budget *budget = &world->scenario->budget;
    struct owner *owner = calloc(1, sizeof *owner);
    if (!owner)
        return NULL;
    struct dsql_blocks_config config = {
        .limit = budget->connections,
        .headroom = budget->headroom,
        .rate = budget->rate,
        .burst = budget->burst,
        .ttl_ns = budget->ttl_ns,
    };
    (void)snprintf(config.id, sizeof config.id, "%08zx%08x",
                   (size_t)(process - world->processes) & 0xffffffff, process->lives);
    (void)snprintf(config.name, sizeof config.name, "%.40s", process->service->name);
    owner->allowance.ops = &blocks_ops;
    owner->process = process;
    dsql_sim_event_init(&owner->due, is_due, owner);
    dsql_blocks_init(&owner->blocks, &config, dsql_rng_split(&process->rng),
                     dsql_sim_process_now(process));
    dsql_blocks_want(&owner->blocks, dsql_sim_process_target(process));
    dsql_sim_after(&world->kernel, &owner->due, 0);
    return &owner->allowance;
}

void dsql_sim_table_fini(struct dsql_sim_table *table)
{
    struct dsql_sim_letter *next;
    for (struct dsql_sim_letter *letter = table->letters; letter; letter = next) {
        next = letter->next;
        dsql_sim_cancel(&letter->world->kernel, &letter->event);
        dsql_registry_fini(&letter->view);
        free(letter);
    }
    table->letters = NULL;
    dsql_registry_fini(&table->registry);
    dsql_sim_lease_table_free(table->leases);
}

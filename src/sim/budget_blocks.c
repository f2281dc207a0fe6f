/* A fleet's budget by the protocol `blocks`: core's owner here, core's registry in the table. */
#include <stdio.h>
#include <stdlib.h>

#include "core/blocks.h"
#include "sim/post.h"

struct owner {
    struct dsql_sim_sender sender;
    struct dsql_blocks blocks;
};

struct request {
    struct dsql_sim_letter letter;
    struct dsql_registry_op op;
    struct dsql_registry view; /* the answer */
    enum dsql_blocks_outcome outcome;
};

static struct owner *owner_sending(struct dsql_sim_sender *sender)
{
    return DSQL_CONTAINER_OF(sender, struct owner, sender);
}

static struct request *request_of(struct dsql_sim_letter *letter)
{
    return DSQL_CONTAINER_OF(letter, struct request, letter);
}

static struct dsql_mono now_of(const struct owner *owner)
{
    return dsql_sim_process_now(owner->sender.process);
}

/* -- Requests. */

static struct dsql_sim_letter *write_request(struct dsql_sim_sender *sender)
{
    struct owner *owner = owner_sending(sender);
    struct dsql_registry_op op;
    if (!dsql_blocks_next(&owner->blocks, now_of(owner), dsql_sim_nonce(sender->process->world),
                          &op))
        return NULL;
    struct request *request = calloc(1, sizeof(*request));
    if (!request) {
        sender->process->world->kernel.no_memory = true;
        return NULL;
    }
    request->op = op;
    request->op.block.seen_ms = dsql_sim_process_moment(sender->process).wall.ns / DSQL_MS;
    return &request->letter;
}

static void carry_out(struct dsql_sim_letter *letter)
{
    struct request *request = request_of(letter);
    struct dsql_sim_world *world = letter->world;
    struct dsql_registry *registry = &world->table.registry;
    bool applied = false;
    if (dsql_registry_apply(registry, &request->op, &applied) != DSQL_OK)
        world->kernel.no_memory = true;
    for (size_t i = 0; applied && i < request->op.remove_count; i++)
        dsql_sim_check_taken(world, request->op.remove[i].id);
    if (applied && letter->sender)
        dsql_sim_check_beat(letter->sender->process);
    request->outcome = applied ? DSQL_BLOCKS_APPLIED : DSQL_BLOCKS_REFUSED;
    if (letter->fortune == DSQL_SIM_ANSWERED &&
        dsql_registry_copy(&request->view, registry) != DSQL_OK)
        world->kernel.no_memory = true;
}

static void read_answer(struct dsql_sim_sender *sender, struct dsql_sim_letter *letter)
{
    struct owner *owner = owner_sending(sender);
    struct request *request = request_of(letter);
    enum dsql_blocks_outcome outcome =
        letter->fortune == DSQL_SIM_ANSWERED ? request->outcome : DSQL_BLOCKS_LOST;
    if (dsql_blocks_answer(&owner->blocks, now_of(owner), outcome, &request->view) != DSQL_OK)
        letter->world->kernel.no_memory = true;
}

static void free_request(struct dsql_sim_letter *letter)
{
    struct request *request = request_of(letter);
    dsql_registry_fini(&request->view);
    free(request);
}

static struct dsql_sim_letter *copy_request(const struct dsql_sim_letter *letter)
{
    struct request *request = calloc(1, sizeof(*request));
    if (!request)
        return NULL;
    request->op = DSQL_CONTAINER_OF(letter, const struct request, letter)->op;
    return &request->letter;
}

static void remember(struct dsql_sim_sender *sender, const struct dsql_sim_sender *from)
{
    struct owner *owner = owner_sending(sender);
    const struct owner *other = DSQL_CONTAINER_OF(from, const struct owner, sender);
    struct dsql_sim_world *world = owner->sender.process->world;
    struct dsql_blocks *blocks = &owner->blocks;
    const struct dsql_blocks *remembered = &other->blocks;
    struct dsql_registry view = {0};
    void *seen = calloc(remembered->others.room + 1, sizeof(*remembered->others.items));
    if (!seen || dsql_registry_copy(&view, &remembered->view) != DSQL_OK) {
        world->kernel.no_memory = true;
        free(seen);
        return;
    }
    if (remembered->others.count > 0)
        memcpy(seen, remembered->others.items,
               remembered->others.count * sizeof(*remembered->others.items));
    dsql_allowance_fini(&blocks->allowance);
    *blocks = *remembered;
    blocks->view = view;
    blocks->others.items = seen;
    dsql_allowance_used(&blocks->allowance, 0);
    /* No answer reaches the copy's socket. */
    if (blocks->flight.pending &&
        dsql_blocks_answer(blocks, now_of(owner), DSQL_BLOCKS_LOST, NULL) != DSQL_OK)
        world->kernel.no_memory = true;
    double flow = (double)blocks->held.flow / DSQL_PERMIT * (double)blocks->config.ttl_ns / DSQL_S;
    dsql_sim_check_copied(owner->sender.process, other->sender.process,
                          (double)blocks->held.purse_most + flow + 1);
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

struct dsql_sim_process *dsql_sim_owner_process(struct dsql_sim_world *world, const char *id)
{
    for (size_t i = 0; i < world->process_count; i++) {
        struct dsql_sim_process *process = &world->processes[i];
        if (process->life != DSQL_SIM_OFF && process->sender->ops == &post_ops &&
            strcmp(owner_sending(process->sender)->blocks.config.id, id) == 0)
            return process;
    }
    return NULL;
}

struct dsql_sim_sender *dsql_sim_budget_blocks(struct dsql_sim_process *process)
{
    struct dsql_sim_world *world = process->world;
    const struct dsql_sim_budget *budget = &world->scenario->budget;
    struct owner *owner = calloc(1, sizeof(*owner));
    if (!owner)
        return NULL;
    struct dsql_blocks_config config = {
        .connections = budget->connections,
        .headroom = budget->headroom,
        .rate = budget->rate,
        .burst = budget->burst,
        .ttl_ns = budget->ttl_ns,
    };
    (void)snprintf(config.id, sizeof(config.id), "%08zx%08x",
                   (size_t)(process - world->processes) & 0xffffffff, process->lives);
    (void)snprintf(config.name, sizeof(config.name), "%.40s", process->service->name);
    dsql_blocks_init(&owner->blocks, &config, dsql_rng_split(&process->rng),
                     dsql_sim_process_now(process));
    dsql_allowance_want(&owner->blocks.allowance, dsql_sim_process_target(process));
    dsql_sim_sender_init(&owner->sender, process, &owner->blocks.allowance, &post_ops);
    return &owner->sender;
}

#include "sim/post.h"

#include <stdlib.h>

#include "base/link.h"

#define ANSWER_TIMEOUT_NS (2 * DSQL_S)

static void throw_away(struct dsql_sim_letter *letter)
{
    struct dsql_sim_table *table = &letter->world->table;
    DSQL_UNLINK(table->letters, letter);
    dsql_sim_cancel(&letter->world->kernel, &letter->event);
    letter->ops->free(letter);
}

static void letter_returns(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_letter *letter = arg;
    struct dsql_sim_sender *sender = letter->sender;
    (void)kernel;
    if (!sender) {
        throw_away(letter);
        return;
    }
    struct dsql_sim_process *process = sender->process;
    if (dsql_sim_process_is_paused(process, &letter->event))
        return;
    sender->letter = NULL;
    sender->ops->read(sender, letter);
    throw_away(letter);
    dsql_sim_sender_pump(sender);
    dsql_sim_process_wake(process);
}

static void letter_arrives(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_letter *letter = arg;
    bool heard = letter->fortune == DSQL_SIM_ANSWERED || letter->fortune == DSQL_SIM_NOT_DONE;
    if (letter->fortune == DSQL_SIM_ANSWERED || letter->fortune == DSQL_SIM_UNHEARD)
        letter->ops->carry_out(letter);
    dsql_sim_event_init(&letter->event, letter_returns, letter);
    dsql_sim_after(kernel, &letter->event, heard ? letter->one_way_ns : ANSWER_TIMEOUT_NS);
}

static void put_on_its_way(struct dsql_sim_world *world, struct dsql_sim_letter *letter,
                           int64_t arrives_ns)
{
    letter->world = world;
    DSQL_LINK(world->table.letters, letter);
    dsql_sim_event_init(&letter->event, letter_arrives, letter);
    dsql_sim_after(&world->kernel, &letter->event, arrives_ns);
}

/* The answer to a copy goes nowhere. */
static void send_again(struct dsql_sim_world *world, const struct dsql_sim_letter *letter)
{
    struct dsql_sim_letter *copy = letter->ops->copy(letter);
    if (!copy) {
        world->kernel.no_memory = true;
        return;
    }
    copy->ops = letter->ops;
    copy->fortune = DSQL_SIM_UNHEARD;
    world->table.repeats++;
    put_on_its_way(world, copy,
                   letter->one_way_ns +
                       dsql_rng_between(&world->table.rng, 0, world->scenario->dynamodb.late_ns));
}

static void send(struct dsql_sim_sender *sender, struct dsql_sim_letter *letter)
{
    struct dsql_sim_world *world = sender->process->world;
    double repeat = world->scenario->dynamodb.repeat;
    letter->sender = sender;
    letter->ops = sender->ops;
    letter->fortune = dsql_sim_dynamodb_draw(world, &letter->one_way_ns);
    world->table.requests++;
    sender->letter = letter;
    if (repeat > 0 && dsql_rng_unit(&world->table.rng) < repeat) {
        if (letter->fortune == DSQL_SIM_UNHEARD)
            letter->fortune = DSQL_SIM_UNREACHABLE; /* only the copy arrives */
        send_again(world, letter);
    }
    put_on_its_way(world, letter, letter->one_way_ns);
}

void dsql_sim_sender_pump(struct dsql_sim_sender *sender)
{
    struct dsql_sim_process *process = sender->process;
    if (!sender->ops || sender->letter)
        return;
    struct dsql_sim_letter *letter = sender->ops->write(sender);
    if (letter) {
        send(sender, letter);
        return;
    }
    int64_t wait_ns = dsql_allowance_due_ns(sender->allowance, dsql_sim_process_moment(process));
    if (wait_ns != INT64_MAX) {
        dsql_sim_after(&process->world->kernel, &sender->due,
                       dsql_sim_process_to_world(process, wait_ns));
    }
}

static void is_due(struct dsql_sim_kernel *kernel, void *arg)
{
    struct dsql_sim_sender *sender = arg;
    (void)kernel;
    if (dsql_sim_process_is_paused(sender->process, &sender->due))
        return;
    dsql_sim_sender_pump(sender);
    dsql_sim_process_wake(sender->process); /* what it may hold depends on the time, too */
}

void dsql_sim_sender_init(struct dsql_sim_sender *sender, struct dsql_sim_process *process,
                          struct dsql_allowance *allowance, const struct dsql_sim_post_ops *ops)
{
    *sender = (struct dsql_sim_sender){.process = process, .allowance = allowance, .ops = ops};
    dsql_sim_event_init(&sender->due, is_due, sender);
    if (ops)
        dsql_sim_after(&process->world->kernel, &sender->due, 0);
}

void dsql_sim_sender_destroy(struct dsql_sim_sender *sender)
{
    if (sender->letter)
        sender->letter->sender = NULL;
    dsql_sim_cancel(&sender->process->world->kernel, &sender->due);
    dsql_allowance_fini(sender->allowance);
    free(sender);
}

void dsql_sim_table_fini(struct dsql_sim_table *table)
{
    struct dsql_sim_letter *next;
    for (struct dsql_sim_letter *letter = table->letters; letter; letter = next) {
        next = letter->next;
        dsql_sim_cancel(&letter->world->kernel, &letter->event);
        letter->ops->free(letter);
    }
    table->letters = NULL;
    dsql_registry_fini(&table->registry);
    dsql_sim_lease_table_free(table->leases);
}

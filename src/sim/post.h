/*
 * Requests to DynamoDB and their answers: what every protocol of a fleet needs of a network. Each
 * process sends one request at a time. A request outlives its sender: what a process asked for
 * before it crashed may still be carried out. The network may deliver a request again, and late.
 */
#ifndef DSQL_SIM_POST_H
#define DSQL_SIM_POST_H

#include "core/allowance.h"
#include "sim/world.h"

struct dsql_sim_sender;

/* The first member of what a protocol sends. */
struct dsql_sim_letter {
    struct dsql_sim_world *world;
    struct dsql_sim_sender *sender; /* NULL: the sender does not wait any more */
    const struct dsql_sim_post_ops *ops;
    enum dsql_sim_fortune fortune;
    int64_t one_way_ns;
    struct dsql_sim_event event;
    struct dsql_sim_letter *next, *prev;
};

/* A protocol: how its requests are written, carried out and answered. */
struct dsql_sim_post_ops {
    /* What it has to say now, from the heap; NULL if that is nothing, or no memory. */
    struct dsql_sim_letter *(*write)(struct dsql_sim_sender *sender);
    /* The table does what it says, and puts the answer into it. */
    void (*carry_out)(struct dsql_sim_letter *letter);
    /* The letter is back. Only one whose fortune is ANSWERED has an answer. */
    void (*read)(struct dsql_sim_sender *sender, struct dsql_sim_letter *letter);
    /* Another that says the same, from the heap; NULL: no memory. */
    struct dsql_sim_letter *(*copy)(const struct dsql_sim_letter *letter);
    /* Frees what it holds, and itself. */
    void (*free)(struct dsql_sim_letter *letter);
    /* Remembers from now on what another of its kind does. */
    void (*remember)(struct dsql_sim_sender *sender, const struct dsql_sim_sender *other);
};

/* A process's end of the line; the first member of what a protocol keeps for a process. */
struct dsql_sim_sender {
    struct dsql_sim_process *process;
    struct dsql_allowance *allowance;
    const struct dsql_sim_post_ops *ops; /* NULL: this process sends no letters */
    struct dsql_sim_letter *letter;      /* under way */
    struct dsql_sim_event due;
};

/* The sender is asked for its first letter at once, but not before this returns. */
void dsql_sim_sender_init(struct dsql_sim_sender *sender, struct dsql_sim_process *process,
                          struct dsql_allowance *allowance, const struct dsql_sim_post_ops *ops);
/* Frees it and its allowance. */
void dsql_sim_sender_destroy(struct dsql_sim_sender *sender);

/* Something changed: sends what it has to say, or asks again when it will. */
void dsql_sim_sender_pump(struct dsql_sim_sender *sender);

#endif

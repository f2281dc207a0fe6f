/*
 * How many and how fast: the numbers of the keeper's policy. What is wanted, what is needed of the
 * budget, how many connects at once, warm-up and ticks, how long it waits for a permit. Functions
 * of struct dsql_keeper, for keeper.c alone.
 */
#ifndef DSQL_CORE_KEEPER_PACE_H
#define DSQL_CORE_KEEPER_PACE_H

#include "core/keeper.h"

/* Fresh connections it wants now. */
uint32_t dsql_pace_wanted(const struct dsql_keeper *keeper);

/* Slots to ask the budget for: what is held or wanted, and what was a short while ago. */
int64_t dsql_pace_need(struct dsql_keeper *keeper);

/* When a process that has started at `start` and lacks slots first says so. */
struct dsql_mono dsql_pace_first_lack(struct dsql_mono start);

/* Whether it has to be reported that so many granted slots are too few. */
bool dsql_pace_lacks(struct dsql_keeper *keeper, int64_t granted);

/* What keeps it from opening one now, as far as it knows without asking; NONE: nothing. */
enum dsql_keeper_why dsql_pace_obstacle(struct dsql_keeper *keeper);

/* Whether a slot is free and granted. */
bool dsql_pace_has_room(const struct dsql_keeper *keeper);

/* Why one is opened, and how long that may take. Asked before dsql_pace_begin(). */
enum dsql_keeper_why dsql_pace_cause(const struct dsql_keeper *keeper);
int64_t dsql_pace_timeout_ns(const struct dsql_keeper *keeper);
void dsql_pace_begin(struct dsql_keeper *keeper);

/* A connect ended: the warm-up goes on, or ends. */
void dsql_pace_opened(struct dsql_keeper *keeper, int64_t took_ns);
void dsql_pace_failed(struct dsql_keeper *keeper);

/* A turn begins: a permit that was not used is forgotten. */
void dsql_pace_turn(struct dsql_keeper *keeper);

/* A permit was asked for: whether it has waited too long now. */
bool dsql_pace_permit(struct dsql_keeper *keeper, bool given, int64_t wait_ns);

/* How long to sleep when nothing but `why` stands in the way. */
int64_t dsql_pace_sleep_ns(struct dsql_keeper *keeper, enum dsql_keeper_why why);

#endif

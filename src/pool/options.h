/*
 * Between the files of this folder: whether options make sense, where they lead, and what keeper
 * and budget are told of them.
 */
#ifndef DSQL_POOL_OPTIONS_H
#define DSQL_POOL_OPTIONS_H

#include "budget/budget.h"
#include "core/keeper.h"
#include "dsql/pool.h"

struct dsql_target {
    char host[256], region[64];
    int port;
};

/* The options of a program, which may know more or fewer of them than this library: those that it
 * does not know have their defaults. DSQL_INVALID if it sets one that this library does not know,
 * or has never called dsql_pool_options_default(). */
DSQL_MUST_USE enum dsql_rc dsql_options_take(const struct dsql_pool_options *given,
                                             struct dsql_pool_options *options,
                                             struct dsql_err *err);

/* Whether a pool that was opened with one of them is not what the other one asks for; the first
 * difference in words. */
bool dsql_options_differ(const struct dsql_pool_options *open,
                         const struct dsql_pool_options *asked, char *difference, size_t size);

/* DSQL_INVALID, with what is wrong, or fills *target and makes the sizes fit max_open. */
DSQL_MUST_USE enum dsql_rc dsql_options_check(struct dsql_pool_options *options,
                                              struct dsql_target *target, struct dsql_err *err);

struct dsql_keeper_config dsql_options_keeper(const struct dsql_pool_options *options);

/* The texts are those of *options; the caller adds what is not an option: cluster, credentials,
 * clock, log and wake. */
struct dsql_budget_options dsql_options_budget(const struct dsql_pool_options *options);

#endif

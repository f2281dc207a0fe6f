/*
 * The part of an environment that AWS's tools look at, copied once: AWS_* and HOME. It may hold
 * keys, so it is wiped when freed. Reading it needs no lock.
 */
#ifndef DSQL_AWS_AWS_ENV_H
#define DSQL_AWS_AWS_ENV_H

#include "base/span.h"

struct dsql_aws_env {
    char *text; /* NAME=value, each terminated */
    size_t len;
};

/* environment is NAME=value strings, ended by NULL. */
DSQL_MUST_USE enum dsql_rc dsql_aws_env_init(struct dsql_aws_env *env,
                                             const char *const *environment, struct dsql_err *err);
void dsql_aws_env_fini(struct dsql_aws_env *env);

/* The value, or NULL if it is not set or empty, which to AWS is the same. */
const char *dsql_aws_env_get(const struct dsql_aws_env *env, const char *name);

/* Whether it says true, in any case. */
bool dsql_aws_env_is_true(const struct dsql_aws_env *env, const char *name);

#endif

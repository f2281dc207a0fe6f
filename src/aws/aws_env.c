#include "aws/aws_env.h"

#include <stdlib.h>

static bool is_ours(struct dsql_span variable)
{
    return dsql_span_starts(variable, DSQL_SPAN("AWS_")) ||
           dsql_span_starts(variable, DSQL_SPAN("HOME="));
}

enum dsql_rc dsql_aws_env_init(struct dsql_aws_env *env, const char *const *environment,
                               struct dsql_err *err)
{
    size_t len = 0;
    for (const char *const *at = environment; *at; at++)
        if (is_ours(dsql_span_of(*at)))
            len += strlen(*at) + 1;
    char *text = malloc(len + 1);
    if (!text)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    size_t end = 0;
    for (const char *const *at = environment; *at; at++) {
        struct dsql_span variable = dsql_span_of(*at);
        if (!is_ours(variable))
            continue;
        memcpy(text + end, variable.ptr, variable.len + 1);
        end += variable.len + 1;
    }
    assert(end == len);
    *env = (struct dsql_aws_env){text, len};
    return DSQL_OK;
}

void dsql_aws_env_fini(struct dsql_aws_env *env)
{
    if (env->text)
        explicit_bzero(env->text, env->len);
    free(env->text);
    *env = (struct dsql_aws_env){0};
}

const char *dsql_aws_env_get(const struct dsql_aws_env *env, const char *name)
{
    size_t name_len = strlen(name);
    for (size_t at = 0; at < env->len; at += strlen(env->text + at) + 1) {
        const char *variable = env->text + at;
        if (strncmp(variable, name, name_len) == 0 && variable[name_len] == '=')
            return variable[name_len + 1] ? variable + name_len + 1 : NULL;
    }
    return NULL;
}

bool dsql_aws_env_is_true(const struct dsql_aws_env *env, const char *name)
{
    const char *value = dsql_aws_env_get(env, name);
    return value && dsql_span_eq_nocase(dsql_span_of(value), DSQL_SPAN("true"));
}

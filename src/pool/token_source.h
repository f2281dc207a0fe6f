/* The password of the next connect. Asked by the opener, which must not wait. */
#ifndef DSQL_POOL_TOKEN_SOURCE_H
#define DSQL_POOL_TOKEN_SOURCE_H

#include "base/clock.h"
#include "base/secret.h"

struct dsql_token_source;
struct dsql_credentials;

struct dsql_token_source_options {
    const char *host, *region, *user;
    int64_t duration_ns;
    struct dsql_credentials *credentials;
    void (*wake)(void *arg); /* from any thread: a try is worth another */
    void *wake_arg;
};

DSQL_MUST_USE enum dsql_rc dsql_token_source_new(const struct dsql_token_source_options *options,
                                                 struct dsql_token_source **source,
                                                 struct dsql_err *err);
void dsql_token_source_destroy(struct dsql_token_source *source);

/* DSQL_TIMEOUT: it is being fetched, and wake will be called. */
DSQL_MUST_USE enum dsql_rc dsql_token_source_try(struct dsql_token_source *source,
                                                 struct dsql_secret *token, struct dsql_err *err);

/* The last one was refused: as expired, or for another reason. */
void dsql_token_source_refused(struct dsql_token_source *source, bool expired);

#endif

/*
 * The token that every new connection of one endpoint and user needs, kept as long as it is good:
 * until a minute before its end (a quarter of its time, if that is less), and never past the end of
 * the credentials that signed it. Making one needs no network, only the credentials may.
 *
 * Safe from any thread. dsql_token_cache_try() never blocks.
 */
#ifndef DSQL_AWS_TOKEN_CACHE_H
#define DSQL_AWS_TOKEN_CACHE_H

#include "aws/credentials.h"
#include "aws/token.h"

struct dsql_token_cache;

struct dsql_token_cache_options {
    struct dsql_credentials *credentials; /* held */
    const char *host, *region, *user;     /* copied */
    int64_t duration_ns;                  /* of a token; a second to a week */
    const struct dsql_clock *clock;       /* NULL: the system's */
    /* Called from another thread when dsql_token_cache_try() is worth another try. Must be short
     * and must not call back into the cache. NULL for none. */
    void (*wake)(void *arg);
    void *wake_arg;
};

/* DSQL_INVALID for a duration or name that cannot be signed, DSQL_NO_MEMORY. */
DSQL_MUST_USE enum dsql_rc dsql_token_cache_new(const struct dsql_token_cache_options *options,
                                                struct dsql_token_cache **cache,
                                                struct dsql_err *err);
/* When it returns, wake is not running and will not be called again. NULL is fine. */
void dsql_token_cache_destroy(struct dsql_token_cache *cache);

/* A copy of a token that is good now. Waits at most wait_ns for credentials: then DSQL_TIMEOUT.
 * Other failures are those of dsql_credentials_check() and dsql_token_mint(). */
DSQL_MUST_USE enum dsql_rc dsql_token_cache_get(struct dsql_token_cache *cache, int64_t wait_ns,
                                                struct dsql_secret *token, struct dsql_err *err);

/* A copy of a token that is good now, without waiting. DSQL_TIMEOUT says that credentials are being
 * fetched, and that wake will be called when the fetch has ended, well or not. Other failures come
 * at once at each call, without a wake: the caller backs off. */
DSQL_MUST_USE enum dsql_rc dsql_token_cache_try(struct dsql_token_cache *cache,
                                                struct dsql_secret *token, struct dsql_err *err);

/* "Signature expired": the token is made anew, with the same credentials. */
void dsql_token_cache_forget(struct dsql_token_cache *cache);

/* Access denied: the credentials are fetched anew as well (dsql_credentials_refused()). */
void dsql_token_cache_refused(struct dsql_token_cache *cache);

#endif

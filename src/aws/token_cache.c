#include "aws/token_cache.h"

#include <pthread.h>
#include <stdlib.h>

#include "aws/endpoint.h"
#include "base/lock.h"

#define BUFFER_MAX_NS DSQL_M

struct dsql_token_cache {
    struct dsql_credentials *credentials;
    const struct dsql_clock *clock;
    char host[DSQL_HOST_MAX + 1], region[DSQL_REGION_MAX + 1];
    enum dsql_token_action action;
    int64_t duration_ns;
    void (*wake)(void *arg);
    void *wake_arg;
    struct dsql_credentials_listener listener;

    pthread_mutex_t lock; /* guards the rest; nothing is called while it is held */
    struct dsql_secret token;
    struct dsql_wall made, good_until;
    uint64_t generation; /* of the credentials that signed it */
};

static void fetched(struct dsql_credentials_listener *self)
{
    struct dsql_token_cache *cache = DSQL_CONTAINER_OF(self, struct dsql_token_cache, listener);
    cache->wake(cache->wake_arg);
}

static bool copy_name(char *to, size_t cap, const char *from)
{
    size_t len = strlen(from);
    if (len == 0 || len >= cap)
        return false;
    memcpy(to, from, len + 1);
    return true;
}

enum dsql_rc dsql_token_cache_new(const struct dsql_token_cache_options *options,
                                  struct dsql_token_cache **cache, struct dsql_err *err)
{
    if (options->duration_ns < DSQL_S || options->duration_ns > DSQL_TOKEN_EXPIRES_MAX_S * DSQL_S)
        return dsql_err_set(err, DSQL_INVALID, "a token lasts from a second to a week");
    struct dsql_token_cache *made = calloc(1, sizeof(*made));
    if (!made)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (!copy_name(made->host, sizeof(made->host), options->host) ||
        !copy_name(made->region, sizeof(made->region), options->region)) {
        free(made);
        return dsql_err_set(err, DSQL_INVALID,
                            "a token needs a host and a region, neither too long");
    }
    made->credentials = dsql_credentials_hold(options->credentials);
    made->clock = dsql_clock_or_boot(options->clock);
    made->action = dsql_token_action_of(dsql_span_of(options->user));
    made->duration_ns = options->duration_ns;
    made->wake = options->wake;
    made->wake_arg = options->wake_arg;
    made->listener.fetched = fetched;
    int failed = pthread_mutex_init(&made->lock, NULL);
    assert(!failed);
    if (made->wake)
        dsql_credentials_listen(made->credentials, &made->listener);
    *cache = made;
    return DSQL_OK;
}

void dsql_token_cache_destroy(struct dsql_token_cache *cache)
{
    if (!cache)
        return;
    if (cache->wake)
        dsql_credentials_unlisten(cache->credentials, &cache->listener);
    dsql_credentials_release(cache->credentials);
    (void)pthread_mutex_destroy(&cache->lock);
    dsql_secret_fini(&cache->token);
    free(cache);
}

/* With the lock held: a new token from these keys. */
static enum dsql_rc mint(struct dsql_token_cache *cache, const struct dsql_keys *keys,
                         struct dsql_wall now, struct dsql_err *err)
{
    const struct dsql_token_order order = {
        .keys = dsql_keys_view(keys),
        .host = dsql_span_of(cache->host),
        .region = dsql_span_of(cache->region),
        .action = cache->action,
        .at = now,
        .expires_s = cache->duration_ns / DSQL_S,
    };
    enum dsql_rc rc = dsql_token_mint(&order, &cache->token, err);
    if (rc)
        return rc;
    int64_t lasts_ns = order.expires_s * DSQL_S;
    int64_t buffer_ns = lasts_ns / 4 < BUFFER_MAX_NS ? lasts_ns / 4 : BUFFER_MAX_NS;
    cache->made = now;
    cache->generation = keys->generation;
    cache->good_until = dsql_wall_add(now, lasts_ns - buffer_ns);
    if (keys->expires.ns != 0 && keys->expires.ns < cache->good_until.ns)
        cache->good_until = keys->expires;
    return DSQL_OK;
}

/* A clock that was set back would send a token from the future, which the service refuses; and new
 * credentials are there for a reason. */
static bool is_good(const struct dsql_token_cache *cache, struct dsql_wall now)
{
    return now.ns >= cache->made.ns && now.ns < cache->good_until.ns &&
           cache->generation == dsql_credentials_generation(cache->credentials);
}

/* True if there was a good token to copy, or memory ran out on the way: *rc says which.
 */
static bool copy_good(struct dsql_token_cache *cache, struct dsql_secret *token, enum dsql_rc *rc,
                      struct dsql_err *err)
{
    dsql_lock(&cache->lock);
    bool good = is_good(cache, dsql_clock_wall(cache->clock));
    if (good && (*rc = dsql_secret_set(
                     token, dsql_revealed_span(dsql_secret_reveal(&cache->token)))) != DSQL_OK)
        (void)dsql_err_set(err, *rc, "out of memory");
    dsql_unlock(&cache->lock);
    return good;
}

enum dsql_rc dsql_token_cache_get(struct dsql_token_cache *cache, int64_t wait_ns,
                                  struct dsql_secret *token, struct dsql_err *err)
{
    enum dsql_rc rc;
    if (copy_good(cache, token, &rc, err))
        return rc;
    struct dsql_keys keys = {0};
    rc = dsql_credentials_get(cache->credentials, wait_ns, &keys, err);
    if (rc)
        return rc;
    dsql_lock(&cache->lock);
    struct dsql_wall now = dsql_clock_wall(cache->clock);
    if (!is_good(cache, now)) /* another thread may have been faster */
        rc = mint(cache, &keys, now, err);
    if (!rc && (rc = dsql_secret_set(token, dsql_revealed_span(dsql_secret_reveal(&cache->token)))))
        (void)dsql_err_set(err, rc, "out of memory");
    dsql_unlock(&cache->lock);
    dsql_keys_fini(&keys);
    return rc;
}

enum dsql_rc dsql_token_cache_try(struct dsql_token_cache *cache, struct dsql_secret *token,
                                  struct dsql_err *err)
{
    return dsql_token_cache_get(cache, 0, token, err);
}

void dsql_token_cache_forget(struct dsql_token_cache *cache)
{
    dsql_lock(&cache->lock);
    cache->good_until = (struct dsql_wall){0};
    dsql_unlock(&cache->lock);
}

void dsql_token_cache_refused(struct dsql_token_cache *cache)
{
    dsql_credentials_refused(cache->credentials);
    dsql_token_cache_forget(cache);
}

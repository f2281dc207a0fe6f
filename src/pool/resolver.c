#include "pool/resolver.h"

#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/lock.h"
#include "base/thread.h"

enum { ADDRESSES_MAX = 16, HOST_SIZE = 256 };

/* Addresses older than this are looked up again. */
#define FRESH_NS (30 * DSQL_S)

/* Shared by the resolver and a lookup under way; the last of the two frees it. */
struct shared {
    pthread_mutex_t lock;
    unsigned users;
    bool done; /* a lookup has ended, and its result was not taken yet */
    int failure;
    size_t count;
    char addresses[ADDRESSES_MAX][DSQL_RESOLVED_SIZE];
    char host[HOST_SIZE];
    void (*wake)(void *arg); /* NULL: the asker has gone away */
    void *arg;
};

struct dsql_resolver {
    struct shared *shared;
    bool looking, stale;
    struct dsql_mono looked_at;
    size_t count, next;
    char addresses[ADDRESSES_MAX][DSQL_RESOLVED_SIZE];
};

static void release(struct shared *s)
{
    dsql_lock(&s->lock);
    bool last = --s->users == 0;
    dsql_unlock(&s->lock);
    if (last) {
        pthread_mutex_destroy(&s->lock);
        free(s);
    }
}

enum dsql_rc dsql_resolver_new(const char *host, void (*wake)(void *arg), void *arg,
                               struct dsql_resolver **resolver)
{
    struct dsql_resolver *r = calloc(1, sizeof(*r));
    struct shared *s = calloc(1, sizeof(*s));
    if (!r || !s || strlen(host) >= HOST_SIZE || pthread_mutex_init(&s->lock, NULL) != 0) {
        free(r);
        free(s);
        return DSQL_NO_MEMORY;
    }
    memcpy(s->host, host, strlen(host) + 1);
    s->wake = wake;
    s->arg = arg;
    s->users = 1;
    r->shared = s;
    *resolver = r;
    return DSQL_OK;
}

void dsql_resolver_destroy(struct dsql_resolver *resolver)
{
    if (!resolver)
        return;
    dsql_lock(&resolver->shared->lock);
    resolver->shared->wake = NULL;
    dsql_unlock(&resolver->shared->lock);
    release(resolver->shared);
    free(resolver);
}

static void *look_up(void *arg)
{
    struct shared *s = arg;
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    int failure = getaddrinfo(s->host, NULL, &wanted, &found);
    dsql_lock(&s->lock);
    s->count = 0;
    for (const struct addrinfo *a = found; !failure && a && s->count < ADDRESSES_MAX;
         a = a->ai_next)
        if (getnameinfo(a->ai_addr, a->ai_addrlen, s->addresses[s->count], DSQL_RESOLVED_SIZE, NULL,
                        0, NI_NUMERICHOST) == 0)
            s->count++;
    s->failure = failure || s->count > 0 ? failure : EAI_NONAME;
    s->done = true;
    if (s->wake)
        s->wake(s->arg);
    dsql_unlock(&s->lock);
    if (!failure)
        freeaddrinfo(found);
    release(s);
    return NULL;
}

static bool start_lookup(struct dsql_resolver *r, struct dsql_mono now)
{
    pthread_t thread;
    dsql_lock(&r->shared->lock);
    r->shared->users++;
    dsql_unlock(&r->shared->lock);
    r->looking = dsql_thread_start(&thread, 0, look_up, r->shared) == 0;
    if (r->looking)
        (void)pthread_detach(thread);
    else
        release(r->shared);
    r->looked_at = now;
    r->stale = false;
    return r->looking;
}

/* Takes over what a lookup has found; a failed one leaves the known addresses. */
static int take_result(struct dsql_resolver *r)
{
    struct shared *s = r->shared;
    int failure = 0;
    dsql_lock(&s->lock);
    if (s->done) {
        s->done = r->looking = false;
        failure = s->failure;
        if (!failure) {
            memcpy(r->addresses, s->addresses, sizeof(r->addresses));
            r->count = s->count;
        }
    }
    dsql_unlock(&s->lock);
    return failure;
}

enum dsql_rc dsql_resolver_address(struct dsql_resolver *r, struct dsql_mono now,
                                   char address[DSQL_RESOLVED_SIZE], struct dsql_err *err)
{
    int failure = r->looking ? take_result(r) : 0;
    if (failure && r->count == 0)
        return dsql_err_set(err, DSQL_LOST, "can't resolve the name %.200s: %s", r->shared->host,
                            gai_strerror(failure));
    bool old = r->stale || r->count == 0 || dsql_mono_since(now, r->looked_at) >= FRESH_NS;
    if (old && !r->looking && !start_lookup(r, now) && r->count == 0)
        return dsql_err_set(err, DSQL_LOST, "can't resolve the name %.200s: no thread for it",
                            r->shared->host);
    if (r->count == 0)
        return DSQL_TIMEOUT;
    memcpy(address, r->addresses[r->next % r->count], DSQL_RESOLVED_SIZE);
    return DSQL_OK;
}

void dsql_resolver_failed(struct dsql_resolver *r)
{
    r->next++;
    r->stale = true;
}

#include "aws/credentials.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fork.h"
#include "base/lock.h"
#include "base/rng.h"
#include "base/thread.h"
#include "core/refresh.h"

struct dsql_credentials {
    struct dsql_credentials_source *source;
    const struct dsql_clock *clock;
    struct dsql_log *log;
    unsigned fork_generation; /* of the process whose thread fetches */
    int cancel_fd;
    _Atomic uint64_t generation;
    _Atomic unsigned holders; /* who made it, until destroy(), and those who hold it */

    pthread_mutex_t lock; /* guards all down to the next lock */
    pthread_cond_t changed;
    struct dsql_refresh refresh;
    struct dsql_rng rng;
    struct dsql_keys keys; /* of the refresh's value */
    struct dsql_err last;  /* the last failure */
    uint64_t fetches;      /* ended so far, well or not */
    bool has_thread, stop;
    pthread_t thread;

    pthread_mutex_t listeners_lock;
    struct dsql_credentials_listener *listeners;
};

static enum dsql_rc no_memory(struct dsql_err *err)
{
    return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
}

static void destroy_source(struct dsql_credentials_source *source)
{
    if (source && source->destroy)
        source->destroy(source);
}

enum dsql_rc dsql_credentials_make(const struct dsql_credentials_setup *setup,
                                   struct dsql_credentials **credentials, struct dsql_err *err)
{
    struct dsql_credentials *made = calloc(1, sizeof(*made));
    if (!made) {
        destroy_source(setup->source);
        return no_memory(err);
    }
    made->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (made->cancel_fd < 0) {
        destroy_source(setup->source);
        free(made);
        (void)dsql_err_set(err, DSQL_IO, "no file descriptor left for the credentials");
        dsql_err_hint(err, "raise the limit of open files (ulimit -n)");
        return DSQL_IO;
    }
    made->source = setup->source;
    made->clock = dsql_clock_or_boot(setup->clock);
    made->log = setup->log ? setup->log : dsql_log_default();
    made->rng = setup->seed ? dsql_rng_seeded(setup->seed) : dsql_rng_from_os();
    dsql_fork_watch(NULL);
    made->fork_generation = dsql_fork_generation;
    atomic_init(&made->holders, 1);
    (void)dsql_err_set(&made->last, DSQL_DENIED, "the credentials expired as soon as they came");
    dsql_clock_cond_init(&made->changed);
    int failed =
        pthread_mutex_init(&made->lock, NULL) || pthread_mutex_init(&made->listeners_lock, NULL);
    assert(!failed); /* glibc's need no resources */
    *credentials = made;
    return DSQL_OK;
}

struct dsql_credentials *dsql_credentials_hold(struct dsql_credentials *credentials)
{
    unsigned before = atomic_fetch_add_explicit(&credentials->holders, 1, memory_order_relaxed);
    assert(before > 0);
    return credentials;
}

void dsql_credentials_release(struct dsql_credentials *credentials)
{
    if (!credentials)
        return;
    unsigned before = atomic_fetch_sub_explicit(&credentials->holders, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;
    assert(credentials->stop && !credentials->source);
    if (credentials->fork_generation ==
        dsql_fork_generation) { /* in a child they may look used for ever */
        (void)pthread_cond_destroy(&credentials->changed);
        (void)pthread_mutex_destroy(&credentials->lock);
        (void)pthread_mutex_destroy(&credentials->listeners_lock);
    }
    free(credentials);
}

/* One fetch, with no lock held. What is past its end when it comes is a failure. */
static enum dsql_rc fetch(struct dsql_credentials *c, struct dsql_keys *keys, struct dsql_err *err)
{
    enum dsql_rc rc = c->source->fetch(c->source, c->cancel_fd, keys, err);
    if (rc || dsql_refresh_is_valid(keys->expires, dsql_clock_wall(c->clock)))
        return rc;
    char when[40];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, when, sizeof(when));
    dsql_wall_format(&sb, keys->expires);
    (void)dsql_err_set(err, DSQL_DENIED, "%s: the credentials it gave expired at %s",
                       keys->provider, when);
    dsql_err_hint(err, "renew them at their source, and check that this machine's clock is right");
    return DSQL_DENIED;
}

static void log_outcome(struct dsql_credentials *c, bool loud, const struct dsql_keys *keys,
                        const struct dsql_err *err)
{
    if (!loud)
        return;
    if (keys)
        dsql_log(c->log, DSQL_EVENT_CREDENTIALS_READY, DSQL_F("provider", &keys->provider[0]),
                 DSQL_F("access_key_id", &keys->access_key_id[0]));
    else
        dsql_log(c->log, DSQL_EVENT_CREDENTIALS_FAILED, DSQL_F("detail", &err->message[0]),
                 DSQL_F("hint", &err->hint[0]));
}

static void tell_listeners(struct dsql_credentials *c)
{
    dsql_lock(&c->listeners_lock);
    for (struct dsql_credentials_listener *l = c->listeners; l; l = l->next_)
        l->fetched(l);
    dsql_unlock(&c->listeners_lock);
}

static void fetch_once(struct dsql_credentials *c)
{
    struct dsql_keys keys = {0};
    struct dsql_err err = {0};
    enum dsql_rc rc = fetch(c, &keys, &err);
    struct dsql_mono mono = dsql_clock_mono(c->clock);
    struct dsql_wall wall = dsql_clock_wall(c->clock);

    dsql_lock(&c->lock);
    bool loud, stopping = c->stop;
    if (!rc) {
        loud = dsql_refresh_succeeded(&c->refresh, mono, wall, keys.expires) || c->fetches == 0;
        struct dsql_keys old = c->keys;
        c->keys = keys;
        c->keys.generation = atomic_fetch_add(&c->generation, 1) + 1;
        keys = old;
    } else {
        loud = dsql_refresh_failed(&c->refresh, mono, &c->rng);
        c->last = err;
    }
    struct dsql_keys shown = {.expires = c->keys.expires}; /* what may be logged, without secrets */
    memcpy(shown.provider, c->keys.provider, sizeof(shown.provider));
    memcpy(shown.access_key_id, c->keys.access_key_id, sizeof(shown.access_key_id));
    c->fetches++;
    (void)pthread_cond_broadcast(&c->changed);
    dsql_unlock(&c->lock);

    dsql_keys_fini(&keys);
    log_outcome(c, loud && !stopping, rc ? NULL : &shown, &err);
    tell_listeners(c);
}

static void *work(void *arg)
{
    struct dsql_credentials *c = arg;
    dsql_lock(&c->lock);
    while (!c->stop) {
        if (!c->refresh.fetching) {
            (void)pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        dsql_unlock(&c->lock);
        fetch_once(c);
        dsql_lock(&c->lock);
    }
    dsql_unlock(&c->lock);
    return NULL;
}

/* The thread begins with the first fetch. */
static bool start_thread(struct dsql_credentials *c)
{
    c->has_thread = dsql_thread_start(&c->thread, 0, work, c) == 0;
    return c->has_thread;
}

static enum dsql_rc begin_fetch(struct dsql_credentials *c, struct dsql_err *err)
{
    if (!c->has_thread && !start_thread(c)) {
        (void)dsql_err_set(err, DSQL_IO, "no thread can be started to fetch credentials");
        dsql_err_hint(err, "raise the limit of processes and threads (ulimit -u)");
        return DSQL_IO;
    }
    dsql_refresh_begin(&c->refresh);
    (void)pthread_cond_broadcast(&c->changed);
    return DSQL_OK;
}

/* With the lock held. On DSQL_OK c->keys may be used. */
static enum dsql_rc need_keys(struct dsql_credentials *c, int64_t wait_ns, struct dsql_err *err)
{
    struct dsql_mono deadline = dsql_mono_add(dsql_clock_mono(c->clock), wait_ns);
    uint64_t before = c->fetches;
    for (bool in_time = wait_ns > 0;;) {
        if (c->stop)
            return dsql_err_set(err, DSQL_CLOSED, "these credentials have been destroyed");
        struct dsql_refresh_need need =
            dsql_refresh_need(&c->refresh, dsql_clock_mono(c->clock), dsql_clock_wall(c->clock));
        /* A caller that saw one fetch fail has its answer, and does not begin the next. */
        bool answered = !need.serve && c->fetches != before;
        if (need.fetch && !answered) {
            enum dsql_rc rc = begin_fetch(c, err);
            if (rc && !need.serve)
                return rc;
        }
        if (need.serve)
            return DSQL_OK;
        if (answered || !need.wait) {
            if (err)
                *err = c->last;
            return c->last.rc;
        }
        if (!in_time)
            return dsql_err_set(err, DSQL_TIMEOUT, "AWS credentials are still being fetched");
        in_time = dsql_clock_wait(c->clock, &c->changed, &c->lock, deadline);
    }
}

static enum dsql_rc refuse_child(const struct dsql_credentials *c, struct dsql_err *err)
{
    if (c->fork_generation == dsql_fork_generation)
        return DSQL_OK;
    (void)dsql_err_set(err, DSQL_CLOSED, "these credentials belong to the parent process");
    dsql_err_hint(err, "create credentials and pools after fork(), in the process that uses them");
    return DSQL_CLOSED;
}

enum dsql_rc dsql_credentials_get(struct dsql_credentials *credentials, int64_t wait_ns,
                                  struct dsql_keys *keys, struct dsql_err *err)
{
    enum dsql_rc rc = refuse_child(credentials, err);
    if (rc)
        return rc;
    dsql_lock(&credentials->lock);
    rc = need_keys(credentials, wait_ns, err);
    if (!rc)
        rc = dsql_keys_copy(keys, &credentials->keys, err);
    dsql_unlock(&credentials->lock);
    return rc;
}

enum dsql_rc dsql_credentials_check(struct dsql_credentials *credentials, int64_t wait_ns,
                                    struct dsql_credentials_info *info, struct dsql_err *err)
{
    enum dsql_rc rc = refuse_child(credentials, err);
    if (rc)
        return rc;
    dsql_lock(&credentials->lock);
    rc = need_keys(credentials, wait_ns, err);
    if (!rc && info) {
        const struct dsql_keys *keys = &credentials->keys;
        *info = (struct dsql_credentials_info){
            .has_session_token = !dsql_secret_is_empty(&keys->session_token),
            .expires_unix_s = keys->expires.ns / DSQL_S,
        };
        static_assert(sizeof(info->provider) >= sizeof(keys->provider), "it fits");
        static_assert(sizeof(info->access_key_id) >= sizeof(keys->access_key_id), "it fits");
        memcpy(info->provider, keys->provider, sizeof(keys->provider));
        memcpy(info->access_key_id, keys->access_key_id, sizeof(keys->access_key_id));
    }
    dsql_unlock(&credentials->lock);
    return rc;
}

uint64_t dsql_credentials_generation(const struct dsql_credentials *credentials)
{
    return atomic_load(&credentials->generation);
}

void dsql_credentials_refused(struct dsql_credentials *credentials)
{
    if (refuse_child(credentials, NULL))
        return;
    dsql_lock(&credentials->lock);
    dsql_refresh_refused(&credentials->refresh);
    if (!credentials->stop &&
        dsql_refresh_need(&credentials->refresh, dsql_clock_mono(credentials->clock),
                          dsql_clock_wall(credentials->clock))
            .fetch)
        (void)begin_fetch(credentials, NULL); /* if it can't begin now, the next need tries */
    dsql_unlock(&credentials->lock);
}

void dsql_credentials_listen(struct dsql_credentials *credentials,
                             struct dsql_credentials_listener *listener)
{
    dsql_lock(&credentials->listeners_lock);
    listener->next_ = credentials->listeners;
    credentials->listeners = listener;
    dsql_unlock(&credentials->listeners_lock);
}

void dsql_credentials_unlisten(struct dsql_credentials *credentials,
                               struct dsql_credentials_listener *listener)
{
    if (refuse_child(credentials, NULL))
        return; /* no listener will be called, and the lock may have been held at the fork */
    dsql_lock(&credentials->listeners_lock);
    struct dsql_credentials_listener **at = &credentials->listeners;
    while (*at && *at != listener)
        at = &(*at)->next_;
    if (*at)
        *at = listener->next_;
    dsql_unlock(&credentials->listeners_lock);
}

void dsql_credentials_destroy(struct dsql_credentials *credentials)
{
    if (!credentials)
        return;
    if (!refuse_child(credentials, NULL)) {
        dsql_lock(&credentials->lock);
        credentials->stop = true;
        (void)pthread_cond_broadcast(&credentials->changed);
        dsql_unlock(&credentials->lock);
        (void)eventfd_write(credentials->cancel_fd, 1);
        if (credentials->has_thread)
            (void)pthread_join(credentials->thread, NULL);
    } else {
        credentials->stop = true;
    }
    /* From here on no thread fetches or reads the keys: see need_keys(). */
    (void)close(credentials->cancel_fd);
    destroy_source(credentials->source);
    dsql_keys_fini(&credentials->keys);
    credentials->source = NULL;
    dsql_credentials_release(credentials);
}

/* A provider of the program's own. */

struct dsql_credentials_reply {
    struct dsql_keys *keys;
    struct dsql_err *err;
    bool given;
};

struct custom {
    struct dsql_credentials_source source;
    dsql_credentials_fetch_fn *fetch;
    void *arg;
};

enum dsql_rc dsql_credentials_reply_set(struct dsql_credentials_reply *reply,
                                        const char *access_key_id, const char *secret_access_key,
                                        const char *session_token, int64_t expires_unix_s)
{
    int64_t expires_ns;
    if (!access_key_id || !secret_access_key || expires_unix_s < 0)
        return dsql_err_set(reply->err, DSQL_INVALID, "a part of the credentials is missing");
    if (__builtin_mul_overflow(expires_unix_s, DSQL_S, &expires_ns))
        expires_ns = INT64_MAX;
    enum dsql_rc rc =
        dsql_keys_set(reply->keys, dsql_span_of(access_key_id), dsql_span_of(secret_access_key),
                      dsql_span_of(session_token ? session_token : ""),
                      (struct dsql_wall){expires_ns}, reply->err);
    reply->given = reply->given || !rc;
    return rc;
}

static enum dsql_rc fetch_custom(struct dsql_credentials_source *self, int cancel_fd,
                                 struct dsql_keys *keys, struct dsql_err *err)
{
    struct custom *custom = DSQL_CONTAINER_OF(self, struct custom, source);
    struct dsql_credentials_reply reply = {.keys = keys, .err = err};
    (void)cancel_fd;
    dsql_keys_name(keys, "the program");
    enum dsql_rc rc = custom->fetch(custom->arg, &reply, err);
    if (!rc && !reply.given)
        rc = dsql_err_set(err, DSQL_DENIED, "the program's provider gave no credentials");
    if (rc)
        err->rc = rc; /* the provider may have left it out */
    return rc;
}

static void destroy_custom(struct dsql_credentials_source *self)
{
    free(DSQL_CONTAINER_OF(self, struct custom, source));
}

enum dsql_rc dsql_credentials_new_custom(dsql_credentials_fetch_fn *fetch_fn, void *arg,
                                         struct dsql_credentials **credentials,
                                         struct dsql_err *err)
{
    if (!fetch_fn)
        return dsql_err_set(err, DSQL_INVALID, "no function to fetch credentials");
    struct custom *custom = malloc(sizeof(*custom));
    if (!custom)
        return no_memory(err);
    *custom = (struct custom){{fetch_custom, destroy_custom}, fetch_fn, arg};
    const struct dsql_credentials_setup setup = {.source = &custom->source};
    return dsql_credentials_make(&setup, credentials, err);
}

/*
 * Many threads need credentials and tokens while time flies, fetches fail, keys are refused, caches
 * come and go: never two fetches at once, everybody gets what is valid at that moment or an error,
 * TSan finds nothing. What happens how often depends on the machine; nothing here counts on it.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "aws/token_cache.h"
#include "base/rng.h"
#include "support/test.h"

enum { THREADS = 8, FETCHES_WANTED = 200 };

struct shared {
    struct dsql_credentials_source source;
    struct dsql_clock clock;
    _Atomic int64_t now_ns;        /* both clocks: only forward */
    _Atomic int inside;            /* fetches under way */
    _Atomic unsigned good, bad;    /* fetches that ended so */
    _Atomic unsigned wakes, wrong; /* wrong: promises broken */
    _Atomic bool done;
    struct dsql_log log;
    struct dsql_credentials *credentials;
    struct dsql_token_cache *cache;
};

static struct dsql_mono mono(const struct dsql_clock *self)
{
    struct shared *s = DSQL_CONTAINER_OF(self, struct shared, clock);
    return (struct dsql_mono){atomic_load(&s->now_ns)};
}

static struct dsql_wall wall(const struct dsql_clock *self)
{
    return (struct dsql_wall){mono(self).ns};
}

static enum dsql_rc fetch(struct dsql_credentials_source *self, int cancel_fd,
                          struct dsql_keys *keys, struct dsql_err *err)
{
    struct shared *s = DSQL_CONTAINER_OF(self, struct shared, source);
    (void)cancel_fd;
    if (atomic_fetch_add(&s->inside, 1) != 0)
        atomic_fetch_add(&s->wrong, 1); /* two at once */
    (void)sched_yield();
    unsigned number = atomic_load(&s->good) + atomic_load(&s->bad);
    bool fails = number % 3 == 2;
    atomic_fetch_add(fails ? &s->bad : &s->good, 1);
    struct dsql_wall expires = {atomic_load(&s->now_ns) + DSQL_H};
    atomic_fetch_sub(&s->inside, 1);
    if (fails)
        return dsql_err_set(err, DSQL_IO, "fails now and then");
    dsql_keys_name(keys, "test");
    return dsql_keys_set(keys, DSQL_SPAN("AKID"), DSQL_SPAN("secret"), DSQL_SPAN("session"),
                         expires, err);
}

static void wake(void *arg)
{
    struct shared *s = arg;
    atomic_fetch_add(&s->wakes, 1);
}

static void ignore(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

/* Time flies so fast that keys may come expired: that is DSQL_DENIED. */
static bool is_fine(enum dsql_rc rc)
{
    return rc == DSQL_IO || rc == DSQL_TIMEOUT || rc == DSQL_DENIED;
}

/* A few outcomes are fine; keys that were past their end when they were asked for are not. */
static void use_keys(struct shared *s, int64_t wait_ns)
{
    struct dsql_keys keys = {0};
    struct dsql_err err = {0};
    int64_t before_ns = atomic_load(&s->now_ns);
    enum dsql_rc rc = dsql_credentials_get(s->credentials, wait_ns, &keys, &err);
    if (rc ? !is_fine(rc) || err.rc != rc || !err.message[0]
           : keys.expires.ns <= before_ns || strcmp(keys.access_key_id, "AKID") != 0)
        atomic_fetch_add(&s->wrong, 1);
    dsql_keys_fini(&keys);
}

static void use_token(struct shared *s, struct dsql_token_cache *cache, int64_t wait_ns)
{
    struct dsql_secret token = {0};
    struct dsql_err err = {0};
    enum dsql_rc rc = wait_ns ? dsql_token_cache_get(cache, wait_ns, &token, &err)
                              : dsql_token_cache_try(cache, &token, &err);
    if (rc ? !is_fine(rc) || err.rc != rc
           : !strstr(dsql_secret_reveal(&token).ptr, "X-Amz-Signature="))
        atomic_fetch_add(&s->wrong, 1);
    dsql_secret_fini(&token);
}

static enum dsql_rc new_cache(struct shared *s, struct dsql_token_cache **cache)
{
    const struct dsql_token_cache_options options = {
        .credentials = s->credentials,
        .host = "h.example",
        .region = "us-east-1",
        .user = "app",
        .duration_ns = 15 * DSQL_M,
        .clock = &s->clock,
        .wake = wake,
        .wake_arg = s,
    };
    return dsql_token_cache_new(&options, cache, NULL);
}

struct worker {
    struct shared *shared;
    uint64_t seed;
};

static void *work(void *arg)
{
    const struct worker *worker = arg;
    struct shared *s = worker->shared;
    struct dsql_rng rng = dsql_rng_seeded(worker->seed);
    struct dsql_token_cache *own;
    while (!atomic_load(&s->done)) {
        switch (dsql_rng_below(&rng, 8)) {
        case 0:
            atomic_fetch_add(&s->now_ns, dsql_rng_between(&rng, 0, 20 * DSQL_M));
            break;
        case 1:
            dsql_token_cache_refused(s->cache);
            break;
        case 2:
            dsql_token_cache_forget(s->cache);
            break;
        case 3:
            if (new_cache(s, &own) == DSQL_OK) {
                use_token(s, own, 0);
                dsql_token_cache_destroy(own);
            }
            break;
        case 4:
            use_keys(s, 0);
            break;
        case 5:
            use_keys(s, DSQL_M);
            break;
        case 6:
            use_token(s, s->cache, 0);
            break;
        default:
            use_token(s, s->cache, DSQL_M);
            break;
        }
    }
    return NULL;
}

static void open_shared(struct shared *s)
{
    memset(s, 0, sizeof(*s));
    s->source.fetch = fetch;
    s->clock = (struct dsql_clock){.mono = mono, .mono_coarse = mono, .wall = wall};
    atomic_store(&s->now_ns, INT64_C(1800000000) * DSQL_S);
    dsql_log_init(&s->log, &s->clock, ignore, NULL);
    const struct dsql_credentials_setup setup = {
        .source = &s->source, .clock = &s->clock, .log = &s->log, .seed = 7};
    assert_int_equal(dsql_credentials_make(&setup, &s->credentials, NULL), DSQL_OK);
    assert_int_equal(new_cache(s, &s->cache), DSQL_OK);
}

TEST(never_two_fetches_at_once)
{
    static struct shared s;
    pthread_t threads[THREADS];
    struct worker workers[THREADS];
    open_shared(&s);
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){&s, i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    /* Until enough has happened, however long that takes; ctest has a limit. */
    while (atomic_load(&s.good) < FETCHES_WANTED || atomic_load(&s.bad) < FETCHES_WANTED / 4)
        (void)sched_yield();
    atomic_store(&s.done, true);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&s.wrong), 0);
    dsql_token_cache_destroy(s.cache);
    dsql_credentials_destroy(s.credentials);
    assert_int_equal(atomic_load(&s.inside), 0);
}

/* A crowd that arrives before there is anything: all wait for one fetch. */
struct gate {
    struct dsql_credentials_source source;
    struct dsql_credentials *credentials;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    unsigned begun;
    _Atomic unsigned served;
};

static enum dsql_rc fetch_at_gate(struct dsql_credentials_source *self, int cancel_fd,
                                  struct dsql_keys *keys, struct dsql_err *err)
{
    struct gate *g = DSQL_CONTAINER_OF(self, struct gate, source);
    (void)cancel_fd;
    (void)pthread_mutex_lock(&g->lock);
    g->begun++;
    (void)pthread_cond_broadcast(&g->changed);
    while (!g->open)
        (void)pthread_cond_wait(&g->changed, &g->lock);
    (void)pthread_mutex_unlock(&g->lock);
    return dsql_keys_set(keys, DSQL_SPAN("AKID"), DSQL_SPAN("secret"), DSQL_SPAN(""),
                         (struct dsql_wall){0}, err);
}

static void *need(void *arg)
{
    struct gate *g = arg;
    struct dsql_keys keys = {0};
    if (dsql_credentials_get(g->credentials, 100 * DSQL_S, &keys, NULL) == DSQL_OK)
        atomic_fetch_add(&g->served, 1);
    dsql_keys_fini(&keys);
    return NULL;
}

TEST(a_crowd_shares_one_fetch)
{
    static struct gate g;
    static struct dsql_log log;
    pthread_t threads[THREADS];
    dsql_log_init(&log, &dsql_clock_system, ignore, NULL);
    g = (struct gate){.source.fetch = fetch_at_gate};
    (void)pthread_mutex_init(&g.lock, NULL);
    (void)pthread_cond_init(&g.changed, NULL);
    const struct dsql_credentials_setup setup = {.source = &g.source, .log = &log};
    assert_int_equal(dsql_credentials_make(&setup, &g.credentials, NULL), DSQL_OK);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, need, &g), 0);
    (void)pthread_mutex_lock(&g.lock);
    while (g.begun == 0)
        (void)pthread_cond_wait(&g.changed, &g.lock);
    g.open = true;
    (void)pthread_cond_broadcast(&g.changed);
    (void)pthread_mutex_unlock(&g.lock);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(atomic_load(&g.served), THREADS);
    dsql_credentials_destroy(g.credentials);
    assert_int_equal(g.begun, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(never_two_fetches_at_once),
        cmocka_unit_test(a_crowd_shares_one_fetch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

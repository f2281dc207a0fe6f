/* Credentials and tokens that are kept: on a clock moved by hand, from a source that does what the
 * test says. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aws/token_cache.h"
#include "support/test.h"

#define LONG_NS (60 * DSQL_S) /* how long a test waits for what must come */

/* A clock that two threads may look at. */
struct shared_clock {
    struct dsql_clock clock;
    _Atomic int64_t mono_ns, wall_ns;
};

static struct dsql_mono shared_mono(const struct dsql_clock *self)
{
    const struct shared_clock *c = DSQL_CONTAINER_OF(self, struct shared_clock, clock);
    return (struct dsql_mono){atomic_load(&c->mono_ns)};
}

static struct dsql_wall shared_wall(const struct dsql_clock *self)
{
    const struct shared_clock *c = DSQL_CONTAINER_OF(self, struct shared_clock, clock);
    return (struct dsql_wall){atomic_load(&c->wall_ns)};
}

/* What the fetch function does next. */
struct fixture {
    struct dsql_credentials_source source;
    struct shared_clock time;
    struct dsql_log log;
    _Atomic unsigned lines; /* of the log */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool held;         /* fetches wait until it is false */
    unsigned fetches;  /* begun */
    int64_t lasts_ns;  /* of the next keys; 0 for ever */
    enum dsql_rc fail; /* of the next fetches */
    unsigned wakes;
    struct dsql_credentials *credentials;
    struct dsql_token_cache *cache;
};

static enum dsql_rc fetch(struct dsql_credentials_source *self, int cancel_fd,
                          struct dsql_keys *keys, struct dsql_err *err)
{
    struct fixture *f = DSQL_CONTAINER_OF(self, struct fixture, source);
    char id[32];
    struct dsql_strbuf sb;
    (void)cancel_fd;
    (void)pthread_mutex_lock(&f->lock);
    f->fetches++;
    (void)pthread_cond_broadcast(&f->changed);
    while (f->held)
        (void)pthread_cond_wait(&f->changed, &f->lock);
    enum dsql_rc rc = f->fail;
    struct dsql_wall expires = {f->lasts_ns ? atomic_load(&f->time.wall_ns) + f->lasts_ns : 0};
    dsql_strbuf_init(&sb, id, sizeof(id));
    dsql_strbuf_addf(&sb, "AKID%u", f->fetches);
    (void)pthread_mutex_unlock(&f->lock);
    if (rc)
        return dsql_err_set(err, rc, "no");
    dsql_keys_name(keys, "test");
    return dsql_keys_set(keys, dsql_strbuf_span(&sb), DSQL_SPAN("secret"), DSQL_SPAN("session"),
                         expires, err);
}

static void count_line(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    struct fixture *f = arg;
    (void)level, (void)line, (void)len;
    atomic_fetch_add(&f->lines, 1);
}

static void wake(void *arg)
{
    struct fixture *f = arg;
    (void)pthread_mutex_lock(&f->lock);
    f->wakes++;
    (void)pthread_cond_broadcast(&f->changed);
    (void)pthread_mutex_unlock(&f->lock);
}

static void open_fixture(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    f->source.fetch = fetch;
    f->time.clock =
        (struct dsql_clock){.mono = shared_mono, .mono_coarse = shared_mono, .wall = shared_wall};
    atomic_store(&f->time.wall_ns, INT64_C(1800000000) * DSQL_S);
    dsql_log_init(&f->log, &f->time.clock, count_line, f);
    (void)pthread_mutex_init(&f->lock, NULL);
    (void)pthread_cond_init(&f->changed, NULL);
    const struct dsql_credentials_setup setup = {
        .source = &f->source, .clock = &f->time.clock, .log = &f->log, .seed = 1};
    assert_int_equal(dsql_credentials_make(&setup, &f->credentials, NULL), DSQL_OK);
    const struct dsql_token_cache_options options = {
        .credentials = f->credentials,
        .host = "h.example",
        .region = "us-east-1",
        .user = "admin",
        .duration_ns = 15 * DSQL_M,
        .clock = &f->time.clock,
        .wake = wake,
        .wake_arg = f,
    };
    assert_int_equal(dsql_token_cache_new(&options, &f->cache, NULL), DSQL_OK);
}

static void close_fixture(struct fixture *f)
{
    dsql_token_cache_destroy(f->cache);
    dsql_credentials_destroy(f->credentials);
    (void)pthread_cond_destroy(&f->changed);
    (void)pthread_mutex_destroy(&f->lock);
}

static void advance(struct fixture *f, int64_t ns)
{
    atomic_fetch_add(&f->time.mono_ns, ns);
    atomic_fetch_add(&f->time.wall_ns, ns);
}

static void hold(struct fixture *f, bool held)
{
    (void)pthread_mutex_lock(&f->lock);
    f->held = held;
    (void)pthread_cond_broadcast(&f->changed);
    (void)pthread_mutex_unlock(&f->lock);
}

static void will(struct fixture *f, enum dsql_rc fail, int64_t lasts_ns)
{
    (void)pthread_mutex_lock(&f->lock);
    f->fail = fail;
    f->lasts_ns = lasts_ns;
    (void)pthread_mutex_unlock(&f->lock);
}

static void wait_until(struct fixture *f, const unsigned *count, unsigned at_least)
{
    (void)pthread_mutex_lock(&f->lock);
    while (*count < at_least)
        (void)pthread_cond_wait(&f->changed, &f->lock);
    (void)pthread_mutex_unlock(&f->lock);
}

static unsigned fetches(struct fixture *f)
{
    (void)pthread_mutex_lock(&f->lock);
    unsigned n = f->fetches;
    (void)pthread_mutex_unlock(&f->lock);
    return n;
}

/* The access key id in force, or the outcome. */
static void assert_id(struct fixture *f, int64_t wait_ns, enum dsql_rc rc, const char *id)
{
    struct dsql_keys keys = {0};
    assert_int_equal(dsql_credentials_get(f->credentials, wait_ns, &keys, NULL), rc);
    assert_string_equal(keys.access_key_id, rc ? "" : id);
    dsql_keys_fini(&keys);
}

TEST(a_token_is_kept_until_a_minute_before_its_end)
{
    struct fixture f;
    struct dsql_secret first = {0}, second = {0};
    open_fixture(&f);
    assert_int_equal(dsql_token_cache_get(f.cache, LONG_NS, &first, NULL), DSQL_OK);
    assert_non_null(strstr(dsql_secret_reveal(&first).ptr, "Action=DbConnectAdmin"));
    advance(&f, 14 * DSQL_M - 1);
    assert_int_equal(dsql_token_cache_try(f.cache, &second, NULL), DSQL_OK);
    assert_true(dsql_secret_eq(&first, &second));
    advance(&f, 1);
    assert_int_equal(dsql_token_cache_try(f.cache, &second, NULL), DSQL_OK);
    assert_false(dsql_secret_eq(&first, &second));
    assert_int_equal(fetches(&f), 1); /* a token needs no new credentials */

    /* A clock set back, and a token that the service called expired. */
    atomic_fetch_sub(&f.time.wall_ns, DSQL_S);
    assert_int_equal(dsql_token_cache_try(f.cache, &first, NULL), DSQL_OK);
    assert_false(dsql_secret_eq(&first, &second));
    advance(&f, 2 * DSQL_S);
    dsql_token_cache_forget(f.cache);
    assert_int_equal(dsql_token_cache_try(f.cache, &second, NULL), DSQL_OK);
    assert_false(dsql_secret_eq(&first, &second));
    assert_int_equal(fetches(&f), 1);
    dsql_secret_fini(&first);
    dsql_secret_fini(&second);
    close_fixture(&f);
}

TEST(a_token_never_outlives_its_credentials)
{
    struct fixture f;
    struct dsql_secret token = {0};
    open_fixture(&f);
    will(&f, DSQL_OK, 10 * DSQL_M);
    assert_int_equal(dsql_token_cache_get(f.cache, LONG_NS, &token, NULL), DSQL_OK);
    hold(&f, true);
    advance(&f, 10 * DSQL_M - 1);
    assert_int_equal(dsql_token_cache_try(f.cache, &token, NULL), DSQL_OK);
    advance(&f, 1);
    assert_int_equal(dsql_token_cache_try(f.cache, &token, NULL), DSQL_TIMEOUT);
    hold(&f, false);
    wait_until(&f, &f.wakes, 2);
    assert_int_equal(dsql_token_cache_try(f.cache, &token, NULL), DSQL_OK);
    assert_non_null(strstr(dsql_secret_reveal(&token).ptr, "AKID2"));
    dsql_secret_fini(&token);
    close_fixture(&f);
}

TEST(trying_does_not_block_and_the_wake_comes)
{
    struct fixture f;
    struct dsql_secret token = {0};
    open_fixture(&f);
    hold(&f, true);
    assert_int_equal(dsql_token_cache_try(f.cache, &token, NULL), DSQL_TIMEOUT);
    assert_int_equal(dsql_token_cache_try(f.cache, &token, NULL), DSQL_TIMEOUT);
    wait_until(&f, &f.fetches, 1);
    assert_int_equal(dsql_token_cache_get(f.cache, DSQL_MS, &token, NULL), DSQL_TIMEOUT);
    assert_int_equal(fetches(&f), 1);
    hold(&f, false);
    wait_until(&f, &f.wakes, 1);
    assert_int_equal(dsql_token_cache_try(f.cache, &token, NULL), DSQL_OK);
    dsql_secret_fini(&token);
    close_fixture(&f);
}

TEST(stale_but_valid_keys_serve_while_new_ones_are_fetched)
{
    struct fixture f;
    open_fixture(&f);
    will(&f, DSQL_OK, DSQL_H);
    assert_id(&f, LONG_NS, DSQL_OK, "AKID1");
    advance(&f, 45 * DSQL_M - 1);
    assert_id(&f, 0, DSQL_OK, "AKID1");
    assert_int_equal(fetches(&f), 1);
    hold(&f, true);
    advance(&f, 1); /* a quarter is left */
    assert_id(&f, LONG_NS, DSQL_OK, "AKID1");
    wait_until(&f, &f.fetches, 2);
    advance(&f, 15 * DSQL_M - 1);
    assert_id(&f, LONG_NS, DSQL_OK, "AKID1"); /* up to the last moment */
    advance(&f, 1);
    assert_id(&f, 0, DSQL_TIMEOUT, "");
    hold(&f, false);
    assert_id(&f, LONG_NS, DSQL_OK, "AKID2");
    assert_int_equal(fetches(&f), 2);
    close_fixture(&f);
}

TEST(a_failing_fetch_backs_off_and_is_loud_once)
{
    struct fixture f;
    open_fixture(&f);
    will(&f, DSQL_IO, 0);
    assert_id(&f, LONG_NS, DSQL_IO, "");
    wait_until(&f, &f.wakes, 1);
    unsigned lines = atomic_load(&f.lines);
    assert_int_equal(lines, 1);
    for (int i = 0; i < 100; i++)
        assert_id(&f, LONG_NS, DSQL_IO, ""); /* at once */
    assert_int_equal(fetches(&f), 1);
    advance(&f, DSQL_S);
    assert_id(&f, LONG_NS, DSQL_IO, "");
    wait_until(&f, &f.wakes, 2);
    assert_int_equal(fetches(&f), 2);
    advance(&f, DSQL_S);
    assert_id(&f, LONG_NS, DSQL_IO, ""); /* now it is two seconds, less a quarter at most */
    assert_int_equal(fetches(&f), 2);
    assert_int_equal(atomic_load(&f.lines), 1);
    advance(&f, DSQL_S);
    will(&f, DSQL_OK, DSQL_H);
    assert_id(&f, LONG_NS, DSQL_OK, "AKID3");
    wait_until(&f, &f.wakes, 3);
    assert_int_equal(atomic_load(&f.lines), 2); /* it works again */

    /* With valid ones at hand nobody notices but the log. */
    advance(&f, 50 * DSQL_M);
    will(&f, DSQL_IO, 0);
    assert_id(&f, 0, DSQL_OK, "AKID3");
    wait_until(&f, &f.wakes, 4);
    assert_id(&f, 0, DSQL_OK, "AKID3");
    assert_int_equal(atomic_load(&f.lines), 3);
    close_fixture(&f);
}

TEST(refused_keys_are_fetched_anew)
{
    struct fixture f;
    struct dsql_secret token = {0};
    open_fixture(&f);
    assert_int_equal(dsql_token_cache_get(f.cache, LONG_NS, &token, NULL), DSQL_OK);
    wait_until(&f, &f.wakes, 1);
    dsql_token_cache_refused(f.cache); /* within a second of a fetch: not now */
    assert_int_equal(fetches(&f), 1);
    advance(&f, DSQL_S);
    dsql_token_cache_refused(f.cache);
    wait_until(&f, &f.wakes, 2);
    assert_int_equal(dsql_token_cache_try(f.cache, &token, NULL), DSQL_OK);
    assert_non_null(strstr(dsql_secret_reveal(&token).ptr, "AKID2"));
    dsql_secret_fini(&token);
    close_fixture(&f);
}

TEST(keys_that_come_expired_are_a_failure)
{
    struct fixture f;
    struct dsql_err err;
    open_fixture(&f);
    will(&f, DSQL_OK, -DSQL_M);
    assert_int_equal(dsql_credentials_check(f.credentials, LONG_NS, NULL, &err), DSQL_DENIED);
    assert_string_equal(err.message,
                        "test: the credentials it gave expired at 2027-01-15T07:59:00.000Z");
    close_fixture(&f);
}

TEST(a_child_process_is_refused)
{
    struct fixture f;
    open_fixture(&f);
    assert_id(&f, LONG_NS, DSQL_OK, "AKID1");
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct dsql_err err = {0};
        bool ok = dsql_credentials_check(f.credentials, 0, NULL, &err) == DSQL_CLOSED &&
                  strstr(err.hint, "after fork()");
        dsql_token_cache_destroy(f.cache);
        dsql_credentials_destroy(f.credentials);
        _exit(ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    close_fixture(&f);
}

static enum dsql_rc give(void *arg, struct dsql_credentials_reply *reply, struct dsql_err *err)
{
    const char *const *parts = arg;
    if (!parts[0])
        return DSQL_OK; /* and gives nothing */
    if (strcmp(parts[0], "fail") == 0)
        return dsql_err_set(err, DSQL_THROTTLED, "later");
    return dsql_credentials_reply_set(reply, parts[0], parts[1], parts[2], 4102444800);
}

TEST(a_program_may_bring_its_own)
{
    static const struct {
        const char *parts[3];
        enum dsql_rc rc;
    } cases[] = {
        {{"AKID", "secret", "session"}, DSQL_OK}, {{"AKID", "secret", NULL}, DSQL_OK},
        {{"AKID", NULL, NULL}, DSQL_INVALID},     {{"A KID", "secret", NULL}, DSQL_INVALID},
        {{"fail", NULL, NULL}, DSQL_THROTTLED},   {{NULL, NULL, NULL}, DSQL_DENIED},
    };
    dsql_log_set_level(DSQL_LOG_ERROR);
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_credentials *credentials;
        struct dsql_credentials_info info;
        const char *parts[3];
        memcpy(parts, cases[i].parts, sizeof(parts));
        assert_int_equal(dsql_credentials_new_custom(give, parts, &credentials, NULL), DSQL_OK);
        assert_int_equal(dsql_credentials_check(credentials, LONG_NS, &info, NULL), cases[i].rc);
        if (!cases[i].rc) {
            assert_string_equal(info.access_key_id, "AKID");
            assert_string_equal(info.provider, "the program");
            assert_int_equal(info.has_session_token, parts[2] != NULL);
            assert_int_equal(info.expires_unix_s, 4102444800);
        }
        dsql_credentials_destroy(credentials);
    }
    assert_int_equal(dsql_credentials_new_custom(NULL, NULL, NULL, NULL), DSQL_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_token_is_kept_until_a_minute_before_its_end),
        cmocka_unit_test(a_token_never_outlives_its_credentials),
        cmocka_unit_test(trying_does_not_block_and_the_wake_comes),
        cmocka_unit_test(stale_but_valid_keys_serve_while_new_ones_are_fetched),
        cmocka_unit_test(a_failing_fetch_backs_off_and_is_loud_once),
        cmocka_unit_test(refused_keys_are_fetched_anew),
        cmocka_unit_test(keys_that_come_expired_are_a_failure),
        cmocka_unit_test(a_child_process_is_refused),
        cmocka_unit_test(a_program_may_bring_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Everything that has a lifetime, from many threads at once: pools are opened, shared, drained,
 * closed and opened again, connections come back before, while and after their pool is closed,
 * credentials are replaced, the process forks, and meanwhile servers stall, refuse and hang up and
 * the fleet's table denies, breaks off and forgets. Who frees what is in docs/architecture.md.
 *
 * Violations: two callers with one connection, a connection closed under its caller, a checkout
 * from a pool that was drained, counts that do not add up, a child that gets a connection of its
 * parent, a pool that gets nothing although nothing is wrong; at the end, anything that is left.
 * Memory and data races are the sanitizers' to find.
 *
 * LIFECYCLE_SECONDS (20) is the length, LIFECYCLE_SEED what the threads draw from.
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "dsql/credentials.h"
#include "pool/pool.h"
#include "support/fake_pq.h"
#include "support/fake_table.h"
#include "support/test.h"

enum { ENDPOINTS = 3, USERS = 4, PLACES = ENDPOINTS * USERS, WORKERS = 12 };
enum { HANDLES = 2, HELD = 4, CONNECTIONS = 4, CALM_S = 60 };

/* What is done, and how often. */
/* clang-format off */
#define OPERATIONS(X)                                                                              \
    X(OPEN) X(CLOSE) X(DRAIN) X(CHECKOUT) X(EMPTY) X(REFUSED) X(RETURN) X(LATE_RETURN)             \
    X(STATEMENT) X(DIRTY) X(DISCARD) X(STATS) X(FORK) X(NEW_CREDENTIALS) X(RUDE_CREDENTIALS)       \
    X(INSIST) X(FAULT)
/* clang-format on */
enum operation {
#define MEMBER(name) name,
    OPERATIONS(MEMBER)
#undef MEMBER
        OPERATION_COUNT
};
static const char *const operation_names[] = {
#define NAME(name) #name,
    OPERATIONS(NAME)
#undef NAME
};

static _Atomic uint64_t counts[OPERATION_COUNT];
static _Atomic unsigned violations;
static _Atomic bool stop;
static _Atomic int calm; /* who insists on a connection: no new faults */
static struct fake_table table;

/* One pool of the process: endpoint 0 and 2 have a budget of their own, endpoint 1 a fleet's. */
static struct place {
    pthread_rwlock_t lock; /* held for writing to replace credentials, for reading to open */
    unsigned handles;      /* that may use the credentials; changed with `count_lock` */
    struct dsql_credentials *credentials;
    size_t endpoint, user;
} places[PLACES];
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dsql_pool_options defaults;

struct handle {
    struct dsql_pool *pool; /* NULL: none */
    struct place *place;
    bool drained; /* by us */
};

struct worker {
    struct dsql_rng rng;
    struct handle handles[HANDLES];
    struct dsql_conn *held[HELD];
    pthread_t thread;
};

static void did(enum operation operation)
{
    atomic_fetch_add_explicit(&counts[operation], 1, memory_order_relaxed);
}

static void violated(const char *what)
{
    if (atomic_fetch_add(&violations, 1) < 20)
        fprintf(stderr, "violation: %s\n", what);
}

static void sleep_us(int64_t us)
{
    const struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * DSQL_US};
    (void)nanosleep(&time, NULL);
}

static bool one_in(struct dsql_rng *rng, uint64_t n)
{
    return dsql_rng_below(rng, n) == 0;
}

/* -- Credentials. */

static enum dsql_rc fetch(void *arg, struct dsql_credentials_reply *reply, struct dsql_err *err)
{
    _Atomic unsigned *fetches = arg;
    unsigned n = atomic_fetch_add(fetches, 1);
    sleep_us((int64_t)(n % 7) * 100);
    if (n % 5 == 4)
        return dsql_err_set(err, DSQL_IO, "the provider is away");
    return dsql_credentials_reply_set(reply, "AKIDSTRESS", "secret", NULL, 0);
}

static struct dsql_credentials *new_credentials(void)
{
    static _Atomic unsigned fetches;
    struct dsql_credentials *made = NULL;
    if (dsql_credentials_new_custom(fetch, &fetches, &made, NULL))
        violated("no credentials");
    return made;
}

/* With the place's lock held for writing. */
static void replace(struct place *place)
{
    struct dsql_credentials *before = place->credentials;
    place->credentials = new_credentials();
    dsql_credentials_destroy(before);
}

/* As the manual asks: those of a pool only while it is closed. */
static void replace_politely(struct place *place)
{
    pthread_rwlock_wrlock(&place->lock);
    pthread_mutex_lock(&count_lock);
    bool unused = place->handles == 0;
    pthread_mutex_unlock(&count_lock);
    if (unused) {
        replace(place);
        did(NEW_CREDENTIALS);
    }
    pthread_rwlock_unlock(&place->lock);
}

/* Under a pool that uses them, which then gets errors and no keys. */
static void replace_rudely(struct place *place)
{
    if (place->endpoint != 0)
        return;
    pthread_rwlock_wrlock(&place->lock);
    replace(place);
    pthread_rwlock_unlock(&place->lock);
    did(RUDE_CREDENTIALS);
}

/* -- Pools. */

static void describe(struct dsql_pool_options *o, size_t endpoint, const char *user)
{
    *o = defaults;
    (void)snprintf(o->connection.endpoint, sizeof(o->connection.endpoint), "localhost:%zu",
                   5001 + endpoint);
    (void)snprintf(o->connection.user, sizeof(o->connection.user), "%s", user);
    if (endpoint == 1) {
        o->budget.kind = DSQL_BUDGET_BLOCKS;
        (void)snprintf(o->budget.lease_table, sizeof(o->budget.lease_table), "fleet");
    }
}

static void open_one(struct worker *w, struct handle *h)
{
    struct dsql_pool_options o;
    struct dsql_err err = {0};
    struct place *place = &places[dsql_rng_below(&w->rng, PLACES)];
    char user[16];
    (void)snprintf(user, sizeof(user), "user%zu", place->user);
    describe(&o, place->endpoint, user);
    o.sizing.low_watermark = (int64_t)dsql_rng_below(&w->rng, 2);
    o.sizing.initial_fill_timeout_ns = 5 * DSQL_MS;
    o.drain_timeout_ns = (int64_t)dsql_rng_below(&w->rng, 20) * DSQL_MS;
    o.share = !one_in(&w->rng, 8);
    pthread_rwlock_rdlock(&place->lock);
    pthread_mutex_lock(&count_lock);
    place->handles++;
    pthread_mutex_unlock(&count_lock);
    o.credentials = place->credentials;
    enum dsql_rc rc = dsql_pool_open(&o, &h->pool, &err);
    pthread_rwlock_unlock(&place->lock);
    *h = (struct handle){.pool = rc ? NULL : h->pool, .place = place};
    if (rc) {
        pthread_mutex_lock(&count_lock);
        place->handles--;
        pthread_mutex_unlock(&count_lock);
        if (o.share || rc != DSQL_INVALID) /* those that do not share are refused other options */
            violated(err.message);
        return;
    }
    did(OPEN);
}

static void close_one(struct handle *h)
{
    dsql_pool_close(h->pool);
    pthread_mutex_lock(&count_lock);
    h->place->handles--;
    pthread_mutex_unlock(&count_lock);
    *h = (struct handle){0};
    did(CLOSE);
}

static void drain_one(struct worker *w, struct handle *h)
{
    enum dsql_rc rc = dsql_pool_drain(h->pool, (int64_t)dsql_rng_below(&w->rng, 3) * DSQL_MS);
    if (rc != DSQL_OK && rc != DSQL_TIMEOUT)
        violated("a drain that neither ended nor timed out");
    h->drained = true;
    did(DRAIN);
}

static void look(struct handle *h)
{
    struct dsql_pool_stats stats;
    struct dsql_conn_info infos[CONNECTIONS];
    dsql_pool_stats(h->pool, &stats);
    if (stats.ready + stats.in_use + stats.opening + stats.closing + stats.empty != stats.max_open)
        violated("the connections do not add up");
    if (dsql_pool_connections(h->pool, infos, CONNECTIONS) > CONNECTIONS)
        violated("more connections than max_open");
    did(STATS);
}

/* -- Connections. */

static void give_back(struct worker *w, struct dsql_conn **at)
{
    PGconn *pg = dsql_conn_pg(*at);
    bool dirty = one_in(&w->rng, 40), discard = one_in(&w->rng, 20);
    if (dirty)
        fake_pq_set_transaction(pg, PQTRANS_INTRANS);
    fake_pq_let_go(pg);
    if (discard)
        dsql_pool_discard(*at);
    else
        dsql_pool_return(*at);
    *at = NULL;
    did(discard ? DISCARD : dirty ? DIRTY : RETURN);
}

/* Inside a statement, until it is over or the connection is cut off; then it is returned at once.
 */
static void run_statement(struct worker *w, struct dsql_conn **at)
{
    struct pollfd fd = {.fd = PQsocket(dsql_conn_pg(*at)), .events = POLLRDHUP};
    (void)poll(&fd, 1, 25);
    give_back(w, at);
    did(STATEMENT);
}

static void check_out(struct worker *w, struct handle *h)
{
    struct dsql_conn **at = &w->held[dsql_rng_below(&w->rng, HELD)];
    if (*at)
        give_back(w, at);
    int64_t wait_ns = (int64_t)dsql_rng_below(&w->rng, 4) * DSQL_MS;
    enum dsql_rc rc = dsql_pool_checkout(h->pool, wait_ns, at, NULL);
    if (rc == DSQL_OK)
        fake_pq_hold(dsql_conn_pg(*at));
    if (h->drained ? rc != DSQL_CLOSED : rc != DSQL_OK && rc != DSQL_EMPTY && rc != DSQL_CLOSED)
        violated("a checkout that should not be");
    did(rc == DSQL_OK ? CHECKOUT : rc == DSQL_EMPTY ? EMPTY : REFUSED);
    if (rc == DSQL_OK && one_in(&w->rng, 20)) {
        close_one(h); /* perhaps the last: the pool then ends without us */
        run_statement(w, at);
    }
    if (rc == DSQL_CLOSED) /* drained, by us or another: a new pool comes when all have closed it */
        close_one(h);
}

/* -- Fork. */

/* In the child: everything is the parent's, and nothing of it is touched. It allocates nothing,
 * because the sanitizers' allocators may have been locked. */
static int be_a_child(struct worker *w)
{
    for (size_t i = 0; i < HANDLES; i++) {
        struct dsql_conn *conn = NULL;
        struct dsql_pool_stats stats;
        if (!w->handles[i].pool)
            continue;
        if (dsql_pool_checkout(w->handles[i].pool, DSQL_S, &conn, NULL) != DSQL_CLOSED)
            return 2;
        dsql_pool_stats(w->handles[i].pool, &stats);
        if (stats.max_open != 0 || dsql_pool_drain(w->handles[i].pool, 0) != DSQL_CLOSED)
            return 3;
    }
    for (size_t i = 0; i < HELD; i++) {
        dsql_pool_return(w->held[i]);
        dsql_pool_discard(w->held[i]);
    }
    for (size_t i = 0; i < HANDLES; i++)
        dsql_pool_close(w->handles[i].pool);
    return 0;
}

static void fork_one(struct worker *w)
{
    pid_t child = fork();
    if (child == 0)
        _exit(be_a_child(w));
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        violated("a forked child");
    did(FORK);
}

/* -- Insisting. */

/* A pool of its own, on an endpoint where others come, go and drain: as long as nothing is wrong,
 * it gets a connection. */
static void insist(struct worker *w)
{
    struct dsql_pool_options o;
    struct dsql_pool *pool = NULL;
    struct dsql_conn *conn = NULL;
    struct dsql_err err = {0};
    static _Atomic unsigned number;
    char user[32];
    (void)snprintf(user, sizeof(user), "calm%u", atomic_fetch_add(&number, 1));
    describe(&o, (size_t)dsql_rng_below(&w->rng, ENDPOINTS), user);
    o.sizing.max_open = o.sizing.target_ready = 1;
    o.sizing.low_watermark = 0;
    atomic_fetch_add(&calm, 1);
    if (dsql_pool_open(&o, &pool, &err) ||
        dsql_pool_checkout(pool, (int64_t)CALM_S * DSQL_S, &conn, &err)) {
        violated("nothing is wrong, and there is no connection");
        fprintf(stderr, "  %s: %s (%s)\n", o.connection.endpoint, err.message, err.hint);
    }
    atomic_fetch_sub(&calm, 1);
    bool late = one_in(&w->rng, 2);
    if (conn && !late)
        dsql_pool_return(conn);
    dsql_pool_close(pool);
    if (conn && late) {
        dsql_pool_return(conn);
        did(LATE_RETURN);
    }
    did(INSIST);
}

/* -- The threads. */

static void act(struct worker *w)
{
    struct handle *h = &w->handles[dsql_rng_below(&w->rng, HANDLES)];
    uint64_t dice = dsql_rng_below(&w->rng, 1000);
    if (!h->pool)
        open_one(w, h);
    else if (dice < 80)
        close_one(h);
    else if (dice < 90)
        drain_one(w, h);
    else if (dice < 105)
        replace_politely(&places[dsql_rng_below(&w->rng, PLACES)]);
    else if (dice < 110)
        replace_rudely(&places[dsql_rng_below(&w->rng, PLACES)]);
    else if (dice < 113)
        fork_one(w);
    else if (dice < 118)
        insist(w);
    else if (dice < 140)
        look(h);
    else
        check_out(w, h);
    for (size_t i = 0; i < HELD; i++) {
        if (w->held[i] && one_in(&w->rng, 4))
            give_back(w, &w->held[i]);
    }
    if (one_in(&w->rng, 8))
        sleep_us((int64_t)dsql_rng_below(&w->rng, 500));
}

static void *work(void *arg)
{
    struct worker *w = arg;
    while (!atomic_load(&stop))
        act(w);
    bool late = one_in(&w->rng, 2); /* the connections come back after the pools are closed */
    for (size_t i = 0; i < HELD && !late; i++) {
        if (w->held[i])
            give_back(w, &w->held[i]);
    }
    for (size_t i = 0; i < HANDLES; i++) {
        if (w->handles[i].pool)
            close_one(&w->handles[i]);
    }
    for (size_t i = 0; i < HELD; i++) {
        if (w->held[i]) {
            give_back(w, &w->held[i]);
            did(LATE_RETURN);
        }
    }
    return NULL;
}

static void set_right(void)
{
    fake_pq_stall(false);
    fake_pq_refuse(NULL);
    table.mood = FAKE_TABLE_WELL;
}

/* One fault at a time, for some milliseconds; none while somebody insists. */
static void *disturb(void *arg)
{
    struct dsql_rng rng = *(struct dsql_rng *)arg;
    while (!atomic_load(&stop)) {
        if (atomic_load(&calm) > 0) {
            sleep_us(1000);
            continue;
        }
        switch (dsql_rng_below(&rng, 5)) {
        case 0:
            fake_pq_stall(true);
            break;
        case 1:
            fake_pq_refuse("connection to server at \"localhost\" (127.0.0.1), port 5001 failed: "
                           "server closed the connection unexpectedly\n");
            break;
        case 2:
            table.mood = (enum fake_table_mood)dsql_rng_below(&rng, FAKE_TABLE_MOODS);
            break;
        case 3:
            fake_table_forget(&table);
            break;
        default:
            (void)fake_pq_drop(1 + (size_t)dsql_rng_below(&rng, 6));
        }
        did(FAULT);
        for (int i = 0; i < 40 && atomic_load(&calm) == 0; i++)
            sleep_us(500);
        set_right();
        sleep_us((int64_t)dsql_rng_below(&rng, 20000));
    }
    return NULL;
}

/* -- The whole. */

static size_t entries_of(const char *folder)
{
    size_t n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    while (readdir(dir))
        n++;
    (void)closedir(dir);
    return n;
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void set_up_places(void)
{
    for (size_t i = 0; i < PLACES; i++) {
        places[i] = (struct place){.endpoint = i / USERS, .user = i % USERS};
        assert_int_equal(pthread_rwlock_init(&places[i].lock, NULL), 0);
        places[i].credentials = new_credentials();
    }
    fake_pq_reset();
    fake_pq_options(&defaults, CONNECTIONS);
    defaults.sizing.target_ready = 2;
    defaults.drain_timeout_ns = 10 * DSQL_MS;
    defaults.lifetime.base_ns = 2 * DSQL_S;
    defaults.lifetime.jitter_ns = DSQL_S;
    defaults.lifetime.guard_window_ns = 200 * DSQL_MS;
    defaults.connection.connect_timeout_ns = 50 * DSQL_MS;
    defaults.budget.cluster_rate = defaults.budget.cluster_burst = 1000;
    defaults.budget.cluster_connections = 1000;
    defaults.budget.cluster_headroom = 0;
    defaults.budget.ttl_ns = 3 * DSQL_S;
}

TEST(lifecycle)
{
    static struct worker workers[WORKERS];
    uint64_t seconds = setting("LIFECYCLE_SECONDS", 20);
    struct dsql_rng rng = dsql_rng_from_os();
    uint64_t seed = setting("LIFECYCLE_SEED", dsql_rng_below(&rng, UINT64_C(1) << 32));
    pthread_t disturber;
    print_message("LIFECYCLE_SEED=%llu, %llu s\n", (unsigned long long)seed,
                  (unsigned long long)seconds);
    rng = dsql_rng_seeded(seed);
    fake_table_start(&table);
    set_up_places();
    size_t descriptors = entries_of("/proc/self/fd"), threads = entries_of("/proc/self/task");
    struct dsql_rng faults = dsql_rng_split(&rng);
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i].rng = dsql_rng_split(&rng);
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    assert_int_equal(pthread_create(&disturber, NULL, disturb, &faults), 0);
    struct dsql_mono until =
        dsql_mono_add(dsql_clock_mono(&dsql_clock_system), (int64_t)seconds * DSQL_S);
    while (dsql_mono_before(dsql_clock_mono(&dsql_clock_system), until) ||
           atomic_load(&counts[INSIST]) == 0)
        sleep_us(10000);
    atomic_store(&stop, true);
    pthread_join(disturber, NULL);
    set_right();
    for (size_t i = 0; i < WORKERS; i++)
        pthread_join(workers[i].thread, NULL);
    for (size_t i = 0; i < OPERATION_COUNT; i++)
        print_message("%s %llu\n", operation_names[i], (unsigned long long)atomic_load(&counts[i]));
    assert_int_equal(fake_pq_live(), 0);
    assert_int_equal(fake_pq_shared(), 0);
    assert_int_equal(fake_pq_closed_under_caller(), 0);
    for (size_t i = 0; i < PLACES; i++) {
        assert_int_equal(places[i].handles, 0);
        dsql_credentials_destroy(places[i].credentials);
    }
    /* Those of the credentials are gone too: each has one. */
    assert_int_equal(entries_of("/proc/self/fd"), descriptors - PLACES);
    for (int i = 0; i < 6000 && entries_of("/proc/self/task") != threads; i++)
        sleep_us(10000); /* the kernel takes a moment */
    assert_int_equal(entries_of("/proc/self/task"), threads);
    fake_table_stop(&table);
    assert_int_equal(atomic_load(&violations), 0);
}

int main(void)
{
    dsql_log_set_level(DSQL_LOG_ERROR);
    const struct CMUnitTest tests[] = {cmocka_unit_test(lifecycle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

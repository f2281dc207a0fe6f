/*
 * The thread and the handles. `fleets_lock` guards the list of fleets; a fleet's `lock` guards the
 * rest of it and is taken while holding fleets_lock, never the other way round; `wake_lock` guards
 * the list of handles while they are woken, and is taken before lock. Neither of the first two is
 * held during a request or while somebody is woken.
 */
#include "budget/fleet.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/least.h"
#include "core/fallback.h"

#define LEAVE_NS (3 * DSQL_S) /* how long the last handle waits until everything is given back */

struct handle {
    struct dsql_budget budget;
    struct fleet *fleet;
    struct handle *next;
    int64_t want, used;
    bool draining;
    void (*wake)(void *arg);
    void *wake_arg;
    struct dsql_credentials *credentials;     /* of its pool; held */
    struct dsql_credentials *own_credentials; /* the same, if it made them itself */
};
static_assert(offsetof(struct handle, budget) == 0, "handle_of() casts");

struct fleet {
    struct fleet *next;
    unsigned handle_count;
    char key[600], region[64], table[256];

    pthread_mutex_t lock, wake_lock;
    pthread_cond_t changed;
    struct dsql_fleet_protocol *protocol;
    struct handle *handles;               /* the youngest first */
    struct dsql_credentials *credentials; /* the youngest handle's, or those of the last; held */
    char problem[256];                    /* empty: none */
    enum dsql_ddb_kind problem_kind;
    struct dsql_fallback fallback;
    bool fell_back; /* and it was said */
    int64_t clock_ahead_s;
    bool stop;
    struct dsql_mono stop_at;
    pthread_t thread;

    struct dsql_ddb *ddb;
    const struct dsql_clock *clock;
    struct dsql_log *log;
};

static pthread_mutex_t fleets_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fleet *fleets;

static struct handle *handle_of(struct dsql_budget *budget)
{
    return (struct handle *)budget;
}

void dsql_fleet_endpoint(const char *endpoint, char *name, size_t size)
{
    static const char usual[] = ":5432";
    size_t len = strlen(endpoint);
    if (len > sizeof(usual) - 1 && strcmp(endpoint + len - (sizeof(usual) - 1), usual) == 0)
        len -= sizeof(usual) - 1;
    (void)snprintf(name, size, "%.*s", (int)len, endpoint);
}

bool dsql_fleet_connects_only(const struct dsql_budget_options *o)
{
    return o->kind == DSQL_BUDGET_LEASES && (!o->lease_table || o->lease_table[0] == '\0');
}

const char *dsql_fleet_table(const struct dsql_budget_options *o)
{
    return dsql_fleet_connects_only(o) ? o->limiter_table : o->lease_table;
}

/* --- the handles ------------------------------------------------------------------------------ */

/* A pool that drains needs what it still holds, and nothing more. */
static int64_t need_of(const struct handle *h)
{
    return h->draining ? h->used : h->want;
}

/* With the lock held: the protocol sees the sum of what its pools say. */
static void tell_sums(struct fleet *f)
{
    int64_t need = 0, used = 0;
    bool all_drain = true;
    for (struct handle *h = f->handles; h; h = h->next) {
        need += need_of(h);
        used += h->used;
        all_drain = all_drain && h->draining;
    }
    f->protocol->ops->want(f->protocol, need);
    f->protocol->ops->used(f->protocol, used);
    f->protocol->ops->drain(f->protocol, all_drain);
    pthread_cond_signal(&f->changed);
}

static void want(struct dsql_budget *budget, int64_t n)
{
    struct handle *h = handle_of(budget);
    pthread_mutex_lock(&h->fleet->lock);
    h->want = n;
    tell_sums(h->fleet);
    pthread_mutex_unlock(&h->fleet->lock);
}

static void used(struct dsql_budget *budget, int64_t n)
{
    struct handle *h = handle_of(budget);
    pthread_mutex_lock(&h->fleet->lock);
    h->used = n;
    tell_sums(h->fleet);
    pthread_mutex_unlock(&h->fleet->lock);
}

/* With the lock held: its part of the slots, and never what another pool still holds. What pools
 * that drain hold is not shared out. */
static int64_t slots_of(const struct handle *h, struct dsql_mono now)
{
    struct fleet *f = h->fleet;
    int64_t slots =
        dsql_fallback_slots(&f->fallback, f->protocol->ops->slots(f->protocol, now), now);
    int64_t shared = slots, wanted = 0, others = 0;
    for (const struct handle *each = f->handles; each; each = each->next) {
        shared -= each->draining ? each->used : 0;
        wanted += each->draining ? 0 : each->want;
        others += each == h ? 0 : each->used;
    }
    int64_t part = shared = dsql_most(shared, 0);
    if (wanted > 0 && wanted > shared) { /* parts that add up to no more than there is */
        int64_t left = shared;
        part = shared * h->want / wanted;
        for (const struct handle *each = f->handles; each; each = each->next)
            left -= each->draining ? 0 : shared * each->want / wanted;
        for (const struct handle *each = f->handles; left > 0 && each; each = each->next) {
            if (each->draining || each->want == 0)
                continue;
            part += each == h;
            left--;
        }
    }
    part = dsql_least(dsql_least(part, slots - others), h->want);
    return h->draining ? 0 : dsql_most(part, 0);
}

static int64_t slots(struct dsql_budget *budget)
{
    struct handle *h = handle_of(budget);
    pthread_mutex_lock(&h->fleet->lock);
    int64_t n = slots_of(h, dsql_clock_mono(h->fleet->clock));
    pthread_mutex_unlock(&h->fleet->lock);
    return n;
}

static bool permit(struct dsql_budget *budget, struct dsql_mono now, int64_t *wait_ns)
{
    struct fleet *f = handle_of(budget)->fleet;
    pthread_mutex_lock(&f->lock);
    bool taken = f->protocol->ops->permit(f->protocol, now, wait_ns) ||
                 dsql_fallback_permit(&f->fallback, now, wait_ns);
    pthread_cond_signal(&f->changed); /* one fewer, or one asked for */
    pthread_mutex_unlock(&f->lock);
    return taken;
}

static void opened(struct dsql_budget *budget, struct dsql_mono now)
{
    (void)budget; /* the rate recovers with time, not with each connection */
    (void)now;
}

static void throttled(struct dsql_budget *budget, struct dsql_mono now)
{
    struct fleet *f = handle_of(budget)->fleet;
    pthread_mutex_lock(&f->lock);
    f->protocol->ops->throttled(f->protocol, now);
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void refused_full(struct dsql_budget *budget, struct dsql_mono now)
{
    struct fleet *f = handle_of(budget)->fleet;
    pthread_mutex_lock(&f->lock);
    f->protocol->ops->refused_full(f->protocol, now);
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

static void status(struct dsql_budget *budget, struct dsql_mono now, struct dsql_budget_status *out)
{
    struct handle *h = handle_of(budget);
    struct fleet *f = h->fleet;
    *out = (struct dsql_budget_status){.fleet_used = -1, .fleet_limit = -1};
    pthread_mutex_lock(&f->lock);
    f->protocol->ops->status(f->protocol, now, out);
    out->slots = slots_of(h, now);
    out->used = h->used;
    out->clock_ahead_s = f->clock_ahead_s;
    memcpy(out->problem, f->problem, sizeof(out->problem));
    pthread_mutex_unlock(&f->lock);
}

static void drain(struct dsql_budget *budget)
{
    struct handle *h = handle_of(budget);
    pthread_mutex_lock(&h->fleet->lock);
    h->draining = true;
    tell_sums(h->fleet);
    pthread_mutex_unlock(&h->fleet->lock);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* With the lock held. A problem is said once, and once that it is over. */
static void note_problem(struct fleet *f, const struct dsql_ddb_reply *reply,
                         const struct dsql_err *failed)
{
    struct dsql_err err = *failed;
    bool fine = reply->kind == DSQL_DDB_OK || reply->kind == DSQL_DDB_CONDITION ||
                reply->kind == DSQL_DDB_CANCELLED;
    if (fine && !failed->rc) {
        if (f->problem[0] != '\0')
            dsql_log(f->log, DSQL_EVENT_BUDGET_BACK, DSQL_F("table", (const char *)f->table));
        f->problem[0] = '\0';
        return;
    }
    if (!failed->rc)
        (void)dsql_ddb_explain(f->region, reply, f->table, &err);
    bool known = f->problem[0] != '\0' && f->problem_kind == reply->kind;
    f->problem_kind = reply->kind;
    (void)snprintf(f->problem, sizeof(f->problem), "%.255s", err.message);
    if (!known)
        dsql_log(f->log, DSQL_EVENT_BUDGET_PROBLEM, DSQL_F("kind", dsql_ddb_kind_name(reply->kind)),
                 DSQL_F("detail", (const char *)err.message), DSQL_F("do", (const char *)err.hint));
}

/* With the lock held. A table that is not there or not ours to use is no outage. */
static void note_outage(struct fleet *f, enum dsql_ddb_kind kind)
{
    struct dsql_mono now = dsql_clock_mono(f->clock);
    bool away = kind == DSQL_DDB_LOST || kind == DSQL_DDB_THROTTLED || kind == DSQL_DDB_UNAVAILABLE;
    dsql_fallback_tell(&f->fallback, away, now);
    bool holds = dsql_fallback_holds(&f->fallback, now);
    if (holds && !f->fell_back)
        dsql_log(f->log, DSQL_EVENT_BUDGET_FALLBACK, DSQL_F("table", (const char *)f->table),
                 DSQL_F("share", f->fallback.share));
    f->fell_back = holds;
}

static void carry(struct fleet *f, const char *operation, json_t *body)
{
    struct dsql_ddb_reply reply;
    struct dsql_err err = {0};
    enum dsql_rc rc = DSQL_NO_MEMORY;
    dsql_ddb_use(f->ddb, f->credentials);
    pthread_mutex_unlock(&f->lock);
    if (body)
        rc = dsql_ddb_call(f->ddb, operation, body, &reply, &err);
    else
        reply = (struct dsql_ddb_reply){.kind = DSQL_DDB_LOST};
    json_decref(body);
    (void)rc; /* the reply says that it is lost */
    pthread_mutex_lock(&f->lock);
    err = (struct dsql_err){0};
    if (f->protocol->ops->answer(f->protocol, dsql_clock_mono(f->clock), &reply, &err) && !err.rc)
        (void)dsql_err_set(&err, DSQL_NO_MEMORY, "out of memory");
    if (reply.date.ns > 0)
        f->clock_ahead_s = (dsql_clock_wall(f->clock).ns - reply.date.ns) / DSQL_S;
    note_outage(f, reply.kind);
    if (!f->stop)
        note_problem(f, &reply, &err);
    dsql_ddb_reply_fini(&reply);
    pthread_mutex_unlock(&f->lock);
    pthread_mutex_lock(&f->wake_lock);
    for (struct handle *h = f->handles; h; h = h->next) {
        if (h->wake)
            h->wake(h->wake_arg);
    }
    pthread_mutex_unlock(&f->wake_lock);
    pthread_mutex_lock(&f->lock);
}

static void sleep_until_due(struct fleet *f, struct dsql_mono now)
{
    int64_t due_ns = f->protocol->ops->due_ns(f->protocol, now);
    if (due_ns > DSQL_H)
        due_ns = DSQL_H;
    if (f->stop && due_ns > 20 * DSQL_MS)
        due_ns = 20 * DSQL_MS;
    if (due_ns <= 0)
        return;
    struct timespec at;
    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    int64_t ns = at.tv_nsec + due_ns;
    at.tv_sec += (time_t)(ns / DSQL_S);
    at.tv_nsec = (long)(ns % DSQL_S);
    pthread_cond_timedwait(&f->changed, &f->lock, &at);
}

static void *run(void *arg)
{
    struct fleet *f = arg;
    pthread_mutex_lock(&f->lock);
    for (;;) {
        struct dsql_mono now = dsql_clock_mono(f->clock);
        const char *operation;
        json_t *body;
        if (f->stop && (f->protocol->ops->left(f->protocol) || !dsql_mono_before(now, f->stop_at)))
            break;
        if (f->protocol->ops->next(f->protocol, now, &operation, &body))
            carry(f, operation, body);
        else
            sleep_until_due(f, now);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

/* --- opening and closing ---------------------------------------------------------------------- */

/* Its thread has ended or never started. */
static void fleet_free(struct fleet *f)
{
    assert(f->handle_count == 0 && !f->handles);
    if (f->protocol)
        f->protocol->ops->destroy(f->protocol);
    dsql_ddb_destroy(f->ddb);
    dsql_credentials_release(f->credentials);
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->wake_lock);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

/* With the lock held. A pool that has gone may have taken its credentials with it, so the fleet
 * signs with those of a pool that is there. */
static void choose_credentials(struct fleet *f)
{
    if (!f->handles)
        return;
    struct dsql_credentials *before = f->credentials;
    f->credentials = dsql_credentials_hold(f->handles->credentials);
    dsql_credentials_release(before);
}

static void handle_free(struct handle *h)
{
    dsql_credentials_release(h->credentials);
    dsql_credentials_destroy(h->own_credentials);
    free(h);
}

static void destroy(struct dsql_budget *budget)
{
    struct handle *h = handle_of(budget);
    struct fleet *f = h->fleet;
    pthread_mutex_lock(&fleets_lock);
    bool last = --f->handle_count == 0;
    if (last) {
        struct fleet **at = &fleets;
        while (*at != f)
            at = &(*at)->next;
        *at = f->next;
    }
    pthread_mutex_unlock(&fleets_lock);
    pthread_mutex_lock(&f->wake_lock);
    pthread_mutex_lock(&f->lock);
    struct handle **at = &f->handles;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    choose_credentials(f);
    tell_sums(f);
    if (last) {
        f->stop = true;
        f->stop_at = dsql_mono_add(dsql_clock_mono(f->clock), LEAVE_NS);
        pthread_cond_signal(&f->changed);
    }
    pthread_mutex_unlock(&f->lock);
    pthread_mutex_unlock(&f->wake_lock);
    if (last) {
        pthread_join(f->thread, NULL);
        fleet_free(f);
    }
    handle_free(h); /* afterwards: the last handle's credentials sign what the fleet gives back */
}

static const struct dsql_budget_ops ops = {
    want, slots, permit, used, opened, throttled, refused_full, status, drain, destroy,
};

static enum dsql_rc check(const struct dsql_budget_options *o, struct dsql_err *err)
{
    if (!dsql_fleet_table(o) || dsql_fleet_table(o)[0] == '\0') {
        (void)dsql_err_set(err, DSQL_INVALID, "a fleet's budget needs a DynamoDB table");
        dsql_err_hint(err, "set DSQL_DISTRIBUTED_CONN_LEASE_TABLE");
        return DSQL_INVALID;
    }
    if (o->cluster_connections < 1 || o->cluster_headroom < 0 ||
        o->cluster_headroom >= o->cluster_connections || o->cluster_rate < 1 ||
        o->cluster_rate > 1000000 || o->cluster_burst < 1 || o->cluster_burst > 1000000 ||
        (o->fallback_after_ns > 0 && o->fallback_processes < 1) || o->ttl_ns < DSQL_S ||
        o->ttl_ns > DSQL_H)
        return dsql_err_set(err, DSQL_INVALID,
                            "a fleet's limits must be positive, its headroom below the connections "
                            "and its TTL from 1s to 1h");
    return DSQL_OK;
}

static enum dsql_rc fleet_start(struct fleet *f, const struct dsql_budget_options *o,
                                struct dsql_credentials *credentials, struct dsql_err *err)
{
    char endpoint[300];
    dsql_fleet_endpoint(o->endpoint, endpoint, sizeof(endpoint));
    (void)snprintf(f->region, sizeof(f->region), "%s", o->region);
    (void)snprintf(f->table, sizeof(f->table), "%s", dsql_fleet_table(o));
    f->clock = o->clock;
    f->log = o->log;
    f->credentials = dsql_credentials_hold(credentials);
    const struct dsql_fallback_config fallback = {
        .after_ns = o->fallback_after_ns,
        .processes = o->fallback_processes,
        .connections = o->cluster_connections - o->cluster_headroom,
        .rate = o->cluster_rate,
    };
    dsql_fallback_init(&f->fallback, &fallback, dsql_clock_mono(f->clock));
    enum dsql_rc rc = (o->kind == DSQL_BUDGET_BLOCKS ? dsql_fleet_blocks : dsql_fleet_leases)(
        o, endpoint, &f->protocol, err);
    if (rc)
        return rc;
    const struct dsql_ddb_options ddb = {
        .region = f->region,
        .url = dsql_ddb_url((const char *const *)environ),
        .credentials = credentials,
        .clock = f->clock,
        .timeout_ns = f->protocol->timeout_ns,
        .attempts = 1,
        .cancel_fd = -1,
    };
    rc = dsql_ddb_new(&ddb, &f->ddb, err);
    if (rc)
        return rc;
    /* Signals are for the program's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&f->thread, NULL, run, f);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? dsql_err_set(err, DSQL_IO, "no thread for the fleet's budget") : DSQL_OK;
}

void dsql_fleet_after_fork(void)
{
    fleets = NULL; /* the parent's: their threads are not here */
    fleets_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

static enum dsql_rc fleet_new(const struct dsql_budget_options *o, const char *key,
                              struct dsql_credentials *credentials, struct fleet **fleet,
                              struct dsql_err *err)
{
    pthread_condattr_t attr;
    struct fleet *f = calloc(1, sizeof(*f));
    if (!f)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    (void)snprintf(f->key, sizeof(f->key), "%s", key);
    pthread_mutex_init(&f->lock, NULL);
    pthread_mutex_init(&f->wake_lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->changed, &attr);
    pthread_condattr_destroy(&attr);
    enum dsql_rc rc = fleet_start(f, o, credentials, err);
    if (rc) {
        fleet_free(f);
        return rc;
    }
    *fleet = f;
    return DSQL_OK;
}

static enum dsql_rc handle_new(const struct dsql_budget_options *o, struct handle **handle,
                               struct dsql_err *err)
{
    struct handle *h = calloc(1, sizeof(*h));
    if (!h)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    h->budget.ops = &ops;
    h->wake = o->wake;
    h->wake_arg = o->wake_arg;
    if (!o->credentials) {
        const struct dsql_credentials_options options = {.region = o->region};
        enum dsql_rc rc = dsql_credentials_new(&options, &h->own_credentials, err);
        if (rc) {
            handle_free(h);
            return rc;
        }
    }
    h->credentials = dsql_credentials_hold(o->credentials ? o->credentials : h->own_credentials);
    *handle = h;
    return DSQL_OK;
}

/* A fleet whose pools all drain does so no longer: its newest pool needs it. */
static void join(struct fleet *f, struct handle *h)
{
    h->fleet = f;
    pthread_mutex_lock(&f->wake_lock);
    pthread_mutex_lock(&f->lock);
    h->next = f->handles;
    f->handles = h;
    choose_credentials(f);
    tell_sums(f);
    pthread_mutex_unlock(&f->lock);
    pthread_mutex_unlock(&f->wake_lock);
}

enum dsql_rc dsql_budget_fleet(const struct dsql_budget_options *o, struct dsql_budget **budget,
                               struct dsql_err *err)
{
    char key[600];
    struct handle *h = NULL;
    enum dsql_rc rc = check(o, err);
    if (!rc)
        rc = handle_new(o, &h, err);
    if (rc || !h)
        return rc;
    (void)snprintf(key, sizeof(key), "%d %d %s %s", (int)o->kind, dsql_fleet_connects_only(o),
                   dsql_fleet_table(o), o->endpoint);
    pthread_mutex_lock(&fleets_lock);
    struct fleet *f = fleets;
    while (f && strcmp(f->key, key) != 0)
        f = f->next;
    if (!f) {
        rc = fleet_new(o, key, h->credentials, &f, err);
        if (!rc && f) {
            f->next = fleets;
            fleets = f;
        }
    }
    if (!rc && f) {
        f->handle_count++;
        join(f, h);
    }
    pthread_mutex_unlock(&fleets_lock);
    if (rc) {
        handle_free(h);
        return rc;
    }
    *budget = &h->budget;
    return DSQL_OK;
}

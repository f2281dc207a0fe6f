/* The thread. What it changes is guarded by the ledger's lock. */
#include "budget/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/least.h"
#include "base/lock.h"
#include "base/thread.h"

#define LEAVE_NS (3 * DSQL_S) /* how long the last share waits until everything is given back */

struct dsql_fleet {
    struct dsql_ledger *ledger;
    struct dsql_fleet_protocol *protocol;
    char region[64], table[256];
    struct dsql_credentials *credentials; /* the youngest share's, or those of the last; held */
    char problem[256];                    /* empty: none */
    enum dsql_ddb_kind problem_kind;
    bool fell_back; /* budget.fallback was logged */
    int64_t clock_ahead_s;
    bool stop;
    struct dsql_mono stop_at;
    pthread_t thread;

    struct dsql_ddb *ddb;
    struct dsql_log *log;
};

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

/* -- What a person is told. */

/* With the lock held. A problem is said once, and once that it is over. */
static void note_problem(struct dsql_fleet *f, const struct dsql_ddb_reply *reply,
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
static void note_outage(struct dsql_fleet *f, enum dsql_ddb_kind kind)
{
    struct dsql_fallback *fallback = &f->ledger->fallback;
    struct dsql_mono now = dsql_clock_mono(f->ledger->clock);
    bool away = kind == DSQL_DDB_LOST || kind == DSQL_DDB_THROTTLED || kind == DSQL_DDB_UNAVAILABLE;
    dsql_fallback_tell(fallback, away, now);
    bool holds = dsql_fallback_holds(fallback, now);
    if (holds && !f->fell_back)
        dsql_log(f->log, DSQL_EVENT_BUDGET_FALLBACK, DSQL_F("table", (const char *)f->table),
                 DSQL_F("share", fallback->share));
    f->fell_back = holds;
}

void dsql_fleet_status(const struct dsql_fleet *f, struct dsql_allowance_status *status)
{
    status->clock_ahead_s = f->clock_ahead_s;
    memcpy(status->problem, f->problem, sizeof(status->problem));
}

/* -- The thread. */

static void carry(struct dsql_fleet *f, const char *operation, json_t *body)
{
    struct dsql_ledger *l = f->ledger;
    struct dsql_ddb_reply reply;
    struct dsql_err err = {0};
    enum dsql_rc rc = DSQL_NO_MEMORY;
    dsql_ddb_use(f->ddb, f->credentials);
    dsql_unlock(&l->lock);
    if (body)
        rc = dsql_ddb_call(f->ddb, operation, body, &reply, &err);
    else
        reply = (struct dsql_ddb_reply){.kind = DSQL_DDB_LOST};
    json_decref(body);
    (void)rc; /* the reply says that it is lost */
    dsql_lock(&l->lock);
    err = (struct dsql_err){0};
    struct dsql_moment now = dsql_clock_moment(l->clock);
    if (f->protocol->ops->answer(f->protocol, now, &reply, &err) && !err.rc)
        (void)dsql_err_set(&err, DSQL_NO_MEMORY, "out of memory");
    if (reply.date.ns > 0)
        f->clock_ahead_s = (now.wall.ns - reply.date.ns) / DSQL_S;
    note_outage(f, reply.kind);
    if (!f->stop)
        note_problem(f, &reply, &err);
    dsql_ddb_reply_fini(&reply);
    dsql_unlock(&l->lock);
    dsql_lock(&l->wake_lock);
    for (struct dsql_share *s = l->shares; s; s = s->next) {
        if (s->wake)
            s->wake(s->wake_arg);
    }
    dsql_unlock(&l->wake_lock);
    dsql_lock(&l->lock);
}

static void sleep_until_due(struct dsql_fleet *f, struct dsql_moment now)
{
    int64_t due_ns = dsql_allowance_due_ns(f->protocol->allowance, now);
    if (f->stop)
        due_ns = dsql_least(due_ns, dsql_mono_since(f->stop_at, now.mono));
    if (due_ns <= 0)
        return;
    struct dsql_mono until = dsql_mono_add(now.mono, due_ns);
    (void)dsql_clock_wait(f->ledger->clock, &f->ledger->changed, &f->ledger->lock, until);
}

static void *run(void *arg)
{
    struct dsql_fleet *f = arg;
    dsql_lock(&f->ledger->lock);
    for (;;) {
        struct dsql_moment now = dsql_clock_moment(f->ledger->clock);
        const char *operation;
        json_t *body;
        if (f->stop && !dsql_mono_before(now.mono, f->stop_at))
            break;
        if (f->protocol->ops->next(f->protocol, now, &operation, &body))
            carry(f, operation, body);
        else if (f->stop && dsql_allowance_left(f->protocol->allowance))
            break;
        else
            sleep_until_due(f, now);
    }
    dsql_unlock(&f->ledger->lock);
    return NULL;
}

void dsql_fleet_stop(struct dsql_fleet *f)
{
    struct dsql_ledger *l = f->ledger;
    dsql_lock(&l->lock);
    f->stop = true;
    f->stop_at = dsql_mono_add(dsql_clock_mono(l->clock), LEAVE_NS);
    pthread_cond_signal(&l->changed);
    dsql_unlock(&l->lock);
    pthread_join(f->thread, NULL);
}

/* -- Opening and closing. */

void dsql_fleet_sign_as(struct dsql_fleet *f, struct dsql_credentials *credentials)
{
    struct dsql_credentials *before = f->credentials;
    f->credentials = dsql_credentials_hold(credentials);
    dsql_credentials_release(before);
}

void dsql_fleet_destroy(struct dsql_fleet *f)
{
    if (!f)
        return;
    if (f->protocol)
        f->protocol->ops->destroy(f->protocol);
    dsql_ddb_destroy(f->ddb);
    dsql_credentials_release(f->credentials);
    free(f);
}

enum dsql_rc dsql_fleet_check(const struct dsql_budget_options *o, struct dsql_err *err)
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

static enum dsql_rc start(struct dsql_fleet *f, struct dsql_err *err)
{
    int failed = dsql_thread_start(&f->thread, 0, run, f);
    return failed ? dsql_err_set(err, DSQL_IO, "no thread for the fleet's budget") : DSQL_OK;
}

enum dsql_rc dsql_fleet_new(const struct dsql_budget_options *o, struct dsql_ledger *l,
                            struct dsql_credentials *credentials, struct dsql_err *err)
{
    char endpoint[300];
    struct dsql_fleet *f = calloc(1, sizeof(*f));
    if (!f)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    l->fleet = f;
    dsql_fleet_endpoint(o->endpoint, endpoint, sizeof(endpoint));
    (void)snprintf(f->region, sizeof(f->region), "%s", o->region);
    (void)snprintf(f->table, sizeof(f->table), "%s", dsql_fleet_table(o));
    f->ledger = l;
    f->log = o->log;
    dsql_fleet_sign_as(f, credentials);
    const struct dsql_fallback_config fallback = {
        .after_ns = o->fallback_after_ns,
        .processes = o->fallback_processes,
        .connections = o->cluster_connections - o->cluster_headroom,
        .rate = o->cluster_rate,
    };
    dsql_fallback_init(&l->fallback, &fallback, dsql_clock_mono(l->clock));
    enum dsql_rc rc = (o->kind == DSQL_BUDGET_BLOCKS ? dsql_fleet_blocks : dsql_fleet_leases)(
        o, endpoint, &f->protocol, err);
    if (rc)
        return rc;
    l->allowance = f->protocol->allowance;
    const struct dsql_ddb_options ddb = {
        .region = f->region,
        .url = dsql_ddb_url((const char *const *)environ),
        .credentials = credentials,
        .clock = l->clock,
        .timeout_ns = f->protocol->timeout_ns,
        .attempts = 1,
        .cancel_fd = -1,
    };
    rc = dsql_ddb_new(&ddb, &f->ddb, err);
    return rc ? rc : start(f, err);
}

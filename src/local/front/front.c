#include "local/front/front.h"

#include <stdlib.h>

enum { CACHE_SCRIPTS = 4096 };

#define CACHE_BYTES     ((size_t)64 << 20)
#define CLIENT_MESSAGE  (10u << 20) /* the service's limit for one message */
#define BACKEND_MESSAGE (1u << 30)

struct dsql_mono dsql_front_now(const struct dsql_front *front)
{
    int64_t passed_ns = dsql_mono_since(dsql_clock_mono(front->options->clock), front->started);
    return (struct dsql_mono){passed_ns * front->options->time_scale};
}

/* The one key of the endpoint's own configuration. */
static bool find_key(const struct dsql_token_keyring *self, struct dsql_span access_key_id,
                     struct dsql_token_key *key)
{
    const struct dsql_front *front = DSQL_CONTAINER_OF(self, const struct dsql_front, keyring);
    const struct dsql_local_options *options = front->options;
    *key = (struct dsql_token_key){
        .secret_access_key = &options->keys.secret_access_key,
        .session_token = &options->keys.session_token,
        .arn = dsql_span_of(options->arn),
        .may_connect = true,
        .may_connect_admin = true,
    };
    return dsql_span_eq(access_key_id, dsql_span_of(options->keys.access_key_id));
}

static void stall_over(struct dsql_timer *timer);

enum dsql_rc dsql_front_init(struct dsql_front *front, struct dsql_local_options *options,
                             const struct dsql_postgres *pg, SSL_CTX *tls, struct dsql_log *log,
                             struct dsql_err *err)
{
    *front = (struct dsql_front){
        .options = options,
        .pg = pg,
        .log = log,
        .tls = tls,
        .keyring = {find_key},
        .started = dsql_clock_mono(options->clock),
        .listener = {.fd = -1},
        .stall = {.due = stall_over},
    };
    dsql_pg_limits_login(&front->login_limits);
    dsql_pg_limits_session(&front->client_limits, DSQL_PG_FRONTEND, CLIENT_MESSAGE);
    dsql_pg_limits_session(&front->backend_limits, DSQL_PG_BACKEND, BACKEND_MESSAGE);
    dsql_bucket_init(&front->bucket, options->rate, options->burst, (struct dsql_mono){0});
    dsql_faults_init(&front->faults);
    front->stale.options = &options->stale;
    dsql_unblock_init(&front->unblock, front);
    dsql_builds_init(&front->builds, front);
    front->admissions = calloc(DSQL_ADMISSIONS_MAX, sizeof(*front->admissions));
    enum dsql_rc rc = dsql_loop_init(&front->loop, options->clock, err);
    if (!rc &&
        (!front->admissions || dsql_sql_cache_init(&front->cache, CACHE_SCRIPTS, CACHE_BYTES)))
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    front->cache.dialect = options->dialect;
    struct dsql_fault_order order;
    if (!rc)
        rc = dsql_readings_init(&front->readings, front, err);
    if (!rc)
        rc = dsql_faults_set(&front->faults, dsql_span_of(options->faults), &order, err);
    if (!rc)
        rc = dsql_accept_open(front, err);
    if (rc) {
        dsql_front_fini(front);
        return rc;
    }
    dsql_front_obey(front, &order);
    dsql_builds_resume(&front->builds);
    return DSQL_OK;
}

void dsql_front_fini(struct dsql_front *front)
{
    while (front->sessions)
        dsql_session_close(front->sessions);
    dsql_readings_fini(&front->readings);
    dsql_backends_fini(front);
    dsql_unblock_fini(&front->unblock);
    dsql_builds_fini(&front->builds);
    dsql_loop_close(&front->listener);
    dsql_loop_fini(&front->loop);
    dsql_sql_cache_fini(&front->cache);
    free(front->admissions);
    front->admissions = NULL;
}

void dsql_front_turn(struct dsql_front *front, int64_t wait_ns)
{
    dsql_loop_turn(&front->loop, wait_ns);
}

/* Closes a part of the sessions that have logged in, drawn at random. */
static void drop_some(struct dsql_front *front, double part)
{
    struct dsql_rng *rng = &front->faults.of[DSQL_FAULT_DROP].rng;
    size_t left = 0;
    for (const struct dsql_session *at = front->sessions; at; at = at->next)
        left += at->state == DSQL_SESSION_ACTIVE;
    size_t wanted = (size_t)(part * (double)left + 0.5);
    front->faults.of[DSQL_FAULT_DROP].struck += wanted;
    for (struct dsql_session *at = front->sessions, *next; at; at = next) {
        next = at->next;
        if (at->state != DSQL_SESSION_ACTIVE)
            continue;
        if (dsql_rng_below(rng, left--) < wanted) {
            wanted--;
            dsql_session_close(at);
        }
    }
}

void dsql_front_resume(struct dsql_front *front)
{
    dsql_loop_stop(&front->loop, &front->stall);
    dsql_loop_stop(&front->loop, &front->rest);
    dsql_loop_watch(&front->loop, &front->listener, EPOLLIN);
    for (struct dsql_session *at = front->sessions, *next; at; at = next) {
        next = at->next;
        dsql_session_resume(at);
    }
}

static void stall_over(struct dsql_timer *timer)
{
    dsql_front_resume(DSQL_CONTAINER_OF(timer, struct dsql_front, stall));
}

void dsql_front_obey(struct dsql_front *front, const struct dsql_fault_order *order)
{
    if (order->drop > 0)
        drop_some(front, order->drop);
    if (!order->stall)
        return;
    if (order->stall_ns == 0) {
        if (dsql_front_is_stalled(front))
            dsql_front_resume(front);
    } else if (!dsql_loop_start(&front->loop, &front->stall, order->stall_ns)) {
        dsql_loop_watch(&front->loop, &front->listener, 0);
        front->faults.of[DSQL_FAULT_STALL].struck++;
    }
}

void dsql_front_look(const struct dsql_front *front, struct dsql_local_sight *sight)
{
    sight->counts = front->counts;
    sight->open = front->open;
    sight->logging_in = front->logins.count;
    sight->backends = front->backends.count;
    for (size_t i = 0; i < DSQL_FAULT_COUNT; i++)
        sight->struck[i] = front->faults.of[i].struck;
}

void dsql_front_report(struct dsql_front *front, bool always)
{
    struct dsql_local_sight sight;
    if (!always && memcmp(&front->counts, &front->reported, sizeof(front->counts)) == 0)
        return; /* nothing happened */
    front->reported = front->counts;
    dsql_front_look(front, &sight);
    dsql_local_sight_log(&sight, front->log);
}

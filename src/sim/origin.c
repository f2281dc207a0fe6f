#include "sim/origin.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/duration.h"
#include "base/least.h"

enum { LOOKS_MIN = 10, RATE_MAX = 1000, CALLERS_MAX = 10000 };

#define TICK_MIN_NS    DSQL_MS         /* shorter ones can't be simulated in a sensible time */
#define HOLD_GUESS_NS  (10 * DSQL_MS)  /* where nothing was seen to come back */
#define ARRIVAL_MIN_NS (100 * DSQL_US) /* between two callers */
#define DURATION_NS    (10 * DSQL_M)   /* where the recording ends with its snapshot */
#define DURATION_MIN   DSQL_S
#define DURATION_MAX   (INT64_C(7) * 24 * DSQL_H)

/* What is known of a slot's connection. */
struct seen {
    bool looked;            /* once, since it was opened */
    bool away;              /* found in use, and not back yet */
    struct dsql_mono since; /* away */
};

struct watcher {
    int64_t at_ns; /* as dsql_sim_origin_read() */
    struct dsql_sim_origin *origin;
    struct dsql_sim_replay_moment moment;
    int64_t moment_ns, last_ns; /* since the recording began; the last before its drain */
    struct dsql_mono base;      /* when it began */
    bool draining;

    struct seen *slots;         /* DSQL_SLOTS_MAX */
    uint32_t asked;             /* the slot that was asked for last */
    double connects_ns;         /* all that succeeded took together */
    uint64_t backs;             /* connections that were away and came back */
    double away_ns;             /* all these together */
    double bucket;              /* permits used beyond what the rate brought, leaking */
    int64_t bucket_ns;          /* as of */
    int64_t turn_ns;            /* the last turn */
    double open_ns, waiting_ns; /* integrals over time */
    uint32_t open, waiting;     /* since that turn */
};

/* -- What each record tells. */

static void see_turn(struct watcher *w, const struct dsql_sim_replay_event *e)
{
    struct dsql_sim_fit *fit = &w->origin->fit;
    struct dsql_sim_stretch *after = &w->origin->after;
    double passed = (double)dsql_most(0, e->at.ns - w->turn_ns);
    w->open_ns += passed * w->open;
    w->waiting_ns += passed * w->waiting;
    w->turn_ns = e->at.ns;
    w->open = e->keeper->slots.open;
    w->waiting = e->keeper->waiting;
    if (w->waiting > after->most_waiting)
        after->most_waiting = w->waiting;
    fit->most_callers = dsql_most(fit->most_callers, (int64_t)w->open + w->waiting);
}

/* A bucket that leaks at the rate: how high it stands is how many were used at once. */
static void see_permit(struct watcher *w, const struct dsql_sim_replay_event *e)
{
    struct dsql_sim_fit *fit = &w->origin->fit;
    int64_t passed_ns = dsql_most(0, e->at.ns - w->bucket_ns);
    double leaked = (double)passed_ns / (double)DSQL_S * fit->rate;
    if (!e->call->yes)
        return;
    w->bucket = leaked < w->bucket ? w->bucket - leaked : 0;
    w->bucket += 1;
    w->bucket_ns = e->at.ns;
    fit->burst = dsql_most(fit->burst, (int64_t)w->bucket);
}

static void see_back(struct watcher *w, struct seen *seen, struct dsql_mono now)
{
    if (!seen->away)
        return;
    seen->away = false;
    w->backs++;
    w->away_ns += (double)dsql_most(0, dsql_mono_since(now, seen->since));
}

static void see_look(struct watcher *w, const struct dsql_sim_replay_event *e)
{
    struct dsql_sim_fit *fit = &w->origin->fit;
    if (w->asked == DSQL_SLOT_NONE)
        return; /* any slot was asked for */
    struct seen *seen = &w->slots[w->asked];
    bool in_use = e->call->slot == DSQL_SLOT_NONE;
    fit->looks += !seen->looked;
    fit->looks_in_use += !seen->looked && in_use;
    seen->looked = true;
    if (!in_use) {
        see_back(w, seen, e->at);
    } else if (!seen->away) {
        seen->away = true;
        seen->since = e->at;
    }
}

static void see_opened(struct watcher *w, const struct dsql_sim_replay_event *e)
{
    struct dsql_sim_fit *fit = &w->origin->fit;
    uint32_t slot = e->call->slot;
    int64_t took_ns =
        dsql_most(0, dsql_mono_since(e->call->now, e->keeper->slots.items[slot].began));
    fit->shortest_ns = fit->connects == 0 ? took_ns : dsql_least(fit->shortest_ns, took_ns);
    fit->connects++;
    w->connects_ns += (double)took_ns;
    w->slots[slot] = (struct seen){0};
    w->origin->after.opens++;
}

static void see_step(struct watcher *w, const struct dsql_keeper_step *step)
{
    struct dsql_sim_stretch *after = &w->origin->after;
    if (step->what == DSQL_KEEPER_CLAIM)
        w->asked = step->slot;
    else if (step->what == DSQL_KEEPER_TAKE)
        w->asked = DSQL_SLOT_NONE;
    else if (step->what == DSQL_KEEPER_OPEN)
        after->connects++;
    else if (step->what == DSQL_KEEPER_CLOSE)
        after->discards[step->discard]++;
}

static void see_call(struct watcher *w, const struct dsql_sim_replay_event *e)
{
    struct dsql_sim_fit *fit = &w->origin->fit;
    const struct dsql_keeper_call *call = e->call;
    switch (call->kind) {
    case DSQL_KEEPER_CALL_TURN:
        see_turn(w, e);
        break;
    case DSQL_KEEPER_CALL_NEXT:
        see_step(w, &e->reply->step);
        break;
    case DSQL_KEEPER_CALL_SLOTS:
        fit->granted = call->count;
        if (call->rate > fit->rate)
            fit->rate = call->rate;
        break;
    case DSQL_KEEPER_CALL_CLAIMED:
        see_look(w, e);
        break;
    case DSQL_KEEPER_CALL_PERMIT:
        see_permit(w, e);
        break;
    case DSQL_KEEPER_CALL_OPENED:
        see_opened(w, e);
        break;
    case DSQL_KEEPER_CALL_FAILED:
        fit->failures++;
        w->origin->after.failures++;
        break;
    case DSQL_KEEPER_CALL_DISCARD:
        fit->hang_ups += call->discard == DSQL_DISCARD_SERVER_CLOSED;
        see_back(w, &w->slots[call->slot], e->at);
        break;
    case DSQL_KEEPER_CALL_PREPARED:
    case DSQL_KEEPER_CALL_UNPREPARED:
    case DSQL_KEEPER_CALL_ABANDONED:
    case DSQL_KEEPER_CALL_CLOSED:
    case DSQL_KEEPER_CALL_DISCARD_NOW:
    case DSQL_KEEPER_CALL_DRAIN:
    case DSQL_KEEPER_CALLS:
        break;
    }
}

/* -- The moment. */

/* What was seen so far lies before the simulation. */
static void begin_here(struct watcher *w, struct dsql_sim_replay_moment moment, int64_t at_ns)
{
    struct dsql_sim_stretch *before = &w->origin->before, *after = &w->origin->after;
    before->connects += after->connects;
    before->opens += after->opens;
    before->failures += after->failures;
    for (size_t i = 0; i < DSQL_DISCARDS; i++)
        before->discards[i] += after->discards[i];
    if (after->most_waiting > before->most_waiting)
        before->most_waiting = after->most_waiting;
    *after = (struct dsql_sim_stretch){0};
    w->moment = moment;
    w->moment_ns = at_ns;
}

static void watch(void *arg, const struct dsql_sim_replay_event *e)
{
    struct watcher *w = arg;
    w->draining = w->draining || e->keeper->draining;
    if (w->draining)
        return;
    if (w->at_ns < 0 && e->segment != w->moment.segment)
        begin_here(w, (struct dsql_sim_replay_moment){e->segment, e->number - 1}, e->at.ns);
    w->last_ns = e->at.ns;
    see_call(w, e);
    if (w->at_ns >= 0 && e->at.ns <= w->at_ns && dsql_keeper_sleeps(e->keeper))
        begin_here(w, (struct dsql_sim_replay_moment){e->segment, e->number}, e->at.ns);
}

/* -- The fit. */

static void finish_fit(const struct watcher *w, struct dsql_sim_fit *fit)
{
    double lasted = w->turn_ns > 0 ? (double)w->turn_ns : 1;
    double in_use = fit->looks > 0 ? (double)fit->looks_in_use / (double)fit->looks : 0;
    if (fit->connects > 0)
        fit->mean_ns = (int64_t)(w->connects_ns / (double)fit->connects);
    fit->waiting = w->waiting_ns / lasted;
    fit->in_use = fit->looks < LOOKS_MIN ? -1 : in_use * w->open_ns / lasted;
    fit->hold_ns = w->backs == 0 ? -1 : (int64_t)(w->away_ns / (double)w->backs);
}

/* As many callers as were seen, each for as long as was seen, come one after the other. */
static struct dsql_sim_workload workload_of(const struct dsql_sim_fit *fit)
{
    struct dsql_sim_workload workload = {.burst = 1, .max_in_use = CALLERS_MAX};
    double callers = (fit->in_use > 0 ? fit->in_use : 0) + fit->waiting;
    int64_t hold_ns = fit->hold_ns < 0 ? HOLD_GUESS_NS : dsql_least(fit->hold_ns, DSQL_H / 2);
    if (callers * (double)DSQL_M < 1)
        return workload;
    double interval_ns = (double)hold_ns / callers;
    if (interval_ns < ARRIVAL_MIN_NS) {
        interval_ns = ARRIVAL_MIN_NS;
        hold_ns = dsql_least((int64_t)(callers * interval_ns), DSQL_H / 2);
    }
    workload.interval_ns = interval_ns < (double)DSQL_H ? (int64_t)interval_ns : DSQL_H;
    workload.hold_ns = hold_ns / 2;
    workload.hold_jitter_ns = hold_ns;
    workload.max_in_use = dsql_least(dsql_most(1, fit->most_callers), CALLERS_MAX);
    return workload;
}

static void fit_scenario(const struct dsql_sim_origin *origin, struct dsql_sim_scenario *s)
{
    const struct dsql_keeper_config *k = &origin->keeper.config;
    const struct dsql_sim_fit *fit = &origin->fit;
    struct dsql_sim_service *service = s->services.items;
    (void)snprintf(s->name, sizeof(s->name), "%s", origin->file);
    (void)snprintf(s->about, sizeof(s->about),
                   "a simulation that begins where a recorded pool was");
    s->origin = origin;
    s->duration_ns =
        dsql_least(origin->rest_ns >= DURATION_MIN ? origin->rest_ns : DURATION_NS, DURATION_MAX);
    s->sample_ns = dsql_most(DSQL_MS, dsql_least(DSQL_S, s->duration_ns / 100));
    if (fit->connects > 0) {
        s->cluster.connect_latency_ns = dsql_least(fit->shortest_ns, DSQL_M);
        s->cluster.connect_tail_ns =
            dsql_least(dsql_most(0, fit->mean_ns - fit->shortest_ns), DSQL_M);
    }
    int64_t rate = (int64_t)dsql_least((int64_t)fit->rate + 1, RATE_MAX);
    if ((double)(rate - 1) >= fit->rate && rate > 1)
        rate--; /* a whole number already */
    s->budget.kind = DSQL_SIM_LOCAL;
    s->budget.rate = rate;
    s->budget.burst = dsql_least(dsql_most(1, fit->burst), RATE_MAX);
    s->pool = (struct dsql_sim_pool){
        .target_ready = k->target,
        .max_open = k->max_open,
        .permit_wait_ns = k->permit_wait_ns,
        .permit_backoff_ns = k->permit_backoff_ns,
        .base_lifetime_ns = k->lifetime.base_ns,
        .lifetime_jitter_ns = k->lifetime.jitter_ns,
        .guard_window_ns = k->lifetime.guard_ns,
        .inflight_limit = k->inflight_limit,
        .staggered_startup_ns = k->start_delay_ns,
        .empty_wait_ns = k->empty_wait_ns,
        .connect_timeout_ns = k->connect_timeout_ns,
    };
    service->workload = workload_of(fit);
}

/* -- Reading. */

static enum dsql_rc watch_all(struct watcher *w, struct dsql_span bytes, struct dsql_err *err)
{
    struct dsql_sim_origin *origin = w->origin;
    struct dsql_sim_replay replay;
    enum dsql_rc rc = dsql_sim_replay(bytes, watch, w, &replay, err);
    if (rc)
        return rc;
    if (replay.differs) {
        (void)dsql_err_set(err, DSQL_INVALID, "the pool that recorded decides otherwise: %s",
                           replay.difference);
        dsql_err_hint(err, "it was recorded by libdsql %s: take that version's program",
                      replay.version);
        return DSQL_INVALID;
    }
    if (w->at_ns > dsql_mono_since(replay.last, replay.base))
        return dsql_err_set(err, DSQL_INVALID, "the recording lasts for %s only",
                            dsql_duration_shown(dsql_mono_since(replay.last, replay.base)).text);
    memcpy(origin->version, replay.version, sizeof(origin->version));
    origin->began = replay.began;
    w->base = replay.base;
    origin->at_ns = dsql_most(0, w->moment_ns);
    origin->rest_ns = dsql_most(0, w->last_ns - w->moment_ns);
    return DSQL_OK;
}

static enum dsql_rc take_keeper(struct watcher *w, struct dsql_span bytes, struct dsql_err *err)
{
    struct dsql_sim_origin *origin = w->origin;
    enum dsql_rc rc = dsql_sim_replay_keeper(bytes, w->moment, &origin->keeper, err);
    if (rc)
        return rc;
    origin->now = dsql_mono_add(w->base, w->moment_ns);
    if (dsql_mono_before(origin->now, origin->keeper.now))
        origin->now = origin->keeper.now;
    const char *why = NULL;
    if (origin->keeper.draining)
        why = "the pool was draining: there is nothing to go on with";
    else if (origin->keeper.config.tick_ns > 0 && origin->keeper.config.tick_ns < TICK_MIN_NS)
        why = "its keeper's interval is too short for a simulation";
    if (!why)
        return DSQL_OK;
    dsql_keeper_fini(&origin->keeper);
    return dsql_err_set(err, DSQL_INVALID, "%s", why);
}

enum dsql_rc dsql_sim_origin_read(struct dsql_span bytes, const char *file, int64_t at_ns,
                                  struct dsql_sim_origin *origin,
                                  struct dsql_sim_scenario *scenario, struct dsql_err *err)
{
    static const char one_service[] = "services: [{name: recorded}]";
    struct watcher w = {
        .at_ns = at_ns, .origin = origin, .moment = {1, 0}, .asked = DSQL_SLOT_NONE};
    *origin = (struct dsql_sim_origin){0};
    (void)snprintf(origin->file, sizeof(origin->file), "%s", file);
    w.slots = calloc(DSQL_SLOTS_MAX, sizeof(*w.slots));
    if (!w.slots)
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for the recording");
    enum dsql_rc rc = watch_all(&w, bytes, err);
    if (!rc)
        rc = take_keeper(&w, bytes, err);
    free(w.slots);
    if (rc)
        return rc;
    finish_fit(&w, &origin->fit);
    rc = dsql_sim_scenario_read(dsql_span_of(one_service), file, scenario, err);
    if (rc)
        dsql_keeper_fini(&origin->keeper);
    else
        fit_scenario(origin, scenario);
    return rc;
}

void dsql_sim_origin_fini(struct dsql_sim_origin *origin)
{
    dsql_keeper_fini(&origin->keeper);
}

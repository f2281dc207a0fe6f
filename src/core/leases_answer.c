/* What becomes of an answer: of one that applied the request, refused it, or never came. */
#include "core/leases_parts.h"

#include <string.h>

#include "base/grow.h"
#include "base/least.h"
#include "core/backoff.h"

#define GRACE_NS  (2 * DSQL_S)
#define GLANCE_NS (30 * DSQL_S)

static const struct dsql_backoff lost_wait = {200 * DSQL_MS, 5 * DSQL_S, 0.5};
static const struct dsql_backoff conflict_wait = {10 * DSQL_MS, 1280 * DSQL_MS, 1};

static enum dsql_rc hold(struct dsql_leases *l, const struct dsql_leases_op *op)
{
    size_t need = l->held.count + (size_t)op->count;
    if (!DSQL_GROW(l->held.items, l->held.room, need))
        return DSQL_NO_MEMORY;
    for (int64_t i = 0; i < op->count; i++) {
        struct dsql_lease_held *lease = &l->held.items[l->held.count++];
        memcpy(lease->id, op->ids[i], sizeof(lease->id));
        lease->beat = op->beat;
    }
    return DSQL_OK;
}

static void drop(struct dsql_leases *l, const char *id)
{
    size_t i = dsql_leases_place_of(l, id);
    if (i == l->held.count)
        return;
    l->round.renewed -= i < l->round.renewed;
    memmove(&l->held.items[i], &l->held.items[i + 1],
            (l->held.count - i - 1) * sizeof(*l->held.items));
    l->held.count--;
}

static enum dsql_rc acquired(struct dsql_leases *l)
{
    const struct dsql_leases_op *op = &l->request.op;
    bool first = l->held.count == 0;
    enum dsql_rc rc = hold(l, op);
    if (rc)
        return rc;
    l->held.grace = dsql_most(0, l->held.grace - op->count);
    l->held.parcel = dsql_least(l->held.parcel * 2, DSQL_LEASES_BATCH);
    if (first) {
        l->round.at = dsql_mono_add(l->request.first_sent, l->config.ttl_ns / 3);
        l->held.fresh_until = dsql_mono_add(l->request.first_sent, l->config.ttl_ns);
    }
    return DSQL_OK;
}

static void renewed(struct dsql_leases *l)
{
    const struct dsql_leases_op *op = &l->request.op;
    for (int64_t i = 0; i < op->count; i++)
        l->held.items[dsql_leases_place_of(l, op->ids[i])].beat = op->beat;
    l->round.renewed += (size_t)op->count;
    if (l->round.renewed < l->held.count)
        return;
    l->round.renewed = 0;
    l->round.under_way = false;
    l->round.at = dsql_mono_add(l->round.sent, l->config.ttl_ns / 3);
    l->held.fresh_until = dsql_mono_add(l->round.sent, l->config.ttl_ns);
}

/* Some of the ids are not there, or not as they were. */
static enum dsql_rc missing(struct dsql_leases *l, struct dsql_mono now,
                            const struct dsql_leases_answer *answer)
{
    const struct dsql_leases_op *op = &l->request.op;
    int64_t gone = 0;
    if (op->kind == DSQL_LEASES_ACQUIRE) /* put before: an earlier try was applied */
        return acquired(l);
    if (op->kind == DSQL_LEASES_REAP) {
        l->survey.reap.count = 0; /* another process took them away or renewed them */
        return DSQL_OK;
    }
    for (int64_t i = 0; i < op->count; i++) {
        if (!answer->missing[i])
            continue;
        drop(l, op->ids[i]);
        gone++;
    }
    if (op->kind == DSQL_LEASES_RENEW) {
        l->held.grace = gone + (dsql_mono_before(now, l->held.grace_until) ? l->held.grace : 0);
        l->held.grace_until = dsql_mono_add(now, GRACE_NS);
        l->self.spent = true; /* another process renews them, or took them away */
        l->counts.copies++;
        if (l->held.count == 0) {
            l->round.renewed = 0;
            l->round.under_way = false;
        }
    }
    return DSQL_OK;
}

static void refused(struct dsql_leases *l, struct dsql_mono now)
{
    const struct dsql_leases_op *op = &l->request.op;
    switch (op->kind) {
    case DSQL_LEASES_ACQUIRE: /* full */
        l->held.grace = op->count == 1 ? 0 : l->held.grace;
        l->held.full_until =
            op->count > 1 ? now
                          : dsql_mono_add(now, DSQL_S / 2 + dsql_rng_between(&l->rng, 0, DSQL_S));
        l->held.parcel = dsql_most(1, op->count / 2);
        break;
    case DSQL_LEASES_CONNECT: /* the second is used up */
        if (op->count == 1)
            l->connects.not_before = op->second + 1;
        l->connects.draw = dsql_most(1, op->count / 2);
        break;
    case DSQL_LEASES_REAP:
        l->survey.reap.count = 0;
        break;
    case DSQL_LEASES_RECOUNT:
        l->survey.may_recount = false;
        dsql_leases_plan_survey(l, now);
        break;
    case DSQL_LEASES_RELEASE: /* the counter is below what we have: it is wrong, our leases go
                                 anyway */
        l->held.count -= (size_t)dsql_least((int64_t)l->held.count, op->count);
        break;
    case DSQL_LEASES_RENEW:
    case DSQL_LEASES_SLOW:
    case DSQL_LEASES_LOOK:
    case DSQL_LEASES_SCAN:
        break;
    }
}

static enum dsql_rc done(struct dsql_leases *l, struct dsql_mono now, struct dsql_wall wall,
                         const struct dsql_leases_answer *answer)
{
    const struct dsql_leases_op *op = &l->request.op;
    switch (op->kind) {
    case DSQL_LEASES_ACQUIRE:
        return acquired(l);
    case DSQL_LEASES_RELEASE:
        for (int64_t i = 0; i < op->count; i++)
            drop(l, op->ids[i]);
        break;
    case DSQL_LEASES_RENEW:
        renewed(l);
        break;
    case DSQL_LEASES_CONNECT:
        l->need.asked = false;
        l->connects.permits = dsql_leases_second_of(wall) == op->second ? op->count : 0;
        l->connects.second = op->second;
        l->connects.draw = dsql_least(l->config.rate, l->connects.draw * 2);
        break;
    case DSQL_LEASES_SLOW:
        l->connects.slow_seconds--;
        break;
    case DSQL_LEASES_LOOK:
        l->glance.active = answer->exists ? answer->active : 0;
        l->glance.at = dsql_mono_add(now, GLANCE_NS);
        if (!l->glance.under_way)
            dsql_leases_looked(l, now, answer);
        break;
    case DSQL_LEASES_SCAN:
        dsql_leases_scanned(l, now, answer);
        break;
    case DSQL_LEASES_REAP:
        dsql_leases_took_away(&l->survey);
        l->survey.reap.count = 0;
        l->survey.at = now; /* there may be more */
        break;
    case DSQL_LEASES_RECOUNT:
        l->counts.recounts++;
        l->survey.may_recount = false;
        l->survey.drift = 0;
        dsql_leases_plan_survey(l, now);
        break;
    }
    return DSQL_OK;
}

enum dsql_rc dsql_leases_answer(struct dsql_leases *l, struct dsql_moment at_both,
                                const struct dsql_leases_answer *answer)
{
    const struct dsql_leases_op *op = &l->request.op;
    struct dsql_mono now = at_both.mono;
    assert(l->request.under_way);
    enum dsql_rc rc = DSQL_OK;
    enum dsql_leases_outcome outcome = answer->outcome;
    bool in_doubt = l->request.repeat;
    l->request.under_way = l->request.repeat = false;
    if (outcome == DSQL_LEASES_OK)
        rc = done(l, now, at_both.wall, answer);
    else if (outcome == DSQL_LEASES_MISSING)
        rc = missing(l, now, answer);
    else if (outcome == DSQL_LEASES_REFUSED)
        refused(l, now);
    if (outcome == DSQL_LEASES_CONFLICT) {
        /* This try was not applied; an earlier one may have been. What was to be given back is not
         * used again: a copy may yet be applied. */
        l->request.repeat = in_doubt || op->kind == DSQL_LEASES_RELEASE;
        l->request.retry_at =
            dsql_mono_add(now, dsql_backoff_ns(&conflict_wait, ++l->request.conflicts, &l->rng));
    } else if (outcome == DSQL_LEASES_LOST || rc) {
        /* Permits are drawn for a second, and reading needs no repetition. */
        l->request.repeat = op->kind == DSQL_LEASES_ACQUIRE || op->kind == DSQL_LEASES_RELEASE ||
                            op->kind == DSQL_LEASES_RENEW;
        if (l->survey.stage != SURVEY_IDLE) {
            l->survey.reap.count = 0; /* half a survey says nothing */
            dsql_leases_plan_survey(l, now);
        }
        l->request.retry_at =
            dsql_mono_add(now, dsql_backoff_ns(&lost_wait, ++l->request.failures, &l->rng));
    } else {
        l->request.failures = l->request.conflicts = 0;
        l->request.retry_at = now;
    }
    return rc;
}

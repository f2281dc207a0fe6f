#include "pool/pulse.h"

#include <string.h>

#include "base/lock.h"
#include "base/strbuf.h"

void dsql_pulse_init(struct dsql_pulse *pulse)
{
    (void)pthread_mutex_init(&pulse->lock, NULL); /* which cannot fail on Linux */
}

void dsql_pulse_fini(struct dsql_pulse *pulse)
{
    (void)pthread_mutex_destroy(&pulse->lock);
}

/* 0 is no moment. */
static int64_t moment(struct dsql_mono now)
{
    return now.ns > 0 ? now.ns : 1;
}

void dsql_pulse_ask(struct dsql_pulse *pulse, struct dsql_mono now)
{
    int64_t none = 0;
    if (atomic_load_explicit(&pulse->asked_at, memory_order_relaxed) == 0)
        (void)atomic_compare_exchange_strong(&pulse->asked_at, &none, moment(now));
}

static bool is_answer(enum dsql_rc rc)
{
    enum dsql_class cls = dsql_rc_class(rc);
    return cls == DSQL_CLASS_OK || cls == DSQL_CLASS_CONDITION || cls == DSQL_CLASS_RETRY ||
           rc == DSQL_NOT_FOUND || rc == DSQL_DUPLICATE || rc == DSQL_TOO_LARGE;
}

void dsql_pulse_end(struct dsql_pulse *pulse, enum dsql_rc rc, const char *message,
                    struct dsql_mono now)
{
    if (is_answer(rc)) {
        atomic_store(&pulse->answered_at, moment(now));
        if (atomic_load_explicit(&pulse->asked_at, memory_order_relaxed) != 0)
            atomic_store(&pulse->asked_at, 0);
        if (atomic_load_explicit(&pulse->failed, memory_order_relaxed))
            atomic_store(&pulse->failed, false);
        return;
    }
    if (dsql_rc_class(rc) == DSQL_CLASS_CALLER) /* withdrawn: it says nothing about the database */
        return;
    dsql_lock(&pulse->lock);
    struct dsql_strbuf failure;
    dsql_strbuf_init(&failure, pulse->failure, sizeof(pulse->failure));
    dsql_strbuf_add_str(&failure, message);
    dsql_unlock(&pulse->lock);
    atomic_store(&pulse->failed, true);
}

void dsql_pulse_read(struct dsql_pulse *pulse, struct dsql_mono now, struct dsql_pulse_state *state)
{
    int64_t asked_at = atomic_load(&pulse->asked_at),
            answered_at = atomic_load(&pulse->answered_at);
    *state = (struct dsql_pulse_state){
        .unanswered_ns = asked_at && now.ns > asked_at ? now.ns - asked_at : 0,
        .answer_age_ns = answered_at ? now.ns - answered_at : -1,
    };
    if (!atomic_load(&pulse->failed))
        return;
    dsql_lock(&pulse->lock);
    memcpy(state->failure, pulse->failure, sizeof(state->failure));
    dsql_unlock(&pulse->lock);
}

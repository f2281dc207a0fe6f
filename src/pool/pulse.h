/*
 * pulse: whether the database answers those who ask it. Transactions tell it of each try and of
 * what came of it; the pool's statistics read it.
 *
 * An answer is anything that the database says to what it was asked, a conflict or a row that is
 * not there included. A refusal, a lost connection, no connection and a deadline are none: a
 * database that only gives these is of no use to anybody.
 */
#ifndef DSQL_POOL_PULSE_H
#define DSQL_POOL_PULSE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/time.h"
#include "dsql/err.h"

struct dsql_pulse {
    _Atomic int64_t asked_at;    /* ns: the first try after the last answer; 0: there was none */
    _Atomic int64_t answered_at; /* ns; 0: nothing was ever answered */
    _Atomic bool failed;         /* a try has failed since then, and `failure` says how */
    pthread_mutex_t lock;        /* guards what follows; taken while holding nothing */
    char failure[256];           /* of the latest try that was not answered */
};

/* What a reader learns. */
struct dsql_pulse_state {
    int64_t unanswered_ns; /* 0: nothing was asked since the last answer */
    int64_t answer_age_ns; /* -1: nothing was ever answered */
    char failure[256];     /* empty unless a try has failed since the last answer */
};

void dsql_pulse_init(struct dsql_pulse *pulse);
void dsql_pulse_fini(struct dsql_pulse *pulse);

/* A try begins. */
void dsql_pulse_ask(struct dsql_pulse *pulse, struct dsql_mono now);

/* A try ended with rc, as the connection told it; message if it failed. */
void dsql_pulse_end(struct dsql_pulse *pulse, enum dsql_rc rc, const char *message,
                    struct dsql_mono now);

void dsql_pulse_read(struct dsql_pulse *pulse, struct dsql_mono now,
                     struct dsql_pulse_state *state);

#endif

/*
 * When the next connection may be tried after failures. Failures that belong together (attempts
 * that were under way when the first of them failed) are one *round*: they count once. After a
 * failed round the next is a single attempt; a success ends the trouble.
 *
 * Attempts a minute at most if nothing ever succeeds: in the minute after the first round, and in
 * any minute later on:
 *
 *   network                42, 40  250 ms doubling to 3 s, up to half of it random
 *   throttled, resources   6, 3    1 s doubling to 30 s
 *   full                   4, 2    5 s doubling to 60 s
 *   denied, tls            2, 2    30 s doubling to 5 min
 *   token expired          2, 2    one at once, with a new token; then as denied
 *
 * An endpoint that could not be reached may be there again at any moment, and no caller can
 * work until that is noticed: the waits stay short. An attempt costs little, and takes a permit.
 *
 * Single-threaded; time and randomness are passed in.
 */
#ifndef DSQL_CORE_REFILL_H
#define DSQL_CORE_REFILL_H

#include "core/backoff.h"
#include "core/connect_error.h"

struct dsql_refill {
    unsigned rounds;             /* failed in a row */
    struct dsql_mono round_at;   /* the last one; attempts begun before belong to it */
    struct dsql_mono not_before; /* no attempt earlier than this */
    enum dsql_connect_class last;
    bool renewed;  /* a new token was asked for since the last success */
    bool hopeless; /* the last round: waiting alone does not help */
    struct dsql_backoff network;
    int64_t window;    /* attempts at once, as failures allow */
    int64_t successes; /* since the window grew */
};

/* `network`: the waits of that class; NULL for those above. */
void dsql_refill_init(struct dsql_refill *refill, const struct dsql_backoff *network,
                      struct dsql_mono now);

struct dsql_refill_verdict {
    bool first;       /* of its round: worth a line in the log */
    bool renew_token; /* throw the token away */
    int64_t wait_ns;  /* until the next attempt */
};

/* An attempt that began at `began` failed. */
struct dsql_refill_verdict dsql_refill_failed(struct dsql_refill *refill,
                                              enum dsql_connect_class cls, struct dsql_mono began,
                                              struct dsql_mono now, struct dsql_rng *rng);
void dsql_refill_opened(struct dsql_refill *refill);

/* 0 if an attempt may begin now. */
int64_t dsql_refill_wait_ns(const struct dsql_refill *refill, struct dsql_mono now);

/* How many attempts may be under way, when `limit` is the number in good times. More of them may be
 * what makes them fail (a server, or this machine, that is too slow for so many handshakes at once
 * lets all of them time out), so a failed round of class network sets the number to 128, the next
 * ones halve it, and as many successes as a quarter of it raise it by one. */
int64_t dsql_refill_limit(const struct dsql_refill *refill, int64_t limit);

#endif

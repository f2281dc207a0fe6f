/*
 * core: policy without I/O. Threads, sockets, clocks and randomness stay outside; time is passed
 * in. The pool and the simulator run this same code. It sees nothing but base.
 *
 *     keeper*.c       what a process does about its connections (_pace: how many and how fast;
 *                     _call, _trace: its calls as values, and as a recording)
 *     slots.c, ready_set.c, lifetime.c, handout.h    the connections: states, who may have one
 *     refill.c, backoff.c, connect_error.c           when to try again after a failure
 *     solo.c, blocks*.c, leases*.c                   the allowance (allowance.h) of a process
 *                     alone, and of one in a fleet, by either protocol
 *     registry.c, permit_plan.c                      the item that `blocks` shares, and its flows
 *     bucket.c, permits.c, fallback.c                connects a second
 *     classify.c, retry.c                            what an answer means; what is run again
 *     refresh.c, snowflake.c                         what expires; ids that grow with time
 *
 * This header is the keeper: what a process does about its connections, decided without I/O. It
 * says when to open one and why, which to close and for what reason, when to ask for a permit, and
 * how long to sleep. A *driver* carries that out: the pool's opener thread with sockets and real
 * time, the simulator with a model and virtual time. Neither decides anything.
 *
 * The driver begins a turn with dsql_keeper_turn(), then asks dsql_keeper_next() for one step after
 * the other and carries each out, until the step is SLEEP. Some steps ask something, and are
 * answered before the next is asked for; others take time, and their end is told when it comes,
 * inside a turn or between two:
 *
 *     SLOTS    so many slots are needed: tell the budget       answer: _slots()
 *     CLAIM    take the slot out of the ready set, if there    answer: _claimed()
 *     TAKE     take any slot out of the ready set              answer: _claimed()
 *     OFFER    the slot is open and free again: to a waiter or to the ready set
 *     PREPARE  have an address and a token at hand             answer: _prepared(), _unprepared()
 *     PERMIT   ask the budget for a permit                     answer: _permit()
 *     CLOSE    close the slot's connection                     its end: _closed()
 *     OPEN     connect in the slot                             its end: _opened(), _failed()
 *     CUT      end the slot's connect, which is under way      its end: _failed(), _abandoned()
 *     REPORT   count and log what stands in the way
 *     SLEEP    for so long, or until something happened        the turn is over
 *
 * What happens outside is told as it comes: a connection that has to be closed, because it came
 * back broken or too old or its server hung up (_discard(); the slot is out of the ready set), and
 * the wish to end (_drain()).
 *
 * Everything the keeper knows is in this struct, everything it learns are the plain arguments of
 * the functions below, and its randomness is seeded: the same calls give the same steps. It holds
 * no lock and no pointer to its driver. Which slots are ready is not in here: callers change that
 * at any moment without asking, so it is asked for. Single-threaded.
 *
 * What it wants: as many fresh connections as the target and, where that does not do, one more for
 * each caller that waits, at most max_open. What was opened for a caller stays until it is old. An
 * aging connection is replaced: its successor is opened first if a slot is free, else it makes room
 * the moment its successor's permit is there. It is closed when enough are there without it, and at
 * its guard window in any case.
 *
 * Invariants: (K1) an OPEN uses one permit that was given, and a permit is used at once: before it
 * is asked for, the slot is there. Only the time that a connection takes to make room lies between,
 * and a permit that was not used after a second is not used at all; (K2) an OPEN never makes what
 * is held exceed the slots granted; (K3) a CLOSE or an OPEN names a slot that no caller holds.
 */
#ifndef DSQL_CORE_KEEPER_H
#define DSQL_CORE_KEEPER_H

#include "core/handout.h"
#include "core/refill.h"
#include "core/slots.h"

struct dsql_keeper_config {
    uint32_t max_open; /* 1 to DSQL_SLOTS_MAX */
    uint32_t target;   /* 0 to max_open */
    struct dsql_lifetime lifetime;
    int64_t start_delay_ns; /* no connect before a random moment up to so long after the start */
    int64_t inflight_limit; /* connects under way at once; raised when handshakes are slow */
    int64_t connect_timeout_ns; /* of one connect, but for the warm-up's */
    int64_t empty_wait_ns;      /* how long a checkout waits that does not say */
    int64_t permit_wait_ns;     /* without a permit for so long is a failure */
    int64_t permit_backoff_ns;  /* after it, the first wait before the next is asked for; >= 1 */
    /* Standard mode: a warm-up of so many, one after the other, then at most tick_max opens in each
     * tick. tick_ns 0: reservoir mode, as fast as permits come. */
    int64_t tick_ns;
    uint32_t tick_max;
    uint32_t warmup;           /* 0 to max_open */
    uint32_t warmup_tries;     /* for each connection of the warm-up; >= 1 */
    int64_t warmup_timeout_ns; /* of one connect */
    int64_t warmup_backoff_ns, warmup_backoff_max_ns;
};

enum dsql_keeper_do {
    DSQL_KEEPER_SLOTS,
    DSQL_KEEPER_CLAIM,
    DSQL_KEEPER_TAKE,
    DSQL_KEEPER_OFFER,
    DSQL_KEEPER_PREPARE,
    DSQL_KEEPER_PERMIT,
    DSQL_KEEPER_CLOSE,
    DSQL_KEEPER_OPEN,
    DSQL_KEEPER_CUT,
    DSQL_KEEPER_REPORT,
    DSQL_KEEPER_SLEEP,
};

/* clang-format off */
#define DSQL_KEEPER_WHY_TABLE(X)                                                                   \
    X(NONE,     "")                                                                                \
    /* OPEN */                                                                                     \
    X(TARGET,   "fewer than the target")                                                           \
    X(REPLACE,  "a successor for an aging one")                                                    \
    X(WAITING,  "callers wait")                                                                    \
    X(WARMUP,   "the warm-up")                                                                     \
    /* CUT */                                                                                      \
    X(TIMEOUT,  "the connect took too long")                                                       \
    /* SLEEP; PERMIT and SLOTS also REPORT, DRAIN also CUT */                                      \
    X(ENOUGH,   "as many as wanted")                                                               \
    X(START,    "the staggered start")                                                             \
    X(BACKOFF,  "connects failed")                                                                 \
    X(SLOTS,    "no slot in the budget")                                                           \
    X(TICK,     "this tick's share is used up")                                                    \
    X(INFLIGHT, "enough connects under way")                                                       \
    X(PREPARE,  "no address or token yet")                                                         \
    X(PERMIT,   "no permit")                                                                       \
    X(IN_USE,   "every aging one is in use")                                                       \
    X(ANSWERS,  "what was asked for is not done yet")                                              \
    X(DRAIN,    "draining")
/* clang-format on */

enum dsql_keeper_why {
#define DSQL_KEEPER_WHY_MEMBER(name, text) DSQL_WHY_##name,
    DSQL_KEEPER_WHY_TABLE(DSQL_KEEPER_WHY_MEMBER)
#undef DSQL_KEEPER_WHY_MEMBER
        DSQL_KEEPER_WHYS
};

/* "callers wait" for DSQL_WHY_WAITING; "open" for DSQL_KEEPER_OPEN. Static storage. */
const char *dsql_keeper_why_text(enum dsql_keeper_why why);
const char *dsql_keeper_do_name(enum dsql_keeper_do what);

struct dsql_keeper_step {
    enum dsql_keeper_do what;
    enum dsql_keeper_why why;
    uint32_t slot;             /* of CLAIM, OFFER, CLOSE, OPEN, CUT */
    enum dsql_discard discard; /* of CLOSE: why */
    int64_t count;             /* of SLOTS: needed; of SLEEP: returns that are to be closed */
    int64_t ns;                /* of SLEEP: how long, at most; of OPEN: how long it may take */
};

struct dsql_keeper {
    struct dsql_keeper_config config;
    struct dsql_rng rng;
    struct dsql_slots slots;
    struct dsql_refill refill;
    struct dsql_mono start_at;
    bool draining;
    int64_t handshake_ns; /* smoothed */

    /* Standard mode. */
    uint32_t warmup_left, warmup_failures;
    struct dsql_mono tick_at; /* the next one */
    uint32_t tick_left;       /* opens left in this one */

    /* The budget. */
    int64_t granted;                /* slots */
    double rate;                    /* connects a second, in effect */
    int64_t need;                   /* slots asked for */
    int64_t need_before, need_peak; /* slots needed at most: in the window before, and in this */
    struct dsql_mono need_until;    /* the end of this window */
    struct dsql_mono lack_due;      /* when it is said that the slots are too few */
    bool permit_in_hand;
    struct dsql_mono permit_given;
    struct dsql_mono permit_since; /* without one; INT64_MAX: it is not waiting */
    struct dsql_mono permit_at;    /* when the budget expects to have one */
    struct dsql_mono permit_from;  /* not asked for earlier */
    unsigned permit_failures;      /* in a row */

    /* This turn. */
    struct dsql_mono now;
    uint32_t waiting;          /* callers */
    unsigned stage;            /* of the turn: see keeper.c */
    enum dsql_keeper_do asked; /* has no answer yet; SLEEP: nothing */
    uint32_t question;         /* about which slot */
    unsigned purpose;          /* of a claim */
    unsigned looks;            /* at aging ones that were in use */
    uint32_t room;             /* an aging one, claimed, that makes room if a permit is there */
    uint32_t offer;            /* claimed to make room, and no permit came: goes back */
    bool swept;                /* a TAKE found the ready set empty */
    bool prepared;
    enum dsql_keeper_why hindered; /* an answer of this turn stands in the way */
    uint32_t cuts;                 /* connects whose end was asked for and not told */
    unsigned reports;              /* still to be made */
};

/* Nothing is open. `rng` is copied. DSQL_NO_MEMORY. */
DSQL_MUST_USE enum dsql_rc dsql_keeper_init(struct dsql_keeper *keeper,
                                            const struct dsql_keeper_config *config,
                                            struct dsql_rng rng, struct dsql_mono now);
void dsql_keeper_fini(struct dsql_keeper *keeper);
/* Between two turns of *from: *to, which is not initialized, goes on in its place with other
 * settings. What is open keeps the life that was drawn for it. config->max_open is at least
 * dsql_slots_span(). */
DSQL_MUST_USE enum dsql_rc dsql_keeper_resume(struct dsql_keeper *to,
                                              const struct dsql_keeper *from,
                                              const struct dsql_keeper_config *config);

/* -- A turn. */

void dsql_keeper_turn(struct dsql_keeper *keeper, struct dsql_mono now, uint32_t waiting);
void dsql_keeper_next(struct dsql_keeper *keeper, struct dsql_keeper_step *step);

/* -- Answers. */

/* The slots granted, and the connects a second that the budget lets through at the moment. */
void dsql_keeper_slots(struct dsql_keeper *keeper, int64_t granted, double rate);
/* The slot, which is the keeper's now; DSQL_SLOT_NONE: it was not there, or none was. */
void dsql_keeper_claimed(struct dsql_keeper *keeper, uint32_t slot);
/* Whether a permit was given; if not, in wait_ns there may be one. */
void dsql_keeper_permit(struct dsql_keeper *keeper, bool given, int64_t wait_ns);
/* True: address and token are there for this turn; false: not yet, and their fetchers wake the
 * driver. */
void dsql_keeper_prepared(struct dsql_keeper *keeper, bool ready);

/* What a failure means for others; the keeper has drawn its own conclusions. */
struct dsql_keeper_verdict {
    int64_t retry_ns;   /* until the next attempt */
    bool throttled;     /* the budget is told, and slows the whole fleet down */
    bool full;          /* the budget is told, and reads the cap again */
    bool renew_token;   /* a new token may help */
    bool forget_token;  /* this one is useless */
    bool address_fails; /* another address may help */
};
/* Address or token failed, with the class of a connect. */
struct dsql_keeper_verdict dsql_keeper_unprepared(struct dsql_keeper *keeper,
                                                  enum dsql_connect_class cls);

/* -- What ends, and what happens. */

/* The slot is open and the caller's, who puts it into the ready set or hands it to a waiter; how
 * long it lives is in keeper->slots. */
void dsql_keeper_opened(struct dsql_keeper *keeper, uint32_t slot, struct dsql_mono now);
struct dsql_keeper_verdict dsql_keeper_failed(struct dsql_keeper *keeper, uint32_t slot,
                                              enum dsql_connect_class cls, struct dsql_mono now);
/* A connect was ended, and that is no failure. */
void dsql_keeper_abandoned(struct dsql_keeper *keeper, uint32_t slot);
void dsql_keeper_closed(struct dsql_keeper *keeper, uint32_t slot);

/* An open slot that no caller holds and that is not in the ready set has to be closed. */
void dsql_keeper_discard(struct dsql_keeper *keeper, uint32_t slot, enum dsql_discard why);
/* An open slot that no caller holds and that is not in the ready set: the caller closes it, without
 * a step. */
void dsql_keeper_discard_now(struct dsql_keeper *keeper, uint32_t slot);
/* Nothing is opened any more; what is ready, or comes back, is closed. */
void dsql_keeper_drain(struct dsql_keeper *keeper);

/* -- What others may want to know. */

/* Whether no turn is under way. */
bool dsql_keeper_sleeps(const struct dsql_keeper *keeper);
/* Connects that may be under way at once. */
int64_t dsql_keeper_inflight(const struct dsql_keeper *keeper);
/* Whether the warm-up has done what it could; always in reservoir mode. */
bool dsql_keeper_is_warm(const struct dsql_keeper *keeper);
/* Nothing is open or coming, and only a person can change that. */
bool dsql_keeper_is_hopeless(const struct dsql_keeper *keeper);
/* Whether a caller that begins to wait changes what it wants: then the driver takes a turn. */
bool dsql_keeper_helps_waiting(const struct dsql_keeper *keeper);
/* The moment that core/handout.h calls near, as of the last turn. */
struct dsql_mono dsql_keeper_near(const struct dsql_keeper *keeper);
/* How long a checkout waits that asks for wait_ns; negative: it does not say. */
int64_t dsql_keeper_patience(const struct dsql_keeper_config *config, int64_t wait_ns);

#endif

/*
 * The keeper's calls as values: everything a driver can tell the keeper, and what the keeper says
 * to it. A driver that calls dsql_keeper_call() instead of the functions of core/keeper.h can write
 * down what it did, and a replay can repeat it: the same calls give the same replies.
 *
 * A call that was read from a file may be nonsense, and the keeper aborts on a wrong call as any
 * function does. dsql_keeper_call_is_possible() says beforehand whether it is one that the pool's
 * opener could have made at this point: while a question waits only its answer, in a turn only the
 * demand for the next step, between turns what happened meanwhile.
 */
#ifndef DSQL_CORE_KEEPER_CALL_H
#define DSQL_CORE_KEEPER_CALL_H

#include "core/keeper.h"

/* clang-format off */
/* name, text, which members of the call it uses, what it is replied */
#define DSQL_KEEPER_CALL_TABLE(X)                                                                         \
    X(TURN,        "turn",        NOW | COUNT,       NOTHING)                                      \
    X(NEXT,        "next",        0,                 STEP)                                         \
    X(SLOTS,       "slots",       COUNT | RATE,      NOTHING)                                      \
    X(CLAIMED,     "claimed",     SLOT,              NOTHING)                                      \
    X(PERMIT,      "permit",      YES | COUNT,       NOTHING)                                      \
    X(PREPARED,    "prepared",    YES,               NOTHING)                                      \
    X(UNPREPARED,  "unprepared",  CLASS,             VERDICT)                                      \
    X(OPENED,      "opened",      SLOT | NOW,        LIFE)                                         \
    X(FAILED,      "failed",      SLOT | NOW | CLASS, VERDICT)                                     \
    X(ABANDONED,   "abandoned",   SLOT,              NOTHING)                                      \
    X(CLOSED,      "closed",      SLOT,              NOTHING)                                      \
    X(DISCARD,     "discard",     SLOT | DISCARD,    NOTHING)                                      \
    X(DISCARD_NOW, "discard_now", SLOT,              NOTHING)                                      \
    X(DRAIN,       "drain",       0,                 NOTHING)
/* clang-format on */

enum dsql_keeper_call_kind {
#define DSQL_KEEPER_CALL_MEMBER(name, text, uses, reply) DSQL_KEEPER_CALL_##name,
    DSQL_KEEPER_CALL_TABLE(DSQL_KEEPER_CALL_MEMBER)
#undef DSQL_KEEPER_CALL_MEMBER
        DSQL_KEEPER_CALLS
};

struct dsql_keeper_call {
    enum dsql_keeper_call_kind kind;
    uint32_t slot;
    struct dsql_mono now;
    int64_t count; /* TURN: callers that wait; SLOTS: granted; PERMIT: wait_ns */
    double rate;
    bool yes; /* PERMIT: given; PREPARED: ready */
    enum dsql_connect_class cls;
    enum dsql_discard discard;
};

enum dsql_keeper_call_reply {
    DSQL_KEEPER_REPLY_NOTHING,
    DSQL_KEEPER_REPLY_STEP,
    DSQL_KEEPER_REPLY_VERDICT,
    DSQL_KEEPER_REPLY_LIFE
};

/* What the keeper says: the member of the call's dsql_keeper_call_replied(), the others are zero.
 */
struct dsql_keeper_reply {
    struct dsql_keeper_step step;
    struct dsql_keeper_verdict verdict;
    struct dsql_lifespan life;
};

/* Members of a call, as bits. */
enum {
    DSQL_KEEPER_CALL_USES_SLOT = 1,
    DSQL_KEEPER_CALL_USES_NOW = 2,
    DSQL_KEEPER_CALL_USES_COUNT = 4,
    DSQL_KEEPER_CALL_USES_RATE = 8,
    DSQL_KEEPER_CALL_USES_YES = 16,
    DSQL_KEEPER_CALL_USES_CLASS = 32,
    DSQL_KEEPER_CALL_USES_DISCARD = 64,
};
unsigned dsql_keeper_call_uses(enum dsql_keeper_call_kind kind);
enum dsql_keeper_call_reply dsql_keeper_call_replied(enum dsql_keeper_call_kind kind);
/* "opened" for DSQL_KEEPER_CALL_OPENED. Static storage. */
const char *dsql_keeper_call_name(enum dsql_keeper_call_kind kind);

/* Makes the call. *reply is filled as a whole. */
void dsql_keeper_call(struct dsql_keeper *keeper, const struct dsql_keeper_call *call,
                      struct dsql_keeper_reply *reply);

bool dsql_keeper_call_is_possible(const struct dsql_keeper *keeper,
                                  const struct dsql_keeper_call *call);

#endif

/*
 * Outcomes. Every fallible function returns an enum dsql_rc; 0 is success. Where a human needs
 * more, the function also takes a struct dsql_err and fills it at the place where the failure
 * happened.
 *
 * Each code belongs to exactly one class, and the class says what a caller may do about it.
 *
 * The functions here keep no state: any thread may call them.
 */
#ifndef DSQL_ERR_H
#define DSQL_ERR_H

#include "dsql/defs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a caller may do about an outcome. */
enum dsql_class {
    DSQL_CLASS_OK = 0,
    DSQL_CLASS_CONDITION, /* a fence did not hold: another owner won; never retry */
    DSQL_CLASS_RETRY,     /* nothing was applied; run the whole transaction again */
    DSQL_CLASS_UNKNOWN,   /* committed or not: only the caller can find out */
    DSQL_CLASS_BUSY,      /* a limit stood in the way; the same call may pass later */
    DSQL_CLASS_DENIED,    /* credentials or permissions; retrying will not help */
    DSQL_CLASS_LOST,      /* the connection is gone; what was committed before stays committed */
    DSQL_CLASS_CALLER,    /* wrong argument or setting; nothing happened */
    DSQL_CLASS_PERMANENT, /* anything else; do not retry */
};

/* Programs store and compare the numbers: a new code goes to the end, none is removed, none changes
 * its place or its class. */
/* clang-format off */
/*    code              class      what it means */
#define DSQL_RC_TABLE(X)                                                                           \
    X(OK,               OK,        "success")                                                      \
    X(CONDITION_FAILED, CONDITION, "condition failed: another owner changed the row")              \
    X(CONFLICT,         RETRY,     "change conflicts with another transaction (OC000)")            \
    X(SCHEMA_CHANGED,   RETRY,     "schema has been updated by another transaction (OC001)")       \
    X(COMMIT_UNKNOWN,   UNKNOWN,   "the answer to COMMIT never came: the outcome is unknown")      \
    X(EMPTY,            BUSY,      "no connection is ready")                                       \
    X(THROTTLED,        BUSY,      "a rate limit was reached")                                     \
    X(LIMIT,            BUSY,      "a connection or size limit was reached")                       \
    X(TIMEOUT,          BUSY,      "the deadline passed")                                          \
    X(DENIED,           DENIED,    "access denied")                                                \
    X(LOST,             LOST,      "the connection was lost")                                      \
    X(CLOSED,           CALLER,    "the object is closed or draining")                             \
    X(CANCELLED,        CALLER,    "cancelled by the caller")                                      \
    X(INVALID,          CALLER,    "invalid argument or value")                                    \
    X(NOT_FOUND,        CALLER,    "not found")                                                    \
    X(UNSUPPORTED,      PERMANENT, "not supported by Aurora DSQL")                                 \
    X(NO_MEMORY,        PERMANENT, "out of memory")                                                \
    X(IO,               PERMANENT, "input/output error")                                           \
    X(PROTOCOL,         PERMANENT, "the peer broke the protocol")                                  \
    X(DATABASE,         PERMANENT, "the database reported an error")                               \
    X(DUPLICATE,        PERMANENT, "a row with this key exists already")                           \
    X(TOO_LARGE,        PERMANENT, "a size limit of Aurora DSQL was exceeded")                     \
    X(UNAVAILABLE,      BUSY,      "the database is not available at the moment")              \
    X(APPLIED,          PERMANENT, "the change was applied, and what came after it failed")
/* clang-format on */

enum dsql_rc {
#define DSQL_RC_MEMBER(code, cls, text) DSQL_##code,
    DSQL_RC_TABLE(DSQL_RC_MEMBER)
#undef DSQL_RC_MEMBER
        DSQL_RC_COUNT /* how many there are; no outcome */
};

/*
 * The detail of a failure. The caller owns it; its strings are always terminated, and empty when
 * they do not apply. A function that succeeds leaves it untouched.
 */
struct dsql_err {
    enum dsql_rc rc;
    char sqlstate[6]; /* five characters, when the database spoke */
    char entity[32];  /* of DSQL_CONDITION_FAILED: the kind of thing that has another owner, "shard"
                       */
    char key[192];    /* which one: "12" */
    char hint[256];   /* the database's HINT, or ours: what to do next */
    char message[512]; /* what happened, to what */
};

/* "CONFLICT" for DSQL_CONFLICT; "?" for a number that is no code. Static storage. */
DSQL_API const char *dsql_rc_name(enum dsql_rc rc);

/* One line of English for a code. Static storage. */
DSQL_API const char *dsql_rc_text(enum dsql_rc rc);

/* What a caller may do about it; DSQL_CLASS_PERMANENT for a number that is no code. */
DSQL_API enum dsql_class dsql_rc_class(enum dsql_rc rc);

/* "retry" for DSQL_CLASS_RETRY. Static storage. */
DSQL_API const char *dsql_class_name(enum dsql_class cls);

/*
 * Fills *err (which may be NULL) and returns rc, so that a failing function can end with
 * `return dsql_err_set(err, DSQL_INVALID, "...", ...)`. Clears the other strings; a message that
 * does not fit is cut. The arguments may be strings of *err itself.
 */
DSQL_API enum dsql_rc dsql_err_set(struct dsql_err *err, enum dsql_rc rc, const char *fmt, ...)
    DSQL_PRINTF(3, 4);

/* Adds what to do next. err may be NULL; the arguments may be strings of *err itself. */
DSQL_API void dsql_err_hint(struct dsql_err *err, const char *fmt, ...) DSQL_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif

/*
 * What a connect that failed means for the opening of more: each failure has exactly one
 * class, made from the classifier's outcome, and each class has advice for a person.
 */
#ifndef DSQL_CORE_CONNECT_ERROR_H
#define DSQL_CORE_CONNECT_ERROR_H

#include "base/defs.h"

/* clang-format off */
#define DSQL_CONNECT_TABLE(X)                                                                      \
    X(THROTTLED,     "throttled")     /* 53400: the budget slows down */                            \
    X(FULL,          "full")          /* 53300: the cap is re-read */                              \
    X(TOKEN_EXPIRED, "token_expired") /* for its date: one new token may help */                   \
    X(DENIED,        "denied")        /* nothing but a person helps */                             \
    X(TLS,           "tls")           /* the server's certificate is not trusted; likewise */      \
    X(RESOURCES,     "resources")     /* this process lacks descriptors or memory */               \
    X(NETWORK,       "network")       /* not reachable, too slow, closed, starting */
/* clang-format on */

enum dsql_connect_class {
#define DSQL_CONNECT_MEMBER(name, text) DSQL_CONNECT_##name,
    DSQL_CONNECT_TABLE(DSQL_CONNECT_MEMBER)
#undef DSQL_CONNECT_MEMBER
        DSQL_CONNECT_CLASSES
};

/* "denied" for DSQL_CONNECT_DENIED. Static storage. */
const char *dsql_connect_class_name(enum dsql_connect_class cls);

/* What to do about it; static storage. */
const char *dsql_connect_advice(enum dsql_connect_class cls);

/* Of a connect that could not begin because no token could be made, for this reason. */
enum dsql_connect_class dsql_connect_class_of_token(enum dsql_rc rc);

struct dsql_connect_failure {
    const char *sqlstate; /* "" or NULL when the database said nothing */
    const char *message;
    const char *hint;
    bool untrusted;    /* TLS: the certificate, or the name in it */
    bool no_resources; /* no descriptor, no memory */
};

/* *rc is the outcome for people and statistics. */
enum dsql_connect_class dsql_connect_classify(const struct dsql_connect_failure *failure,
                                              enum dsql_rc *rc);

#endif

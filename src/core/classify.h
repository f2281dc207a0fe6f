/*
 * What an answer of the database means: one pure function from the phase, the SQLSTATE, the message
 * and the HINT to one outcome. No other code looks at a SQLSTATE to decide what to do next.
 *
 * Only the phase tells a lost connection (nothing was applied) from a commit whose outcome is
 * unknown: the same dead socket is LOST before COMMIT was sent and COMMIT_UNKNOWN afterwards.
 *
 * Texts are matched in any case, and only where one SQLSTATE covers several causes: the service
 * does not promise them.
 */
#ifndef DSQL_CORE_CLASSIFY_H
#define DSQL_CORE_CLASSIFY_H

#include "base/defs.h"
#include "dsql/err.h"

enum dsql_phase {
    DSQL_PHASE_CONNECT,   /* up to the first ReadyForQuery */
    DSQL_PHASE_STATEMENT, /* inside a transaction whose COMMIT was not sent; or a read */
    DSQL_PHASE_COMMIT,    /* COMMIT was sent; or a write that commits by itself */
};

struct dsql_verdict {
    enum dsql_rc rc;
    bool token_expired; /* DENIED for the token's date: a new one may help, ask for one, once */
    bool stale_plan;    /* SCHEMA_CHANGED, and the prepared statement must be prepared anew */
};

/*
 * sqlstate is NULL or "" when the database said nothing: the connection died, or was closed by a
 * deadline. message and hint may be NULL.
 */
struct dsql_verdict dsql_classify(enum dsql_phase phase, const char *sqlstate, const char *message,
                                  const char *hint);

#endif

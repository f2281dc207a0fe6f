/*
 * Statements that tools send to every PostgreSQL and that Aurora DSQL refuses, though they would
 * change no result. Such a statement is replaced by one that does nothing and is answered with the
 * same command tag. docs/proxy.md lists them. Sans I/O.
 */
#ifndef DSQL_PROXY_COMPAT_H
#define DSQL_PROXY_COMPAT_H

#include "base/strbuf.h"

/* What is answered as done. The order is that of the label in src/metrics/labels.def. */
enum dsql_compat_kind {
    DSQL_COMPAT_KIND_STARTUP, /* a parameter of the startup packet */
    DSQL_COMPAT_KIND_SET,
    DSQL_COMPAT_KIND_RESET,
    DSQL_COMPAT_KIND_SET_CONFIG,
    DSQL_COMPAT_KIND_TRANSACTION, /* SET TRANSACTION */
    DSQL_COMPAT_KIND_LOCK,
    DSQL_COMPAT_KIND_UNLISTEN,
    DSQL_COMPAT_KIND_CLOSE,  /* CLOSE ALL */
    DSQL_COMPAT_KIND_UNLOCK, /* pg_advisory_unlock_all() */
    DSQL_COMPAT_KINDS,
};

struct dsql_compat {
    unsigned replaced;                 /* statements */
    unsigned kinds[DSQL_COMPAT_KINDS]; /* the same, by kind */
    const char *tag; /* the command tag that the client gets instead of the server's; or NULL */
    bool read_only;  /* SET TRANSACTION READ ONLY: the transaction has to begin as such */
};

/* Whether a refused parameter may be taken to have this value: no result depends on it. */
bool dsql_compat_is_harmless(struct dsql_span name, struct dsql_span value);

/*
 * Writes the text to `out` with its harmless statements replaced, and fills *compat. Nothing is
 * replaced (0, and `out` is not to be used) where the text is not understood. A statement that
 * needs another command tag is replaced only if it is alone in the text, and in a simple query.
 */
unsigned dsql_compat_replace(struct dsql_span text, bool simple, struct dsql_strbuf *out,
                             struct dsql_compat *compat);

#endif

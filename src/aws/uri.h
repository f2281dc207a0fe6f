/*
 * Percent-encoding (RFC 3986) and the canonical forms of paths and query strings that SigV4 signs.
 * Everything is appended to a strbuf; nothing is allocated.
 */
#ifndef DSQL_AWS_URI_H
#define DSQL_AWS_URI_H

#include "base/strbuf.h"

enum { DSQL_URI_PARAMS_MAX = 64 };

/* Every byte except A-Z a-z 0-9 - . _ ~ becomes %XX. */
void dsql_uri_add_encoded(struct dsql_strbuf *sb, struct dsql_span s);

/* Undoes %XX; a plus sign stays one. False if an escape is broken: part of it may be written. */
bool dsql_uri_add_decoded(struct dsql_strbuf *sb, struct dsql_span s);

/*
 * The path as it goes into a canonical request: encoded once more, slashes kept. `normalize` first
 * removes empty and "." segments and lets ".." take back the one before it. An empty path is "/".
 */
void dsql_uri_add_canonical_path(struct dsql_strbuf *sb, struct dsql_span path, bool normalize);

/* Takes the next name=value off the front of *query, still encoded; a name without '=' has an empty
 * value. Empty parts are skipped. False at the end. */
bool dsql_uri_next_param(struct dsql_span *query, struct dsql_span *name, struct dsql_span *value);

/*
 * The query as it goes into a canonical request: decoded, encoded, sorted by name and value;
 * without the parameters named in skip. DSQL_INVALID if an escape is broken, DSQL_LIMIT if there
 * are more than DSQL_URI_PARAMS_MAX parameters.
 */
DSQL_MUST_USE enum dsql_rc dsql_uri_add_canonical_query(struct dsql_strbuf *sb,
                                                        struct dsql_span query,
                                                        const struct dsql_span *skip,
                                                        size_t skip_count, struct dsql_err *err);

#endif

/*
 * A page token: where a list goes on, and of which query it is. It holds all that is needed, so it
 * outlives the server that gave it.
 *
 * A byte for the version, 8 of a digest of namespace and expression, the position: close_inv and
 * start_inv in 8 bytes each, the run id.
 */
#ifndef DSQL_VISIBILITY_TOKEN_H
#define DSQL_VISIBILITY_TOKEN_H

#include "visibility/plan.h"

enum { DSQL_VIS_TOKEN_HEAD = 25 };

/* Of namespace and encoded expression. Tells queries apart that are mixed up; no secret. */
uint64_t dsql_vis_digest(struct dsql_span namespace_id, struct dsql_span expr);

/* out has room for DSQL_VIS_TOKEN_HEAD + run_id.len bytes, which is the token's length. */
void dsql_vis_token_put(uint64_t digest, const struct dsql_vis_position *position, char *out);

/* DSQL_INVALID for what is no token, and for that of another query. The run id points into it. */
DSQL_MUST_USE enum dsql_rc dsql_vis_token_read(struct dsql_span token, uint64_t digest,
                                               struct dsql_vis_position *position,
                                               struct dsql_err *err);

#endif

/* What Go calls of libdsql's visibility: flat memory in, nothing is decided here. */
#ifndef DSQL_TEMPORAL_VISIBILITY_BRIDGE_H
#define DSQL_TEMPORAL_VISIBILITY_BRIDGE_H

#include "bridge.h"

/*
 * values: the fields of struct dsql_visibility_record in its order, from namespace_id to
 * state_transition_count, and behind them for each search attribute its name, its type, the number
 * of its values, and these. bytes: what they point into. timeout_ns: 0 for none.
 */
int bridge_visibility_record(struct bridge_engine *engine, int write,
                             const struct bridge_value *values, size_t count, const void *bytes,
                             struct dsql_cancel *cancel, int64_t timeout_ns, struct dsql_err *err);

int bridge_visibility_delete(struct bridge_engine *engine, const void *namespace_id,
                             size_t namespace_len, const void *run_id, size_t run_len,
                             struct dsql_cancel *cancel, int64_t timeout_ns, struct dsql_err *err);

int bridge_visibility_compact(struct bridge_engine *engine, struct dsql_cancel *cancel,
                              int64_t timeout_ns, struct dsql_visibility_compacted *compacted,
                              struct dsql_err *err);

#endif

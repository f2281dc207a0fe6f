/*
 * The library's log: logfmt lines with stable event names.
 *
 *     ts=2026-11-16T09:00:00.123Z level=warn event=config.adjusted setting=... detail="..."
 *
 * Lines go to standard error at level info until a program says otherwise. If the reader of
 * standard error has gone, lines are lost and the program goes on.
 *
 * The library's own keys, passwords and tokens are of a type that a line does not accept. In
 * strings that come from elsewhere, AWS signatures and session tokens are replaced by *** where
 * they follow their names: Signature=..., X-Amz-Signature=..., X-Amz-Security-Token=... or :...,
 * and the same percent-encoded.
 */
#ifndef DSQL_LOG_H
#define DSQL_LOG_H

#include <stddef.h>

#include "dsql/defs.h"

#ifdef __cplusplus
extern "C" {
#endif

enum dsql_log_level { DSQL_LOG_ERROR, DSQL_LOG_WARN, DSQL_LOG_INFO, DSQL_LOG_DEBUG };

/*
 * Receives one line, newline included, not terminated. May be called from any thread, also from two
 * at once; must not call back into libdsql.
 */
typedef void dsql_log_sink_fn(void *arg, enum dsql_log_level level, const char *line, size_t len);

/* Sends the lines of this process to fn(arg, ...). NULL restores standard error. Call it before the
 * threads start. */
DSQL_API void dsql_log_set_sink(dsql_log_sink_fn *fn, void *arg);

/* Drops lines below this level, whatever DSQL_LOG_LEVEL says. Safe from any thread. */
DSQL_API void dsql_log_set_level(enum dsql_log_level level);

/* "warn" for DSQL_LOG_WARN. Static storage. */
DSQL_API const char *dsql_log_level_name(enum dsql_log_level level);

#ifdef __cplusplus
}
#endif
#endif

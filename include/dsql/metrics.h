/*
 * The metrics of a process, as Prometheus text. `dsql help metrics` lists them all.
 */
#ifndef DSQL_METRICS_H
#define DSQL_METRICS_H

#include <stddef.h>

#include "dsql/defs.h"
#include "dsql/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dsql_metrics;

/*
 * A registry whose series all carry the label service="<service>" (copied; at most 63 bytes count).
 * The caller destroys it. DSQL_NO_MEMORY is the only failure.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_metrics_new(const char *service,
                                                     struct dsql_metrics **metrics);

/* Nobody may use it any more. NULL is fine. */
DSQL_API void dsql_metrics_destroy(struct dsql_metrics *metrics);

/*
 * Everything the registry knows, in the Prometheus text format (content type
 * "text/plain; version=0.0.4"). *text is terminated and belongs to the caller, who frees it with
 * free(); *len is its length. Safe from any thread.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_metrics_text(struct dsql_metrics *metrics, char **text,
                                                      size_t *len);

#ifdef __cplusplus
}
#endif
#endif

/*
 * The metrics of a process, as Prometheus text. `dsql help metrics` lists them all.
 *
 * The label `operation` takes the name of an operation with everything that is no letter, digit or
 * underscore turned into an underscore, and at most 63 characters of it: names that are then equal
 * share one series. An operation without a name, and whatever comes after the first 511 names, is
 * counted as `other`.
 *
 * A process may fork() only while no other thread is in a call that names an operation: the child
 * would inherit a lock that is never released. A child counts on from what it inherited.
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
 * A registry whose series all carry the label service="<service>" (copied; as many whole characters
 * as fit into 63 bytes; what is not UTF-8 becomes U+FFFD). The caller destroys it. Fails with
 * DSQL_INVALID if service is NULL, and with DSQL_NO_MEMORY.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_metrics_new(const char *service,
                                                     struct dsql_metrics **metrics);

/* After the last use, the use by pools included. NULL is fine. */
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

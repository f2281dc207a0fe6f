/* What an endpoint counts, and the one table of it for the log, the status and the metrics. */
#ifndef DSQL_LOCAL_COUNTS_H
#define DSQL_LOCAL_COUNTS_H

#include "base/log.h"
#include "local/fault/fault.h"

/* Why a connection was not taken; each is counted. */
enum dsql_local_refusal {
    DSQL_LOCAL_NO_TLS,
    DSQL_LOCAL_NO_SNI,
    DSQL_LOCAL_PROTOCOL, /* garbage, a broken handshake, too slow */
    DSQL_LOCAL_PARAMETER,
    DSQL_LOCAL_RATE,
    DSQL_LOCAL_FULL,
    DSQL_LOCAL_TOKEN,
    DSQL_LOCAL_FAULT, /* as it was told to */
    DSQL_LOCAL_REFUSALS
};
const char *dsql_local_refusal_name(enum dsql_local_refusal refusal);

/* Counters without gaps between them: two of these can be compared as memory. */
struct dsql_local_counts {
    uint64_t accepted, admitted, closed, expired;
    uint64_t refused[DSQL_LOCAL_REFUSALS];
    uint64_t statements, statements_refused, cancels_ignored;
    uint64_t rests; /* of the listener, for want of descriptors or memory */
    uint64_t conflicts_oc000, conflicts_oc001; /* that clients were told of */
};

/* What there is to be seen at one moment. */
struct dsql_local_sight {
    struct dsql_local_counts counts;
    size_t open, logging_in, backends;
    uint64_t struck[DSQL_FAULT_COUNT];
};

/* Counts the error that a client is told, if it is a conflict. */
void dsql_local_count_error(struct dsql_local_counts *counts, struct dsql_span message);

/* The same numbers as lines "name=value", as one log line, and as Prometheus text. */
void dsql_local_sight_lines(const struct dsql_local_sight *sight, struct dsql_strbuf *out);
void dsql_local_sight_log(const struct dsql_local_sight *sight, struct dsql_log *log);
void dsql_local_sight_metrics(const struct dsql_local_sight *sight, struct dsql_strbuf *out);

#endif

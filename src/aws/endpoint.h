/*
 * The names of Aurora DSQL clusters:
 *   <id>.dsql.<region>.on.aws            public
 *   <id>.dsql-<suffix>.<region>.on.aws   PrivateLink
 *   <id>                                 26 letters and digits; needs a region to become a host
 * name Any other host name (localhost, a VPC endpoint) is taken as it is and needs a region too.
 */
#ifndef DSQL_AWS_ENDPOINT_H
#define DSQL_AWS_ENDPOINT_H

#include "base/span.h"

enum {
    DSQL_HOST_MAX = 253, /* of a DNS name */
    DSQL_REGION_MAX = 32,
    DSQL_CLUSTER_ID_LEN = 26,
};

struct dsql_endpoint {
    char host[DSQL_HOST_MAX + 1];     /* in lower case: what to connect to and to sign for */
    char region[DSQL_REGION_MAX + 1]; /* the host's own, or the one that was given */
    char cluster_id[64];              /* a host's first label; empty if it is no DSQL name */
};

/*
 * Reads what a person wrote as the endpoint; region may be empty if the name tells it.
 * DSQL_INVALID, with a hint that says what to write, if it is no host name, if the region is
 * missing, or if the one that was given is not the one in the name.
 */
DSQL_MUST_USE enum dsql_rc dsql_endpoint_parse(struct dsql_span text, struct dsql_span region,
                                               struct dsql_endpoint *endpoint,
                                               struct dsql_err *err);

/* Letters, digits, '-' and '_' in labels of 1 to 63 between dots; no port, no final dot. */
bool dsql_endpoint_is_host(struct dsql_span s);

/* Lower-case letters and digits, in at least two parts between dashes: us-east-1. */
bool dsql_endpoint_is_region(struct dsql_span s);

#endif

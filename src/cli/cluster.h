/* Which cluster a command is about: what its options say, or else the settings. */
#ifndef DSQL_CLI_CLUSTER_H
#define DSQL_CLI_CLUSTER_H

#include "aws/endpoint.h"

struct dsql_cluster {
    struct dsql_endpoint endpoint;
    char port[8]; /* "5432" where none is named */
};

/* text is a host name or a cluster's id, with or without a port; region may be "". */
DSQL_MUST_USE enum dsql_rc dsql_cluster_find(struct dsql_span text, struct dsql_span region,
                                             struct dsql_cluster *cluster, struct dsql_err *err);

#endif

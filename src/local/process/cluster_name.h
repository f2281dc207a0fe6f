/*
 * The name that an endpoint has by default: that of a cluster of the service, such as
 * k4fdq6abcdefghijklmnopqrst.dsql.us-east-1.on.aws. Programs that take a cluster's id and region
 * out of its name work with it, and so do those that send no SNI for a name without a dot.
 */
#ifndef DSQL_LOCAL_CLUSTER_NAME_H
#define DSQL_LOCAL_CLUSTER_NAME_H

#include "local/process/folder.h"

/* Writes the name, which fits into 254 bytes. It is always the same for a folder that is kept, and
 * one and the same for all that are made for one run: it can stand in a file of hosts. */
DSQL_MUST_USE enum dsql_rc dsql_cluster_name(const struct dsql_folder *folder, const char *region,
                                             char (*name)[254], struct dsql_err *err);

#endif

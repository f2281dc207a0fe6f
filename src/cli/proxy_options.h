/* What the command line and the environment of `dsql proxy` ask for. */
#ifndef DSQL_CLI_PROXY_OPTIONS_H
#define DSQL_CLI_PROXY_OPTIONS_H

#include "cli/command.h"
#include "proxy/proxy.h"

struct dsql_proxy_setup {
    struct dsql_proxy_options proxy;
    struct dsql_pool_options pool; /* of the pools of all roles together */
    int64_t connections;           /* of --connections; 0: not given */
    int64_t drain_ns;
    const char *address;       /* of /metrics; NULL for none */
    const char *handover_path; /* NULL: no other process takes over */
    char roles[DSQL_PROXY_ROLES][64];
    size_t role_count;
};

DSQL_MUST_USE enum dsql_rc dsql_proxy_read_options(const struct dsql_args *args,
                                                   struct dsql_proxy_setup *setup,
                                                   struct dsql_err *err);

#endif

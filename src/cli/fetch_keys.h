/* AWS's keys for a command that needs them once. */
#ifndef DSQL_CLI_FETCH_KEYS_H
#define DSQL_CLI_FETCH_KEYS_H

#include "aws/keys.h"

/* profile may be NULL. Waits as long as a credential_process may take. The caller ends *keys. */
DSQL_MUST_USE enum dsql_rc dsql_fetch_keys(const char *profile, const char *region,
                                           struct dsql_keys *keys, struct dsql_err *err);

#endif

/* The chain of providers as a source of credentials. */
#ifndef DSQL_AWS_CHAIN_H
#define DSQL_AWS_CHAIN_H

#include "aws/credentials.h"
#include "aws/provider.h"

/* options may be NULL. Nothing is fetched yet. The clock outlives it. */
DSQL_MUST_USE enum dsql_rc dsql_chain_new(const struct dsql_credentials_options *options,
                                          const struct dsql_provider_limits *limits,
                                          const struct dsql_clock *clock,
                                          struct dsql_credentials_source **source,
                                          struct dsql_err *err);

#endif

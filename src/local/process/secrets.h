/*
 * The secrets by which the private PostgreSQL knows its endpoint: made anew at each start, handed
 * to the module inside PostgreSQL through a pipe, and shown to it in the startup packet of every
 * session. One is for the sessions of clients, the other for the endpoint's own, which is a
 * superuser's. They are in no file, no argument and no environment. See module/gate.c.
 */
#ifndef DSQL_LOCAL_SECRETS_H
#define DSQL_LOCAL_SECRETS_H

#include "base/secret.h"
#include "pgwire/startup.h"

struct dsql_local_secrets {
    struct dsql_secret client, own;
};

DSQL_MUST_USE enum dsql_rc dsql_local_secrets_make(struct dsql_local_secrets *secrets,
                                                   struct dsql_err *err);
void dsql_local_secrets_fini(struct dsql_local_secrets *secrets);

/* The end of a pipe from which the module reads them, or -1 with errno. */
int dsql_local_secrets_pipe(const struct dsql_local_secrets *secrets);

/* The parameter of a startup packet that shows one; it lives as long as the secret. */
struct dsql_pg_param dsql_local_secret_param(const struct dsql_secret *secret);

#endif

/* The whole endpoint as one object: folder, PostgreSQL, certificate and front, made and unmade. */
#ifndef DSQL_LOCAL_LOCAL_H
#define DSQL_LOCAL_LOCAL_H

#include "local/front.h"

struct dsql_local {
    struct dsql_local_options options;
    char folder[DSQL_LOCAL_PATH_MAX];
    char ca[DSQL_LOCAL_PATH_MAX]; /* what clients trust */
    bool throwaway;               /* the folder goes when we go */
    int lock;                     /* held on the folder */
    struct dsql_postgres pg;
    SSL_CTX *tls;
    struct dsql_front front;
};

/* The service's own limits, localhost, us-east-1, any port. Keys are made up. */
DSQL_MUST_USE enum dsql_rc dsql_local_options_default(struct dsql_local_options *options);
void dsql_local_options_fini(struct dsql_local_options *options);

/*
 * Starts everything in the folder (made if it is not there), or in one made for this run if it is
 * NULL. Takes the options over. On failure nothing runs and nothing is left behind.
 */
DSQL_MUST_USE enum dsql_rc dsql_local_start(struct dsql_local *local,
                                            struct dsql_local_options *options, const char *folder,
                                            struct dsql_log *log, struct dsql_err *err);
void dsql_local_stop(struct dsql_local *local);

/* The environment a PostgreSQL and AWS user expects, as "NAME=value" lines with a fresh token. */
DSQL_MUST_USE enum dsql_rc dsql_local_env(const struct dsql_local *local, struct dsql_strbuf *out,
                                          struct dsql_err *err);

#endif

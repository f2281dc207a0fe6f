/*
 * local: Aurora DSQL on your desk. The whole endpoint as one object (local.c): folder, PostgreSQL,
 * certificate, front and control socket, made and unmade. The parts of `dsql local` are folders:
 *
 *     front/    the loop with its sessions: logins, messages in both directions, the control socket
 *     rules/    what the service says to a statement, from its text alone; no socket, no session
 *     process/  the endpoint's folder with keys and certificate, the private PostgreSQL's process,
 *               its files and the wall around it
 *     fault/    what fails by request, and builds of indexes that take long
 *     module/   what runs inside the private PostgreSQL: conflicts, sizes, the box
 *
 * front includes the other folders except module. fault includes front. rules and process include
 * neither front nor fault, but a header of each other. module includes process.
 */
#ifndef DSQL_LOCAL_LOCAL_H
#define DSQL_LOCAL_LOCAL_H

#include "local/front/control.h"
#include "local/front/front.h"
#include "local/process/folder.h"

struct dsql_local {
    struct dsql_local_options options;
    struct dsql_folder folder;
    bool named; /* the caller chose the name */
    struct dsql_postgres pg;
    SSL_CTX *tls;
    struct dsql_front front;
    struct dsql_control control;
};

/* The service's own limits, us-east-1, any port. Name and keys come at the start. */
void dsql_local_options_default(struct dsql_local_options *options);
void dsql_local_options_fini(struct dsql_local_options *options);

/* Whether the text is the name of an IAM user or role, such as arn:aws:iam::123456789012:role/app.
 */
bool dsql_local_is_arn(struct dsql_span text);

/*
 * Starts everything in the folder (made if it is not there), or in one made for this run if it is
 * NULL. Takes the options over. On failure nothing runs and nothing is left behind. *local must not
 * move while it runs.
 */
DSQL_MUST_USE enum dsql_rc dsql_local_start(struct dsql_local *local,
                                            struct dsql_local_options *options, const char *folder,
                                            struct dsql_log *log, struct dsql_err *err);
void dsql_local_stop(struct dsql_local *local);

/* The environment a PostgreSQL and AWS user expects, as "NAME=value" lines with a fresh token. The
 * host is the name that the caller chose, else localhost; CLUSTER_ENDPOINT is the endpoint's own.
 */
DSQL_MUST_USE enum dsql_rc dsql_local_env(const struct dsql_local *local, struct dsql_strbuf *out,
                                          struct dsql_err *err);

#endif

/* The files of the private PostgreSQL: made by initdb, and given this version's first SQL. */
#ifndef DSQL_LOCAL_CLUSTER_H
#define DSQL_LOCAL_CLUSTER_H

#include "base/clock.h"
#include "local/process/program.h"

/* After a kill the PostgreSQL of the last run may still be on its way out. */
enum { DSQL_CLUSTER_ATTEMPTS = 15 };
#define DSQL_CLUSTER_PAUSE_NS (200 * DSQL_MS)

/* Settings that every PostgreSQL over the folder needs: where the module is, that it is loaded, and
 * shared memory that is files of pg/. The values live as long as *settings. */
enum { DSQL_CLUSTER_SETTINGS = 3 };
struct dsql_cluster_settings {
    char library_path[DSQL_LOCAL_PATH_MAX + 32];
    const char *all[DSQL_CLUSTER_SETTINGS];
};
void dsql_cluster_settings_init(struct dsql_cluster_settings *settings,
                                const struct dsql_folder *folder);

/*
 * Makes the cluster in pg/ if it is not there, and runs the first SQL if another text of it ran
 * last. The folder's file first_sql has the digest of the text that ran to its end.
 */
DSQL_MUST_USE enum dsql_rc dsql_cluster_make(const struct dsql_programs *programs, const char *data,
                                             const struct dsql_clock *clock, struct dsql_err *err);

#endif

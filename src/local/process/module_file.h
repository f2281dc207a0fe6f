/*
 * The module that PostgreSQL loads (src/local/module), carried inside this binary and written to
 * the endpoint's folder at each start.
 */
#ifndef DSQL_LOCAL_MODULE_FILE_H
#define DSQL_LOCAL_MODULE_FILE_H

#include "local/process/folder.h"

/* The name under which PostgreSQL finds it, without folder and ending. */
#define DSQL_MODULE_NAME "dsql_module"

/* Writes the module into folder, readable by all users: PostgreSQL can read it and not change it.
 * What is there under the name is replaced at once.
 */
DSQL_MUST_USE enum dsql_rc dsql_module_write(const struct dsql_folder *folder,
                                             struct dsql_err *err);

#endif

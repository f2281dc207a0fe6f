/*
 * Running PostgreSQL's programs: as the unprivileged user, behind the wall, with an empty
 * environment, with the folder's postgres.log as their standard error (opened by us and inherited:
 * they can't reach it otherwise), and gone when we are: the kernel tells them when this process
 * dies, however it dies.
 */
#ifndef DSQL_LOCAL_PROGRAM_H
#define DSQL_LOCAL_PROGRAM_H

#include "local/process/wall.h"

struct dsql_programs {
    const struct dsql_folder *folder;
    struct dsql_kernel_wall wall;
    char bin[DSQL_LOCAL_PATH_MAX]; /* where initdb and postgres are */
};

/* Looks for PostgreSQL. The folder must stay. */
DSQL_MUST_USE enum dsql_rc dsql_programs_find(struct dsql_programs *programs,
                                              const struct dsql_folder *folder, bool no_wall,
                                              struct dsql_err *err);

/* Starts args[0] of bin, with `in` as its standard input; 0 and *err if it can't. */
pid_t dsql_program_start(const struct dsql_programs *programs, enum dsql_kernel_wall_kind kind,
                         const char *const *args, int in, struct dsql_err *err);

/* Runs it to its end, with text as its input (less than 64 KiB). */
DSQL_MUST_USE enum dsql_rc dsql_program_run(const struct dsql_programs *programs,
                                            enum dsql_kernel_wall_kind kind,
                                            const char *const *args, const char *text,
                                            struct dsql_err *err);

/* "WHAT failed: the last line of the log". */
enum dsql_rc dsql_program_failed(const struct dsql_programs *programs, const char *what,
                                 struct dsql_err *err);

#endif

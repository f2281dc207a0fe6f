/*
 * The endpoint's folder: made for one run or kept, for one endpoint at a time, and of a layout that
 * this version understands.
 */
#ifndef DSQL_LOCAL_FOLDER_H
#define DSQL_LOCAL_FOLDER_H

#include "local/postgres.h"

enum {
    /* Raised when what is made in a new folder changes so that an older one can't be used. */
    DSQL_LOCAL_LAYOUT = 4,
};

struct dsql_folder {
    char path[DSQL_LOCAL_PATH_MAX]; /* absolute; empty: none */
    bool throwaway;                 /* goes when we go */
    bool made, was_empty;           /* by us, or there but with nothing in it */
    int lock;                       /* held on it; -1: none */
};

/* NULL: one made for this run. */
DSQL_MUST_USE enum dsql_rc dsql_folder_open(struct dsql_folder *folder, const char *path,
                                            struct dsql_err *err);
/* Removes it if it was made for this run. */
void dsql_folder_close(struct dsql_folder *folder);

/* Instead, after a start that failed: removes all that was made in it, and it, if it was made. What
 * was there before stays. */
void dsql_folder_undo(struct dsql_folder *folder);

/* folder/name, which fits: names are short. */
void dsql_folder_path(const struct dsql_folder *folder, const char *name,
                      char (*out)[DSQL_LOCAL_PATH_MAX]);

#endif

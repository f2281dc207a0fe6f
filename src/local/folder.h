/*
 * The endpoint's folder: made for one run or kept, for one endpoint at a time, and of a layout that
 * this version understands.
 */
#ifndef DSQL_LOCAL_FOLDER_H
#define DSQL_LOCAL_FOLDER_H

#include "local/postgres.h"

enum {
    /* Raised when the files of a folder change; a change of the first SQL alone needs no new one.
     */
    DSQL_LOCAL_LAYOUT = 5,
    DSQL_LOCAL_LAYOUT_OLDEST = 4, /* brought up to DSQL_LOCAL_LAYOUT at the next start */
};

struct dsql_folder {
    char path[DSQL_LOCAL_PATH_MAX]; /* absolute; empty: none */
    bool throwaway;                 /* goes when we go */
    bool made, was_empty;           /* by us, or there but with nothing in it */
    bool older;                     /* of an earlier layout, until dsql_folder_brought_up() */
    int lock;                       /* held on it; -1: none */
};

/* NULL: one made for this run. */
DSQL_MUST_USE enum dsql_rc dsql_folder_open(struct dsql_folder *folder, const char *path,
                                            struct dsql_err *err);

/* All that this version needs is there: writes its layout. */
DSQL_MUST_USE enum dsql_rc dsql_folder_brought_up(struct dsql_folder *folder, struct dsql_err *err);

/* Removes it if it was made for this run. */
void dsql_folder_close(struct dsql_folder *folder);

/* Instead, after a start that failed: removes all that was made in it, and it, if it was made. What
 * was there before stays. */
void dsql_folder_undo(struct dsql_folder *folder);

/* folder/name, which fits: names are short. */
void dsql_folder_path(const struct dsql_folder *folder, const char *name,
                      char (*out)[DSQL_LOCAL_PATH_MAX]);

#endif

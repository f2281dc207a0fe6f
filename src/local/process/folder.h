/*
 * The endpoint's folder: made for one run or kept, for one endpoint at a time, and of a layout that
 * this version understands.
 *
 *     lock, layout, keys, cluster_id, ca.pem, ca.key, bundle.pem, trust.p12, first_sql,
 *     dsql_module.so, postgres.log, env, control
 *                ours: no other user may write them, nor make or remove entries of the folder
 *     pg/, run/  PostgreSQL's: its data and its socket, of the user it runs as
 *
 * 1. The folder is a folder, not a link, is owned by us and not writable by others; so are its
 *    files. What is not is refused, and left as it is.
 * 2. Files are opened relative to the folder's descriptor and no link is followed.
 * 3. When we are root, we open nothing inside pg/ and run/: what is in there may be anything. They
 *    are emptied by a child that has become their owner.
 *
 * Who may rename the folder's parents is not looked at: our own files are safe from that by 2.
 */
#ifndef DSQL_LOCAL_FOLDER_H
#define DSQL_LOCAL_FOLDER_H

#include <sys/stat.h>

#include "base/span.h"
#include "local/process/user.h"

enum {
    /* Raised when the files of a folder change; a change of the first SQL alone needs no new one.
     */
    DSQL_LOCAL_LAYOUT = 5,
    DSQL_LOCAL_LAYOUT_OLDEST = 4, /* brought up to DSQL_LOCAL_LAYOUT at the next start */
    DSQL_LOCAL_PATH_MAX = 256,
};

struct dsql_folder {
    char path[DSQL_LOCAL_PATH_MAX]; /* absolute; empty: none */
    int dir;                        /* the folder itself; -1: none */
    int lock;                       /* held on it; -1: none */
    struct dsql_local_user user;    /* whose pg/ and run/ are */
    bool throwaway;                 /* goes when we go */
    bool made, was_empty;           /* by us, or there but with nothing in it */
    bool older;                     /* of an earlier layout, until dsql_folder_brought_up() */
};

/* What a folder is before it is opened, and after it is closed. */
#define DSQL_FOLDER_NONE                                                                           \
    (struct dsql_folder)                                                                           \
    {                                                                                              \
        .dir = -1, .lock = -1                                                                      \
    }

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

/* folder_file.c */

/* What is wrong with a file of ours, or NULL: it is a link, another user's and so on. Its mode is
 * looked at when the folder is opened. */
const char *dsql_folder_file_fault(const struct stat *st);

/* Up to cap bytes of the file. DSQL_NOT_FOUND if there is none; *len is untouched on failure. */
DSQL_MUST_USE enum dsql_rc dsql_folder_read(const struct dsql_folder *folder, const char *name,
                                            char *out, size_t cap, size_t *len,
                                            struct dsql_err *err);

/* Replaces the file, whole or not at all. */
DSQL_MUST_USE enum dsql_rc dsql_folder_write(const struct dsql_folder *folder, const char *name,
                                             mode_t mode, struct dsql_span bytes,
                                             struct dsql_err *err);

/* A descriptor that adds to the file and can read it, for the caller to close; -1 and errno. */
int dsql_folder_append(const struct dsql_folder *folder, const char *name);

void dsql_folder_unlink(const struct dsql_folder *folder, const char *name);

/* A folder of PostgreSQL's inside; *made: it was not there. */
DSQL_MUST_USE enum dsql_rc dsql_folder_sub(const struct dsql_folder *folder, const char *name,
                                           bool *made, struct dsql_err *err);

/* folder_remove.c: removes all that is in it, PostgreSQL's as PostgreSQL's user. */
void dsql_folder_empty(const struct dsql_folder *folder);

#endif

#include "local/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/span.h"
enum { PATH_MOST = 80 }; /* a Unix socket's path has room for 107 bytes */

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    (void)remove(path);
    return 0;
}

/* A folder that exists must be ours or empty: it is handed to PostgreSQL's user. */
static bool may_use(const char *folder, bool *was_empty)
{
    char ours[DSQL_LOCAL_PATH_MAX];
    (void)snprintf(ours, sizeof(ours), "%.200s/lock", folder);
    DIR *dir = opendir(folder);
    if (!dir)
        return errno == ENOENT;
    bool empty = true;
    for (const struct dirent *entry; (entry = readdir(dir));)
        empty = empty && entry->d_name[0] == '.' &&
                (entry->d_name[1] == '\0' || (entry->d_name[1] == '.' && entry->d_name[2] == '\0'));
    closedir(dir);
    *was_empty = empty;
    return empty || access(ours, F_OK) == 0;
}

/* Whether PostgreSQL's user gets through to the folder: parents may be closed to it. */
static enum dsql_rc check_way(const char *path, struct dsql_err *err)
{
    uid_t uid;
    gid_t gid;
    char part[DSQL_LOCAL_PATH_MAX];
    enum dsql_rc rc = dsql_postgres_user(&uid, &gid, err);
    if (rc || uid == geteuid())
        return rc;
    for (size_t i = 1; path[i] != '\0' && !rc; i++) {
        if (path[i] != '/')
            continue;
        memcpy(part, path, i);
        part[i] = '\0';
        if (setegid(gid) != 0 || seteuid(uid) != 0)
            rc = dsql_err_set(err, DSQL_IO, "can't look as user %u: %s", (unsigned)uid,
                              strerror(errno));
        bool open = rc || faccessat(AT_FDCWD, part, X_OK, AT_EACCESS) == 0;
        if (seteuid(0) != 0 || setegid(0) != 0)
            abort(); /* we would go on as somebody else */
        if (!open) {
            rc = dsql_err_set(err, DSQL_INVALID,
                              "PostgreSQL runs as user %u, who can't enter %.150s", (unsigned)uid,
                              part);
            dsql_err_hint(err, "choose another --data (or TMPDIR), or chmod o+x %.150s", part);
        }
    }
    return rc;
}

static enum dsql_rc make_folder(struct dsql_folder *folder, const char *path, struct dsql_err *err)
{
    const char *parent = getenv("TMPDIR");
    int len = path ? snprintf(folder->path, sizeof(folder->path), "%s", path)
                   : snprintf(folder->path, sizeof(folder->path), "%s/dsql-local-XXXXXX",
                              parent && parent[0] ? parent : "/tmp");
    if (len < 0 || len > PATH_MOST)
        return dsql_err_set(err, DSQL_INVALID, "the path %.100s is too long: at most %d characters",
                            folder->path, PATH_MOST);
    if (path && !may_use(path, &folder->was_empty))
        return dsql_err_set(err, DSQL_INVALID,
                            "%.200s is not empty and not a folder of dsql local; choose another",
                            path);
    folder->made = path ? mkdir(path, 0711) == 0 : mkdtemp(folder->path) != NULL;
    folder->throwaway = !path && folder->made;
    if ((!folder->made && !(path && errno == EEXIST)) || chmod(folder->path, 0711) != 0)
        return dsql_err_set(err, DSQL_IO, "can't make %.200s: %s", folder->path, strerror(errno));
    char *absolute = realpath(folder->path, NULL);
    if (!absolute || strlen(absolute) > PATH_MOST) {
        free(absolute);
        return dsql_err_set(err, DSQL_INVALID, "can't use %.200s", folder->path);
    }
    (void)snprintf(folder->path, sizeof(folder->path), "%s", absolute);
    free(absolute);
    return check_way(folder->path, err);
}

void dsql_folder_path(const struct dsql_folder *folder, const char *name,
                      char (*out)[DSQL_LOCAL_PATH_MAX])
{
    int len = snprintf(*out, sizeof(*out), "%s/%s", folder->path, name);
    assert(len > 0 && (size_t)len < sizeof(*out));
}

static enum dsql_rc lock_folder(struct dsql_folder *folder, struct dsql_err *err)
{
    char path[DSQL_LOCAL_PATH_MAX];
    dsql_folder_path(folder, "lock", &path);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        folder->lock = fd;
        return DSQL_OK;
    }
    enum dsql_rc rc =
        errno == EWOULDBLOCK
            ? dsql_err_set(err, DSQL_INVALID, "%.200s is in use by another dsql local",
                           folder->path)
            : dsql_err_set(err, DSQL_IO, "can't lock %.200s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return rc;
}

/* The number in the file `layout`: 0 if the folder is new, 1 if it is older than the file. */
static int64_t layout_of(const struct dsql_folder *folder)
{
    char path[DSQL_LOCAL_PATH_MAX], text[32];
    int64_t layout = 1;
    dsql_folder_path(folder, "layout", &path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        dsql_folder_path(folder, "pg", &path);
        return access(path, F_OK) == 0;
    }
    ssize_t got = read(fd, text, sizeof(text));
    close(fd);
    struct dsql_span number = dsql_span_trim((struct dsql_span){text, got > 0 ? (size_t)got : 0});
    return dsql_span_to_i64(number, &layout) ? layout : 1;
}

static enum dsql_rc write_layout(const struct dsql_folder *folder, struct dsql_err *err)
{
    char path[DSQL_LOCAL_PATH_MAX];
    dsql_folder_path(folder, "layout", &path);
    FILE *out = fopen(path, "we");
    bool ok = out && fprintf(out, "%d\n", DSQL_LOCAL_LAYOUT) > 0;
    if (out && fclose(out) != 0)
        ok = false;
    return ok ? DSQL_OK
              : dsql_err_set(err, DSQL_IO, "can't write %.200s: %s", path, strerror(errno));
}

enum dsql_rc dsql_folder_brought_up(struct dsql_folder *folder, struct dsql_err *err)
{
    enum dsql_rc rc = folder->older ? write_layout(folder, err) : DSQL_OK;
    folder->older = folder->older && rc;
    return rc;
}

static enum dsql_rc check_layout(struct dsql_folder *folder, struct dsql_err *err)
{
    int64_t layout = layout_of(folder);
    if (layout != 0) /* somebody was faster: what is there is not ours to remove */
        folder->made = folder->was_empty = false;
    folder->older = layout >= DSQL_LOCAL_LAYOUT_OLDEST && layout < DSQL_LOCAL_LAYOUT;
    if (layout == DSQL_LOCAL_LAYOUT || folder->older)
        return DSQL_OK;
    if (layout != 0) {
        (void)dsql_err_set(err, DSQL_INVALID,
                           "%.150s was made by another version of dsql (layout %lld, not %d)",
                           folder->path, (long long)layout, DSQL_LOCAL_LAYOUT);
        dsql_err_hint(err, "choose another --data, or remove the folder if its data may go");
        return DSQL_INVALID;
    }
    return write_layout(folder, err);
}

enum dsql_rc dsql_folder_open(struct dsql_folder *folder, const char *path, struct dsql_err *err)
{
    *folder = (struct dsql_folder){.lock = -1};
    enum dsql_rc rc = make_folder(folder, path, err);
    if (!rc)
        rc = lock_folder(folder, err);
    if (!rc)
        rc = check_layout(folder, err);
    if (rc)
        dsql_folder_undo(folder);
    return rc;
}

static int remove_inside(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    return ftw->level > 0 ? remove_one(path, st, kind, ftw) : 0;
}

void dsql_folder_undo(struct dsql_folder *folder)
{
    /* Nobody else's: without the lock, another one came first. */
    bool ours = folder->lock >= 0 || folder->throwaway;
    if (folder->made && folder->path[0])
        (void)(ours ? nftw(folder->path, remove_one, 16, FTW_DEPTH | FTW_PHYS)
                    : rmdir(folder->path));
    else if (folder->was_empty && ours)
        (void)nftw(folder->path, remove_inside, 16, FTW_DEPTH | FTW_PHYS);
    folder->throwaway = false;
    dsql_folder_close(folder);
}

void dsql_folder_close(struct dsql_folder *folder)
{
    if (folder->throwaway)
        (void)nftw(folder->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (folder->lock >= 0)
        close(folder->lock);
    *folder = (struct dsql_folder){.lock = -1};
}

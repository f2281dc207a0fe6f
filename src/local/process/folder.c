#include "local/process/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/shown.h"

enum { PATH_MOST = 80 }; /* a Unix socket's path has room for 107 bytes */

#define OURS_MODE 0711 /* PostgreSQL's user passes through and sees nothing */

static enum dsql_rc refuse(const char *path, const char *why, const char *hint,
                           struct dsql_err *err)
{
    (void)dsql_err_set(err, DSQL_INVALID, "%.150s can't be used: %s", path, why);
    dsql_err_hint(err, "%.100s, or choose another --data", hint);
    return DSQL_INVALID;
}

/* Whether PostgreSQL's user gets through to the folder: parents may be closed to it. */
static enum dsql_rc check_way(const struct dsql_folder *folder, struct dsql_err *err)
{
    const struct dsql_local_user *user = &folder->user;
    char part[DSQL_LOCAL_PATH_MAX];
    enum dsql_rc rc = DSQL_OK;
    if (user->uid == geteuid())
        return DSQL_OK;
    for (size_t i = 1; folder->path[i] != '\0' && !rc; i++) {
        if (folder->path[i] != '/')
            continue;
        memcpy(part, folder->path, i);
        part[i] = '\0';
        if (setegid(user->gid) != 0 || seteuid(user->uid) != 0)
            rc = dsql_err_set(err, DSQL_IO, "can't look as user %u: %s", (unsigned)user->uid,
                              strerror(errno));
        bool open = rc || faccessat(AT_FDCWD, part, X_OK, AT_EACCESS) == 0;
        if (seteuid(0) != 0 || setegid(0) != 0)
            abort(); /* we would go on as another user */
        if (!open) {
            rc = dsql_err_set(err, DSQL_INVALID,
                              "PostgreSQL runs as user %u, who can't enter %.150s",
                              (unsigned)user->uid, part);
            dsql_err_hint(err, "choose another --data (or TMPDIR), or chmod o+x %.150s", part);
        }
    }
    return rc;
}

/* Whether nothing is in it. */
static bool is_empty(const struct dsql_folder *folder)
{
    int fd = openat(folder->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    bool empty = dir != NULL;
    for (const struct dirent *entry; empty && (entry = readdir(dir));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (dir)
        (void)closedir(dir);
    else if (fd >= 0)
        close(fd);
    return empty;
}

/* Colons, commas and quotes separate paths in PostgreSQL's settings, line breaks the variables that
 * name files in the folder. */
static bool has_odd_characters(const char *path)
{
    for (; *path; path++)
        if ((unsigned char)*path < ' ' || *path == 0x7f || strchr(":,\"", *path))
            return true;
    return false;
}

/* Makes it if it is not there, and opens it as it is. */
static enum dsql_rc make_folder(struct dsql_folder *folder, const char *path, struct dsql_err *err)
{
    struct stat st, named;
    const char *parent = getenv("TMPDIR");
    int len = path ? snprintf(folder->path, sizeof(folder->path), "%s", path)
                   : snprintf(folder->path, sizeof(folder->path), "%s/dsql-local-XXXXXX",
                              parent && parent[0] ? parent : "/tmp");
    if (len < 0 || len > PATH_MOST)
        return dsql_err_set(err, DSQL_INVALID, "the path %.100s is too long: at most %d characters",
                            folder->path, PATH_MOST);
    if (has_odd_characters(folder->path))
        return dsql_err_set(
            err, DSQL_INVALID,
            "the path %s may have no colon, comma, double quote or control character",
            dsql_shown_str(folder->path).text);
    while (len > 1 && folder->path[len - 1] == '/')
        folder->path[--len] = '\0'; /* behind a slash a link would be followed */
    folder->made = path ? mkdir(folder->path, OURS_MODE) == 0 : mkdtemp(folder->path) != NULL;
    folder->throwaway = !path && folder->made;
    if (!folder->made && !(path && errno == EEXIST))
        return dsql_err_set(err, DSQL_IO, "can't make %.200s: %s", folder->path, strerror(errno));
    folder->dir = open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder->dir < 0 && lstat(folder->path, &st) == 0 && S_ISLNK(st.st_mode))
        return refuse(folder->path, "it is a link", "name the folder itself", err);
    char *absolute = folder->dir >= 0 ? realpath(folder->path, NULL) : NULL;
    bool ok = absolute && strlen(absolute) <= PATH_MOST && !has_odd_characters(absolute) &&
              fstat(folder->dir, &st) == 0 && stat(absolute, &named) == 0 &&
              st.st_dev == named.st_dev && st.st_ino == named.st_ino;
    if (ok)
        (void)snprintf(folder->path, sizeof(folder->path), "%s", absolute);
    free(absolute);
    return ok ? check_way(folder, err)
              : dsql_err_set(err, DSQL_INVALID, "can't use %.200s", folder->path);
}

void dsql_folder_path(const struct dsql_folder *folder, const char *name,
                      char (*out)[DSQL_LOCAL_PATH_MAX])
{
    int len = snprintf(*out, sizeof(*out), "%s/%s", folder->path, name);
    assert(len > 0 && (size_t)len < sizeof(*out));
}

/* The number in the file `layout`: 0 if the folder is new, 1 if it is older than the file. */
static enum dsql_rc read_layout(const struct dsql_folder *folder, int64_t *layout,
                                struct dsql_err *err)
{
    char text[32];
    size_t len = 0;
    enum dsql_rc rc = dsql_folder_read(folder, "layout", text, sizeof(text), &len, err);
    *layout = 1;
    if (rc == DSQL_NOT_FOUND) {
        *layout = faccessat(folder->dir, "pg", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
        return DSQL_OK;
    }
    if (!rc)
        (void)dsql_span_to_i64(dsql_span_trim((struct dsql_span){text, len}), layout);
    return rc;
}

static bool is_older(int64_t layout)
{
    return layout >= DSQL_LOCAL_LAYOUT_OLDEST && layout < DSQL_LOCAL_LAYOUT;
}

/*
 * A folder that was there must be empty, or one of ours. Up to layout 4 the folder belonged to
 * PostgreSQL's user: such a one is taken over, after which that user can't change it any more, and
 * then looked at like every other one.
 */
static enum dsql_rc check_owner(struct dsql_folder *folder, struct dsql_err *err)
{
    struct stat st;
    int64_t layout = 0;
    char why[80];
    if (fstat(folder->dir, &st) != 0)
        return dsql_err_set(err, DSQL_IO, "can't look at %.200s: %s", folder->path,
                            strerror(errno));
    folder->was_empty = !folder->made && is_empty(folder);
    bool fresh = folder->made || folder->was_empty, theirs = st.st_uid != geteuid();
    if (!fresh && faccessat(folder->dir, "lock", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        return dsql_err_set(err, DSQL_INVALID,
                            "%.200s is not empty and not a folder of dsql local; choose another",
                            folder->path);
    if (!fresh && st.st_mode & (S_IWGRP | S_IWOTH))
        return refuse(folder->path, "others may write in it, so what is there may be theirs",
                      "look at what is in it and chmod go-w it", err);
    /* A layout that can't be read is told apart below, by what is wrong with the file. */
    folder->older = !fresh && !read_layout(folder, &layout, err) && is_older(layout);
    if (theirs && !(st.st_uid == folder->user.uid && (fresh || folder->older))) {
        (void)snprintf(why, sizeof(why), "it belongs to user %u, not to user %u",
                       (unsigned)st.st_uid, (unsigned)geteuid());
        return refuse(folder->path, why, "look at what is in it and chown it", err);
    }
    if ((theirs && fchown(folder->dir, geteuid(), getegid()) != 0) ||
        fchmod(folder->dir, OURS_MODE) != 0)
        return dsql_err_set(err, DSQL_IO, "can't take %.200s over: %s", folder->path,
                            strerror(errno));
    return folder->was_empty && !is_empty(folder)
               ? refuse(folder->path, "another program writes in it", "look at what is in it", err)
               : DSQL_OK;
}

static enum dsql_rc lock_folder(struct dsql_folder *folder, struct dsql_err *err)
{
    int fd = dsql_folder_append(folder, "lock");
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) {
        folder->lock = fd;
        return DSQL_OK;
    }
    enum dsql_rc rc = errno == EWOULDBLOCK
                          ? dsql_err_set(err, DSQL_INVALID,
                                         "%.200s is in use by another dsql local", folder->path)
                          : dsql_err_set(err, DSQL_IO, "can't lock %.200s/lock: %s", folder->path,
                                         strerror(errno));
    if (fd >= 0)
        close(fd);
    return rc;
}

static enum dsql_rc check_layout(struct dsql_folder *folder, struct dsql_err *err)
{
    int64_t layout;
    enum dsql_rc rc = read_layout(folder, &layout, err);
    if (rc)
        return rc;
    if (layout != 0) /* another process was faster: what is there is not ours to remove */
        folder->made = folder->was_empty = false;
    folder->older = is_older(layout);
    if (layout == DSQL_LOCAL_LAYOUT || folder->older)
        return DSQL_OK;
    if (layout == 0) {
        folder->older = true;
        rc = dsql_folder_brought_up(folder, err);
        folder->older = false;
        return rc;
    }
    (void)dsql_err_set(err, DSQL_INVALID,
                       "%.150s was made by another version of dsql (layout %lld, not %d)",
                       folder->path, (long long)layout, DSQL_LOCAL_LAYOUT);
    dsql_err_hint(err, "choose another --data, or remove the folder if its data may go");
    return DSQL_INVALID;
}

/* What is wrong with one of PostgreSQL's folders, or NULL. */
static const char *sub_fault(const struct dsql_folder *folder, const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return "it is a link";
    if (!S_ISDIR(st->st_mode))
        return "it is not a folder";
    if (st->st_uid != folder->user.uid)
        return "it does not belong to PostgreSQL's user";
    return NULL;
}

/* Looks at everything in it that has a meaning for us. */
static enum dsql_rc check_entries(const struct dsql_folder *folder, struct dsql_err *err)
{
    static const struct {
        const char *name;
        bool theirs;
    } entries[] = {{"lock", false},
                   {"layout", false},
                   {"keys", false},
                   {"ca.pem", false},
                   {"ca.key", false},
                   {"first_sql", false},
                   {"dsql_module.so", false},
                   {"postgres.log", false},
                   {"env", false},
                   {"pg", true},
                   {"run", true}};
    for (size_t i = 0; i < DSQL_COUNT_OF(entries); i++) {
        struct stat st;
        char path[DSQL_LOCAL_PATH_MAX];
        if (fstatat(folder->dir, entries[i].name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        const char *why = entries[i].theirs ? sub_fault(folder, &st) : dsql_folder_file_fault(&st);
        /* Earlier versions left the mode of some files to the umask. */
        if (!why && st.st_mode & (S_IWGRP | S_IWOTH) &&
            !(folder->older && fchmodat(folder->dir, entries[i].name, st.st_mode & 0755, 0) == 0))
            why = "others may write it";
        if (!why)
            continue;
        dsql_folder_path(folder, entries[i].name, &path);
        return refuse(path, why, "look at it and at what else is in the folder, remove it", err);
    }
    return DSQL_OK;
}

enum dsql_rc dsql_folder_brought_up(struct dsql_folder *folder, struct dsql_err *err)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "%d\n", DSQL_LOCAL_LAYOUT);
    enum dsql_rc rc = DSQL_OK;
    if (folder->older)
        rc = dsql_folder_write(folder, "layout", 0600, (struct dsql_span){text, (size_t)len}, err);
    folder->older = folder->older && rc;
    return rc;
}

enum dsql_rc dsql_folder_open(struct dsql_folder *folder, const char *path, struct dsql_err *err)
{
    *folder = DSQL_FOLDER_NONE;
    enum dsql_rc rc = dsql_local_user_find(&folder->user, err);
    if (!rc)
        rc = make_folder(folder, path, err);
    if (!rc)
        rc = check_owner(folder, err);
    if (!rc)
        rc = check_entries(folder, err);
    if (!rc)
        rc = lock_folder(folder, err);
    if (!rc)
        rc = check_layout(folder, err);
    if (rc)
        dsql_folder_undo(folder);
    return rc;
}

/* Removes the folder itself, which is empty, unless another one bears its name by now. */
static void remove_self(const struct dsql_folder *folder)
{
    struct stat st, named;
    if (folder->dir >= 0 && fstat(folder->dir, &st) == 0 && lstat(folder->path, &named) == 0 &&
        st.st_dev == named.st_dev && st.st_ino == named.st_ino)
        (void)rmdir(folder->path);
}

void dsql_folder_undo(struct dsql_folder *folder)
{
    /* Only our own: without the lock, another process came first. */
    bool ours = folder->lock >= 0 || folder->throwaway;
    if (ours && (folder->made || folder->was_empty))
        dsql_folder_empty(folder);
    if (folder->made)
        remove_self(folder);
    folder->throwaway = false;
    dsql_folder_close(folder);
}

void dsql_folder_close(struct dsql_folder *folder)
{
    if (folder->throwaway) {
        dsql_folder_empty(folder);
        remove_self(folder);
    }
    if (folder->lock >= 0)
        close(folder->lock);
    if (folder->dir >= 0)
        close(folder->dir);
    *folder = DSQL_FOLDER_NONE;
}

/* The files in the folder: read, replaced and added to without following a link. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "local/process/folder.h"

enum { NAME_MOST = 64 };

const char *dsql_folder_file_fault(const struct stat *st)
{
    if (S_ISLNK(st->st_mode))
        return "it is a link";
    if (!S_ISREG(st->st_mode))
        return "it is not a file";
    if (st->st_uid != geteuid())
        return "it belongs to another user";
    if (st->st_nlink != 1)
        return "it has a second name elsewhere";
    return NULL;
}

static enum dsql_rc cant(const struct dsql_folder *folder, const char *what, const char *name,
                         struct dsql_err *err)
{
    return dsql_err_set(err, errno == ENOENT ? DSQL_NOT_FOUND : DSQL_IO, "can't %s %.150s/%s: %s",
                        what, folder->path, name, strerror(errno));
}

/* Opens a file of ours; what is not is refused with EPERM. */
static int open_ours(const struct dsql_folder *folder, const char *name, int flags)
{
    struct stat st;
    int fd = openat(folder->dir, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0 || (fstat(fd, &st) == 0 && !dsql_folder_file_fault(&st)))
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

enum dsql_rc dsql_folder_read(const struct dsql_folder *folder, const char *name, char *out,
                              size_t cap, size_t *len, struct dsql_err *err)
{
    size_t have = 0;
    ssize_t got = 0;
    int fd = open_ours(folder, name, O_RDONLY);
    if (fd < 0)
        return cant(folder, "read", name, err);
    while (have < cap && (got = read(fd, out + have, cap - have)) != 0) {
        if (got > 0)
            have += (size_t)got;
        else if (errno != EINTR)
            break;
    }
    enum dsql_rc rc = got < 0 ? cant(folder, "read", name, err) : DSQL_OK;
    close(fd);
    if (!rc)
        *len = have;
    return rc;
}

static bool write_all(int fd, struct dsql_span bytes)
{
    while (bytes.len > 0) {
        ssize_t wrote = write(fd, bytes.ptr, bytes.len);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        bytes = dsql_span_from(bytes, (size_t)wrote);
    }
    return true;
}

enum dsql_rc dsql_folder_write(const struct dsql_folder *folder, const char *name, mode_t mode,
                               struct dsql_span bytes, struct dsql_err *err)
{
    char draft[NAME_MOST];
    int len = snprintf(draft, sizeof(draft), "%s.new", name);
    assert(len > 0 && (size_t)len < sizeof(draft));
    (void)unlinkat(folder->dir, draft, 0); /* of a start that was killed */
    int fd = openat(folder->dir, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    /* fchmod: whatever the umask. rename: a process that has the old file open or mapped keeps it.
     */
    bool ok = fd >= 0 && write_all(fd, bytes) && fchmod(fd, mode) == 0;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    if (ok && renameat(folder->dir, draft, folder->dir, name) == 0)
        return DSQL_OK;
    return dsql_err_set(err, DSQL_IO, "can't write %.150s/%s: %s", folder->path, name,
                        strerror(errno));
}

int dsql_folder_append(const struct dsql_folder *folder, const char *name)
{
    return open_ours(folder, name, O_RDWR | O_APPEND | O_CREAT);
}

void dsql_folder_unlink(const struct dsql_folder *folder, const char *name)
{
    (void)unlinkat(folder->dir, name, 0);
}

enum dsql_rc dsql_folder_sub(const struct dsql_folder *folder, const char *name, bool *made,
                             struct dsql_err *err)
{
    *made = mkdirat(folder->dir, name, 0700) == 0;
    if (!*made) /* one that was there was looked at when the folder was opened */
        return errno == EEXIST ? DSQL_OK : cant(folder, "make", name, err);
    if (folder->user.uid != geteuid() &&
        fchownat(folder->dir, name, folder->user.uid, folder->user.gid, AT_SYMLINK_NOFOLLOW) != 0)
        return cant(folder, "hand over", name, err);
    return DSQL_OK;
}

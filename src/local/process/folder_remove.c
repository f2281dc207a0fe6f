/*
 * Removing what is in the folder. PostgreSQL's part may hold anything that the SQL of a client
 * could make PostgreSQL write: a child that has become PostgreSQL's user removes it, so that
 * whatever it meets there, it can do no more than that user could have done itself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "local/process/folder.h"

enum { DEPTH_MOST = 64 }; /* PostgreSQL's own are less than ten deep */

/* An entry's folder, never what a link points at; -1 if it is none. */
static int open_inside(int dir, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(dir, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0700, 0) == 0)
        fd = openat(dir, name, flags);
    return fd;
}

/* Removes what the open folder holds, and closes it. */
static void remove_inside(int fd, int depth) // NOLINT(misc-no-recursion): bounded by DEPTH_MOST
{
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            unlinkat(fd, entry->d_name, 0) == 0 || depth == DEPTH_MOST)
            continue;
        remove_inside(open_inside(fd, entry->d_name), depth + 1);
        (void)unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
    (void)closedir(dir);
}

void dsql_folder_empty(const struct dsql_folder *folder)
{
    static const char *const theirs[] = {"pg", "run"};
    pid_t child = fork();
    if (child == 0) {
        bool ok = dsql_local_user_become(&folder->user);
        for (size_t i = 0; i < DSQL_COUNT_OF(theirs) && ok; i++)
            remove_inside(open_inside(folder->dir, theirs[i]), 0);
        _exit(!ok);
    }
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    for (size_t i = 0; i < DSQL_COUNT_OF(theirs); i++)
        (void)unlinkat(folder->dir, theirs[i], AT_REMOVEDIR);
    /* The rest is ours, and has no folders. */
    int fd = openat(folder->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (!dir && fd >= 0)
        close(fd);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        (void)unlinkat(fd, entry->d_name, 0);
    if (dir)
        (void)closedir(dir);
}

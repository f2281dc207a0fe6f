#include "local/module_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* module_bytes.S */
extern const char dsql_module_bytes[];
extern const uint64_t dsql_module_size;

static bool write_all(int fd, const char *at, size_t left)
{
    while (left > 0) {
        ssize_t wrote = write(fd, at, left);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        at += wrote;
        left -= (size_t)wrote;
    }
    return true;
}

enum dsql_rc dsql_module_write(const char *folder, struct dsql_err *err)
{
    char path[512], fresh[520];
    (void)snprintf(path, sizeof(path), "%.400s/" DSQL_MODULE_NAME ".so", folder);
    (void)snprintf(fresh, sizeof(fresh), "%s.new", path);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    /* fchmod: whatever the umask. rename: a PostgreSQL on its way out may still have it mapped. */
    bool ok =
        fd >= 0 && fchmod(fd, 0644) == 0 && write_all(fd, dsql_module_bytes, dsql_module_size);
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    if (ok && rename(fresh, path) == 0)
        return DSQL_OK;
    return dsql_err_set(err, DSQL_IO, "can't write %.200s: %s", path, strerror(errno));
}

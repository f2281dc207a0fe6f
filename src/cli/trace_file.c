#include "cli/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/shown.h"

enum dsql_rc dsql_trace_file_map(const char *path, struct dsql_span *file, struct dsql_err *err)
{
    struct stat st = {0};
    const char *why = NULL;
    void *memory = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0)
        why = strerror(errno);
    else if (!S_ISREG(st.st_mode))
        why = "this is no file";
    else if (st.st_size > 0 &&
             (memory = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)) == MAP_FAILED)
        why = strerror(errno);
    if (fd >= 0)
        (void)close(fd);
    if (why)
        return dsql_err_set(err, DSQL_IO, "%s: %s", dsql_shown_str(path).text, why);
    *file = (struct dsql_span){memory, (size_t)st.st_size};
    return DSQL_OK;
}

void dsql_trace_file_unmap(struct dsql_span file)
{
    if (file.len > 0)
        (void)munmap((void *)(uintptr_t)file.ptr, file.len);
}

void dsql_trace_file_blame(const char *path, struct dsql_err *err)
{
    struct dsql_err in_file = *err;
    (void)dsql_err_set(err, in_file.rc, "%s: %s", dsql_shown_str(path).text, in_file.message);
    dsql_err_hint(err, "%s", in_file.hint);
}

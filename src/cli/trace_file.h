/* The file of a recording, as memory, for `dsql sim replay` and `dsql sim run --from-trace`. */
#ifndef DSQL_CLI_TRACE_FILE_H
#define DSQL_CLI_TRACE_FILE_H

#include "base/span.h"

/* The bytes of the file, to be unmapped. A pool may write it meanwhile, but never makes it shorter.
 * DSQL_IO. */
DSQL_MUST_USE enum dsql_rc dsql_trace_file_map(const char *path, struct dsql_span *file,
                                               struct dsql_err *err);
void dsql_trace_file_unmap(struct dsql_span file);
/* Puts the file's name in front of what is wrong with it. */
void dsql_trace_file_blame(const char *path, struct dsql_err *err);

#endif

/*
 * A small file of trusted roots. libpq parses the whole file for each connection: the 140 roots of
 * a system's bundle cost it 40 ms and 0.9 MB each time, the five of Amazon 2 ms and 0.15 MB.
 */
#ifndef DSQL_POOL_ROOTS_H
#define DSQL_POOL_ROOTS_H

#include "base/defs.h"

/*
 * Writes those certificates of the bundle that are Amazon's into a file that exists only in memory.
 * *fd is the caller's to close; path, of at least 64 bytes, is how this process opens it. Answers
 * how many there are; 0 if the bundle can't be read or has none: then there is no file.
 */
size_t dsql_roots_make(const char *bundle, int *fd, char *path, size_t path_size);

/* The first of the usual places that holds a bundle; NULL if none does. */
const char *dsql_roots_bundle(void);

#endif

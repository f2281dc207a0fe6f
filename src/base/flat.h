/*
 * Values behind each other in one piece of memory, for callers in other languages: each is an
 * int32_t length in the machine's order, -1 for NULL, and so many bytes. The memory belongs to the
 * caller's struct.
 */
#ifndef DSQL_BASE_FLAT_H
#define DSQL_BASE_FLAT_H

#include "base/defs.h"
#include "dsql/slice.h"

/* The bytes that a value takes. */
size_t dsql_flat_size(size_t len);

/* Grows *data, of *cap bytes, to at least need bytes; false if there is no memory. */
DSQL_MUST_USE bool dsql_flat_reserve(unsigned char **data, size_t *cap, size_t need);

/* Writes a value, NULL if bytes is NULL, where there is room for it; returns the bytes it takes. */
size_t dsql_flat_put(unsigned char *at, const void *bytes, size_t len);

/* Reads a value, in place: ptr is NULL for NULL. Returns the bytes it takes. */
size_t dsql_flat_get(const unsigned char *at, struct dsql_slice *value);

#endif

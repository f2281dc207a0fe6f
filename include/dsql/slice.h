/* Bytes, ids and NULL in the structs of dsql/temporal_ops.h, which is made from the catalogue of
 * the store. */
#ifndef DSQL_SLICE_H
#define DSQL_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that the slice does not own. A UUID that may be NULL is a slice of 16 bytes, or one
 * whose ptr is NULL. */
struct dsql_slice {
    const void *ptr; /* NULL is NULL where that is allowed, and empty elsewhere */
    size_t len;
};
struct dsql_id {
    unsigned char bytes[16];
};

/* A slice of these bytes, which stay the caller's. */
static inline struct dsql_slice dsql_slice(const void *ptr, size_t len)
{
    struct dsql_slice s = {ptr, len};
    return s;
}

/* A slice of a terminated text; a NULL text makes a NULL slice. */
static inline struct dsql_slice dsql_slice_str(const char *text)
{
    return dsql_slice(text, text ? strlen(text) : 0);
}

#define DSQL_NULL_I64 INT64_MIN /* NULL in numbers and times that may be NULL */

#ifdef __cplusplus
}
#endif
#endif

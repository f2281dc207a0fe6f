#include "base/flat.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 256 };

size_t dsql_flat_size(size_t len)
{
    return sizeof(int32_t) + len;
}

bool dsql_flat_reserve(unsigned char **data, size_t *cap, size_t need)
{
    size_t wanted = *cap ? *cap : FIRST_CAP;
    if (need <= *cap)
        return true;
    while (wanted < need)
        wanted *= 2;
    unsigned char *grown = realloc(*data, wanted);
    if (!grown)
        return false;
    *data = grown;
    *cap = wanted;
    return true;
}

size_t dsql_flat_put(unsigned char *at, const void *bytes, size_t len)
{
    int32_t length = bytes ? (int32_t)len : -1;
    memcpy(at, &length, sizeof(length));
    if (length > 0)
        memmove(at + sizeof(length), bytes, len); /* the value may have been made in place */
    return dsql_flat_size(bytes ? len : 0);
}

size_t dsql_flat_get(const unsigned char *at, struct dsql_slice *value)
{
    int32_t length;
    memcpy(&length, at, sizeof(length));
    *value = dsql_slice(length >= 0 ? at + sizeof(length) : NULL, length > 0 ? (size_t)length : 0);
    return dsql_flat_size(value->len);
}

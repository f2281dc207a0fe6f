#include "base/secret.h"

#include <stdlib.h>

enum dsql_rc dsql_secret_set(struct dsql_secret *secret, struct dsql_span s)
{
    char *copy = malloc(s.len + 1);
    if (!copy)
        return DSQL_NO_MEMORY;
    if (s.len > 0)
        memcpy(copy, s.ptr, s.len);
    copy[s.len] = '\0';
    dsql_secret_fini(secret);
    secret->bytes_ = copy;
    secret->len_ = s.len;
    return DSQL_OK;
}

void dsql_secret_fini(struct dsql_secret *secret)
{
    if (secret->bytes_) {
        explicit_bzero(secret->bytes_, secret->len_);
        free(secret->bytes_);
    }
    *secret = (struct dsql_secret){0};
}

bool dsql_span_eq_secretly(struct dsql_span a, struct dsql_span b)
{
    if (a.len != b.len)
        return false;
    volatile unsigned char difference = 0;
    for (size_t i = 0; i < a.len; i++)
        difference = (unsigned char)(difference | (a.ptr[i] ^ b.ptr[i]));
    return difference == 0;
}

bool dsql_secret_eq(const struct dsql_secret *a, const struct dsql_secret *b)
{
    return dsql_span_eq_secretly(dsql_revealed_span(dsql_secret_reveal(a)),
                                 dsql_revealed_span(dsql_secret_reveal(b)));
}

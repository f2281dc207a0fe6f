#include "visibility/token.h"

enum { VERSION = 1, RUN_ID_MAX = 1024 };

/* FNV-1a. */
static uint64_t digest(uint64_t hash, struct dsql_span bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        hash = (hash ^ (unsigned char)bytes.ptr[i]) * UINT64_C(1099511628211);
    return hash;
}

uint64_t dsql_vis_digest(struct dsql_span namespace_id, struct dsql_span expr)
{
    uint64_t hash = digest(UINT64_C(14695981039346656037), namespace_id);
    return digest(digest(hash, (struct dsql_span){"", 1}), expr);
}

static void put(char *out, uint64_t number)
{
    for (int i = 7; i >= 0; i--, number >>= 8)
        out[i] = (char)(number & 0xff);
}

static uint64_t get(const char *bytes)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number = number << 8 | (unsigned char)bytes[i];
    return number;
}

void dsql_vis_token_put(uint64_t digest_of_query, const struct dsql_vis_position *position,
                        char *out)
{
    out[0] = VERSION;
    put(out + 1, digest_of_query);
    put(out + 9, (uint64_t)position->close_inv);
    put(out + 17, (uint64_t)position->start_inv);
    if (position->run_id.len > 0)
        memcpy(out + DSQL_VIS_TOKEN_HEAD, position->run_id.ptr, position->run_id.len);
}

enum dsql_rc dsql_vis_token_read(struct dsql_span token, uint64_t digest_of_query,
                                 struct dsql_vis_position *position, struct dsql_err *err)
{
    if (token.len < DSQL_VIS_TOKEN_HEAD || token.len > DSQL_VIS_TOKEN_HEAD + RUN_ID_MAX ||
        token.ptr[0] != VERSION || !dsql_vis_is_text(dsql_span_from(token, DSQL_VIS_TOKEN_HEAD)))
        return dsql_err_set(err, DSQL_INVALID,
                            "the page token is not one of this visibility store: list again from "
                            "the first page");
    if (get(token.ptr + 1) != digest_of_query)
        return dsql_err_set(err, DSQL_INVALID,
                            "the page token belongs to another query or namespace: list again "
                            "from the first page");
    position->close_inv = (int64_t)get(token.ptr + 9);
    position->start_inv = (int64_t)get(token.ptr + 17);
    position->run_id = dsql_span_from(token, DSQL_VIS_TOKEN_HEAD);
    return DSQL_OK;
}

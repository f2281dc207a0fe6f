#include "temporal/tokens.h"

#include <stdlib.h>

#include "base/grow.h"
static bool has_pointer(const struct dsql_param *p)
{
    return p->kind == DSQL_PARAM_RAW || p->kind == DSQL_PARAM_BYTES || p->kind == DSQL_PARAM_UUID ||
           p->kind == DSQL_PARAM_TEXT;
}

static size_t piece_size(const struct dsql_param *p)
{
    return sizeof(int64_t) + (has_pointer(p) ? (size_t)p->len : 0);
}

static size_t key_size(const struct dsql_param *params, size_t keys)
{
    size_t size = 0;
    for (size_t i = 0; i < keys; i++)
        size += piece_size(&params[i]);
    return size;
}

/* Length and bytes, or the number: no two keys have the same form. NULL is a length of -1. */
static void write_key(unsigned char *out, const struct dsql_param *params, size_t keys)
{
    for (size_t i = 0; i < keys; i++) {
        const struct dsql_param *p = &params[i];
        int64_t head = p->kind == DSQL_PARAM_NULL ? -1 : has_pointer(p) ? p->len : p->as.i64;
        memcpy(out, &head, sizeof(head));
        if (has_pointer(p) && p->len > 0)
            memcpy(out + sizeof(head), p->as.ptr, (size_t)p->len);
        out += piece_size(p);
    }
}

static bool matches(const struct dsql_row_token_entry *entry, const struct dsql_param *params,
                    size_t keys)
{
    const unsigned char *at = entry->key;
    if (key_size(params, keys) != entry->key_len)
        return false;
    for (size_t i = 0; i < keys; i++) {
        const struct dsql_param *p = &params[i];
        int64_t head = p->kind == DSQL_PARAM_NULL ? -1 : has_pointer(p) ? p->len : p->as.i64;
        if (memcmp(at, &head, sizeof(head)) != 0 ||
            (has_pointer(p) && p->len > 0 &&
             memcmp(at + sizeof(head), p->as.ptr, (size_t)p->len) != 0))
            return false;
        at += piece_size(p);
    }
    return true;
}

void dsql_row_tokens_fini(struct dsql_row_tokens *tokens)
{
    for (size_t i = 0; i < tokens->count; i++)
        free(tokens->entries[i].key);
    free(tokens->entries);
    *tokens = (struct dsql_row_tokens){0};
}

void dsql_row_token_set(struct dsql_row_token *token, size_t i, const struct dsql_param *value)
{
    token->values[i] = *value;
    if (!has_pointer(value))
        return;
    assert(value->len == sizeof(token->bytes[i]));
    memcpy(token->bytes[i], value->as.ptr, sizeof(token->bytes[i]));
}

/* The pointers of a copy must lead into the copy. */
static void settle(struct dsql_row_token *token)
{
    for (size_t i = 0; i < DSQL_OP_TOKENS_MAX; i++)
        if (has_pointer(&token->values[i]))
            token->values[i].as.ptr = token->bytes[i];
}

static struct dsql_row_token_entry *find(const struct dsql_row_tokens *tokens,
                                         enum dsql_fence_what what, const struct dsql_param *params,
                                         size_t keys)
{
    for (size_t i = 0; i < tokens->count; i++)
        if (tokens->entries[i].what == what && matches(&tokens->entries[i], params, keys))
            return &tokens->entries[i];
    return NULL;
}

const struct dsql_row_token *dsql_row_tokens_find(const struct dsql_row_tokens *tokens,
                                                  enum dsql_fence_what what,
                                                  const struct dsql_param *params, size_t keys)
{
    struct dsql_row_token_entry *entry = find(tokens, what, params, keys);
    if (!entry)
        return NULL;
    settle(&entry->token); /* the list may have moved */
    return &entry->token;
}

enum dsql_rc dsql_row_tokens_remember(struct dsql_row_tokens *tokens, enum dsql_fence_what what,
                                      const struct dsql_param *params, size_t keys,
                                      const struct dsql_row_token *token)
{
    struct dsql_row_token_entry *entry = find(tokens, what, params, keys);
    if (entry) {
        entry->token = *token;
        return DSQL_OK;
    }
    if (!DSQL_GROW(tokens->entries, tokens->cap, tokens->count + 1))
        return DSQL_NO_MEMORY;
    size_t len = key_size(params, keys);
    assert(len > 0); /* every fence has a key */
    unsigned char *key = malloc(len);
    if (!key)
        return DSQL_NO_MEMORY;
    write_key(key, params, keys);
    tokens->entries[tokens->count++] = (struct dsql_row_token_entry){what, key, len, *token};
    return DSQL_OK;
}

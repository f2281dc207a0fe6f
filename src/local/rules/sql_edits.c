#include "local/rules/sql_edits.h"

#include <stdlib.h>

#include "base/grow.h"

void dsql_sql_edits_fini(struct dsql_sql_edits *edits)
{
    for (size_t i = 0; i < edits->count; i++)
        free(edits->list[i].put);
    free(edits->list);
    *edits = (struct dsql_sql_edits){.list = NULL};
}

enum dsql_rc dsql_sql_edits_add(struct dsql_sql_edits *edits, size_t at, size_t len,
                                const char *put)
{
    size_t i = edits->count; /* where the new one goes */
    while (i > 0 && (edits->list[i - 1].at > at ||
                     (edits->list[i - 1].at == at && len == 0 && edits->list[i - 1].len > 0)))
        i--;
    if (i > 0 && edits->list[i - 1].at + edits->list[i - 1].len > at)
        return DSQL_INVALID;
    if (i < edits->count && at + len > edits->list[i].at)
        return DSQL_INVALID;
    char *copy = strdup(put);
    if (!copy || !DSQL_GROW(edits->list, edits->cap, edits->count + 1)) {
        free(copy);
        return DSQL_NO_MEMORY;
    }
    memmove(&edits->list[i + 1], &edits->list[i], (edits->count - i) * sizeof(*edits->list));
    edits->list[i] = (struct dsql_sql_edit){at, len, copy};
    edits->count++;
    return DSQL_OK;
}

struct dsql_sql_edit *dsql_sql_edits_find(const struct dsql_sql_edits *edits, size_t at)
{
    for (size_t i = 0; i < edits->count; i++)
        if (edits->list[i].at == at && edits->list[i].len > 0)
            return &edits->list[i];
    return NULL;
}

char *dsql_sql_edits_apply(const struct dsql_sql_edits *edits, struct dsql_span text, size_t *len)
{
    size_t size = text.len;
    for (size_t i = 0; i < edits->count; i++)
        size += strlen(edits->list[i].put);
    char *made = malloc(size + 1), *to = made;
    if (!made)
        return NULL;
    size_t done = 0; /* of the text */
    for (size_t i = 0; i < edits->count; i++) {
        const struct dsql_sql_edit *edit = &edits->list[i];
        assert(edit->at >= done && edit->at + edit->len <= text.len);
        memcpy(to, text.ptr + done, edit->at - done);
        to += edit->at - done;
        size_t put_len = strlen(edit->put);
        memcpy(to, edit->put, put_len);
        to += put_len;
        done = edit->at + edit->len;
    }
    memcpy(to, text.ptr + done, text.len - done);
    to += text.len - done;
    *to = '\0';
    *len = (size_t)(to - made);
    return made;
}

size_t dsql_sql_edits_place(const struct dsql_sql_edits *edits, size_t at,
                            const struct dsql_sql_edit **inside)
{
    size_t taken = 0, put = 0; /* by the edits in front of the place */
    if (inside)
        *inside = NULL;
    for (size_t i = 0; i < edits->count; i++) {
        const struct dsql_sql_edit *edit = &edits->list[i];
        size_t begins = edit->at - taken + put, put_len = strlen(edit->put);
        if (begins > at)
            break;
        if (at < begins + put_len) {
            if (inside)
                *inside = edit;
            return edit->at;
        }
        taken += edit->len;
        put += put_len;
    }
    return at + taken - put;
}

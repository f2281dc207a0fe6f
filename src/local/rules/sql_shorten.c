#include "local/rules/sql_shorten.h"

#include <stdlib.h>

#include "base/grow.h"
#include "local/rules/sql_lex.h"

void dsql_sql_short_fini(struct dsql_sql_short *shortened)
{
    free(shortened->text);
    free(shortened->cuts);
    *shortened = (struct dsql_sql_short){.text = NULL};
}

/* How much of a literal stands before its inside: E', U&', $tag$ and the like. */
static size_t opening_of(struct dsql_span literal)
{
    const char *end = literal.ptr[0] == '$' ? memchr(literal.ptr + 1, '$', literal.len - 1)
                                            : memchr(literal.ptr, '\'', literal.len);
    return end ? (size_t)(end - literal.ptr) + 1 : literal.len;
}

static enum dsql_rc note_cut(struct dsql_sql_short *out, size_t removed)
{
    if (!DSQL_GROW(out->cuts, out->cap, out->count + 1))
        return DSQL_NO_MEMORY;
    size_t before = out->count ? out->cuts[out->count - 1].removed : 0;
    out->cuts[out->count++] = (struct dsql_sql_cut){out->len, before + removed};
    return DSQL_OK;
}

static void keep(struct dsql_sql_short *out, struct dsql_span text)
{
    if (text.len > 0)
        memcpy(out->text + out->len, text.ptr, text.len);
    out->len += text.len;
}

enum dsql_rc dsql_sql_shorten(struct dsql_span text, struct dsql_sql_short *out)
{
    *out = (struct dsql_sql_short){.text = NULL};
    if (text.len < DSQL_SQL_SHORTEN_FROM)
        return DSQL_OK;
    struct dsql_sql_lexer lexer = {text, 0};
    size_t done = 0; /* of the long text */
    enum dsql_rc rc = DSQL_OK;
    out->text = malloc(text.len + 1);
    if (!out->text)
        return DSQL_NO_MEMORY;
    for (;;) {
        struct dsql_sql_token token = dsql_sql_lex(&lexer);
        if (token.kind == DSQL_SQL_TOKEN_END || token.kind == DSQL_SQL_TOKEN_BROKEN)
            break;
        if (token.kind != DSQL_SQL_TOKEN_STRING || token.text.len <= DSQL_SQL_LITERAL_KEPT)
            continue;
        size_t start = (size_t)(token.text.ptr - text.ptr), opening = opening_of(token.text);
        size_t closing = token.text.ptr[0] == '$' ? opening : 1;
        if (opening + closing >= token.text.len)
            continue;
        keep(out, dsql_span_first(dsql_span_from(text, done), start + opening - done));
        rc = note_cut(out, token.text.len - opening - closing);
        if (rc)
            break;
        done = start + token.text.len - closing;
    }
    keep(out, dsql_span_from(text, done));
    out->text[out->len] = '\0';
    if (rc || out->count == 0)
        dsql_sql_short_fini(out);
    return rc;
}

size_t dsql_sql_short_place(const struct dsql_sql_short *shortened, size_t at)
{
    size_t low = 0, high = shortened->count; /* the first cut at or behind `at` */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shortened->cuts[middle].at < at)
            low = middle + 1;
        else
            high = middle;
    }
    return at + (low > 0 ? shortened->cuts[low - 1].removed : 0);
}

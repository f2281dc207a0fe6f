#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

enum { HEAP_FIRST = 256 };

/* What an empty heap buffer points to: readable and terminated, never written. */
static char nothing[1];

void dsql_strbuf_init(struct dsql_strbuf *sb, char *memory, size_t cap)
{
    assert(cap >= 1);
    *sb = (struct dsql_strbuf){.ptr = memory, .cap = cap, .limit = cap};
    sb->ptr[0] = '\0';
}

void dsql_strbuf_init_heap(struct dsql_strbuf *sb, size_t limit)
{
    assert(limit >= 1);
    *sb = (struct dsql_strbuf){.ptr = nothing, .limit = limit, .on_heap = true};
}

void dsql_strbuf_fini(struct dsql_strbuf *sb)
{
    if (sb->on_heap && sb->cap > 0)
        free(sb->ptr);
    *sb = (struct dsql_strbuf){.ptr = nothing, .limit = sb->limit, .on_heap = sb->on_heap};
}

char *dsql_strbuf_take(struct dsql_strbuf *sb)
{
    assert(sb->on_heap);
    char *text = NULL;
    if (!sb->cut && sb->cap > 0)
        text = sb->ptr;
    else if (!sb->cut)
        text = calloc(1, 1);
    if (text)
        sb->cap = 0;
    dsql_strbuf_fini(sb);
    return text;
}

void dsql_strbuf_clear(struct dsql_strbuf *sb)
{
    sb->len = 0;
    sb->cut = false;
    if (sb->cap > 0)
        sb->ptr[0] = '\0';
}

struct dsql_span dsql_strbuf_span(const struct dsql_strbuf *sb)
{
    return (struct dsql_span){sb->ptr, sb->len};
}

/* How many of `want` more bytes fit, after growing if that is allowed. */
static size_t room(struct dsql_strbuf *sb, size_t want)
{
    if (sb->on_heap && want >= sb->cap - sb->len && sb->cap < sb->limit) {
        size_t cap = sb->cap ? sb->cap : HEAP_FIRST;
        while (want >= cap - sb->len && cap < sb->limit)
            cap = cap > sb->limit / 2 ? sb->limit : cap * 2;
        if (cap > sb->limit)
            cap = sb->limit;
        char *grown = realloc(sb->cap ? sb->ptr : NULL, cap);
        if (grown) {
            sb->ptr = grown;
            sb->cap = cap;
        }
    }
    if (sb->cap == 0)
        return 0;
    size_t left = sb->cap - sb->len - 1;
    return want < left ? want : left;
}

void dsql_strbuf_add(struct dsql_strbuf *sb, struct dsql_span s)
{
    if (s.len == 0 || sb->cut)
        return;
    size_t fits = room(sb, s.len);
    if (fits < s.len)
        sb->cut = true;
    if (fits == 0)
        return;
    memcpy(sb->ptr + sb->len, s.ptr, fits);
    sb->len += fits;
    sb->ptr[sb->len] = '\0';
}

void dsql_strbuf_add_str(struct dsql_strbuf *sb, const char *text)
{
    dsql_strbuf_add(sb, dsql_span_of(text));
}

void dsql_strbuf_add_char(struct dsql_strbuf *sb, char c)
{
    dsql_strbuf_add(sb, (struct dsql_span){&c, 1});
}

void dsql_strbuf_add_u64(struct dsql_strbuf *sb, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    dsql_strbuf_add(sb, (struct dsql_span){digits + at, sizeof(digits) - at});
}

void dsql_strbuf_add_i64(struct dsql_strbuf *sb, int64_t value)
{
    if (value < 0)
        dsql_strbuf_add_char(sb, '-');
    dsql_strbuf_add_u64(sb, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void dsql_strbuf_vaddf(struct dsql_strbuf *sb, const char *fmt, va_list args)
{
    va_list again;
    va_copy(again, args);
    int want = vsnprintf(NULL, 0, fmt, args);
    if (want > 0 && !sb->cut) {
        size_t fits = room(sb, (size_t)want);
        if (sb->cap > 0) {
            (void)vsnprintf(sb->ptr + sb->len, fits + 1, fmt, again);
            sb->len += fits;
        }
        sb->cut = fits < (size_t)want;
    }
    va_end(again);
}

void dsql_strbuf_addf(struct dsql_strbuf *sb, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    dsql_strbuf_vaddf(sb, fmt, args);
    va_end(args);
}

void dsql_strbuf_add_json(struct dsql_strbuf *sb, struct dsql_span s)
{
    dsql_strbuf_add_char(sb, '"');
    while (s.len > 0) {
        unsigned char c = (unsigned char)s.ptr[0];
        size_t n = dsql_utf8_len(s);
        if (n == 0)
            dsql_strbuf_add_str(sb, "\\ufffd");
        else if (c == '"' || c == '\\')
            dsql_strbuf_addf(sb, "\\%c", c);
        else if (c == '\n')
            dsql_strbuf_add_str(sb, "\\n");
        else if (c < 0x20 || c == 0x7f)
            dsql_strbuf_addf(sb, "\\u%04x", c);
        else
            dsql_strbuf_add(sb, dsql_span_first(s, n));
        s = dsql_span_from(s, n ? n : 1);
    }
    dsql_strbuf_add_char(sb, '"');
}

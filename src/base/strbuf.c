#include "base/strbuf.h"

#include <float.h>
#include <math.h>
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
            sb->ptr[sb->len] = '\0'; /* the first block comes as it is */
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

enum {
    F64_DIGITS_MAX = 17,  /* as many tell any two doubles apart */
    F64_DIGITS_SAFE = 15, /* as many survive the way into a double and back */
    F64_PLAIN_MAX = 22,   /* powers of ten up to here are written without an exponent */
};

/*
 * The significant digits of a finite value > 0, without zeros at the end, so that it is
 * 0.digits * 10^*point. Of what snprintf and strtod do, only the decimal point depends on the
 * locale; it may be several bytes, and it is skipped.
 */
static size_t shortest_digits(double value, char digits[F64_DIGITS_MAX], int *point)
{
    size_t n = 0;
    /* Of numbers below DBL_MIN fewer survive. */
    for (int want = value < DBL_MIN ? 1 : F64_DIGITS_SAFE; want <= F64_DIGITS_MAX; want++) {
        char text[48];
        (void)snprintf(text, sizeof(text), "%.*e", want - 1, value);
        const char *at = text;
        for (n = 0; *at != 'e'; at++)
            if (*at >= '0' && *at <= '9')
                digits[n++] = *at;
        int64_t exponent = 0;
        bool read = dsql_span_to_i64(dsql_span_of(at + 1), &exponent);
        assert(read && n == (size_t)want);
        *point = (int)exponent + 1;
        if (strtod(text, NULL) == value)
            break;
    }
    while (n > 1 && digits[n - 1] == '0')
        n--;
    return n;
}

static void add_zeros(struct dsql_strbuf *sb, int n)
{
    for (; n > 0; n--)
        dsql_strbuf_add_char(sb, '0');
}

void dsql_strbuf_add_f64(struct dsql_strbuf *sb, double value)
{
    if (isnan(value) || isinf(value)) {
        dsql_strbuf_add_str(sb, isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
        return;
    }
    if (value < 0)
        dsql_strbuf_add_char(sb, '-');
    if (value == 0) {
        dsql_strbuf_add_char(sb, '0');
        return;
    }
    char memory[F64_DIGITS_MAX];
    int point;
    size_t n = shortest_digits(value < 0 ? -value : value, memory, &point);
    struct dsql_span digits = {memory, n};
    int exponent = 0;
    if (point <= -F64_PLAIN_MAX || point > F64_PLAIN_MAX) {
        exponent = point - 1;
        point = 1;
    }
    size_t whole = point < 0 ? 0 : (size_t)point < n ? (size_t)point : n;
    if (whole == 0)
        dsql_strbuf_add_char(sb, '0');
    dsql_strbuf_add(sb, dsql_span_first(digits, whole));
    add_zeros(sb, point - (int)n);
    if (whole < n) {
        dsql_strbuf_add_char(sb, '.');
        add_zeros(sb, -point);
        dsql_strbuf_add(sb, dsql_span_from(digits, whole));
    }
    if (exponent != 0) {
        dsql_strbuf_add_char(sb, 'e');
        dsql_strbuf_add_i64(sb, exponent);
    }
}

void dsql_strbuf_vaddf(struct dsql_strbuf *sb, const char *fmt, va_list args)
{
    if (sb->cut)
        return;
    va_list again;
    va_copy(again, args);
    int want = vsnprintf(NULL, 0, fmt, args);
    size_t fits = want > 0 ? room(sb, (size_t)want) : 0;
    if (fits > 0) {
        (void)vsnprintf(sb->ptr + sb->len, fits + 1, fmt, again);
        sb->len += fits;
    }
    sb->cut = want < 0 || fits < (size_t)want;
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

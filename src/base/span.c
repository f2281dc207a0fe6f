#include "base/span.h"

/* ASCII only: setting names, header names and keywords do not depend on a locale. */
static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool dsql_span_eq(struct dsql_span a, struct dsql_span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

bool dsql_span_eq_nocase(struct dsql_span a, struct dsql_span b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.ptr[i]) != lower(b.ptr[i]))
            return false;
    return true;
}

bool dsql_span_starts(struct dsql_span s, struct dsql_span prefix)
{
    return s.len >= prefix.len && dsql_span_eq(dsql_span_first(s, prefix.len), prefix);
}

struct dsql_span dsql_span_trim(struct dsql_span s)
{
    while (s.len > 0 && is_blank(s.ptr[0]))
        s = dsql_span_from(s, 1);
    while (s.len > 0 && is_blank(s.ptr[s.len - 1]))
        s.len--;
    return s;
}

bool dsql_span_cut(struct dsql_span s, char separator, struct dsql_span *head,
                   struct dsql_span *tail)
{
    const char *at = s.len ? memchr(s.ptr, separator, s.len) : NULL;
    if (!at) {
        *head = s;
        *tail = dsql_span_from(s, s.len);
        return false;
    }
    size_t before = (size_t)(at - s.ptr);
    *head = dsql_span_first(s, before);
    *tail = dsql_span_from(s, before + 1);
    return true;
}

bool dsql_span_to_i64(struct dsql_span s, int64_t *out)
{
    bool negative = s.len > 0 && s.ptr[0] == '-';
    if (s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+'))
        s = dsql_span_from(s, 1);
    if (s.len == 0)
        return false;
    int64_t value = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (!is_digit(s.ptr[i]))
            return false;
        int digit = s.ptr[i] - '0';
        /* Counting downwards reaches INT64_MIN, which has no positive twin. */
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value))
            return false;
    }
    if (!negative && value == INT64_MIN)
        return false;
    *out = negative ? value : -value;
    return true;
}

bool dsql_span_to_f64(struct dsql_span s, double *out)
{
    bool negative = s.len > 0 && s.ptr[0] == '-';
    if (s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+'))
        s = dsql_span_from(s, 1);
    /* Both numbers are exact in a double up to these limits, so their quotient is the double
     * nearest to what was written. */
    enum { DIGITS_MAX = 15, DECIMALS_MAX = 22 };
    double value = 0, scale = 1;
    size_t digits = 0, decimals = 0;
    bool point = false, any = false;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '.' && !point) {
            point = true;
            continue;
        }
        digits += digits > 0 || c != '0';
        decimals += point;
        if (!is_digit(c) || digits > DIGITS_MAX || decimals > DECIMALS_MAX)
            return false;
        value = value * 10 + (c - '0');
        scale = point ? scale * 10 : scale;
        any = true;
    }
    if (!any)
        return false;
    value /= scale;
    *out = negative ? -value : value;
    return true;
}

enum { DISTANCE_LEN_MAX = 64 };

static size_t min_of(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t dsql_span_distance(struct dsql_span a, struct dsql_span b)
{
    if (a.len > DISTANCE_LEN_MAX || b.len > DISTANCE_LEN_MAX)
        return SIZE_MAX;
    /* Three rolling rows of the edit matrix: two back, one back, current. */
    size_t rows[3][DISTANCE_LEN_MAX + 1];
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *now = rows[i % 3], *one = rows[(i - 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            bool same = lower(a.ptr[i - 1]) == lower(b.ptr[j - 1]);
            size_t best = min_of(min_of(one[j], now[j - 1]) + 1, one[j - 1] + (same ? 0 : 1));
            if (i > 1 && j > 1 && lower(a.ptr[i - 1]) == lower(b.ptr[j - 2]) &&
                lower(a.ptr[i - 2]) == lower(b.ptr[j - 1]))
                best = min_of(best, rows[(i - 2) % 3][j - 2] + 1);
            now[j] = best;
        }
    }
    return rows[a.len % 3][b.len];
}

bool dsql_span_is_near(struct dsql_span typed, size_t distance)
{
    return distance <= 1 + typed.len / 4;
}

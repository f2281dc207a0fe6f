#include "local/rules/sql_number.h"

#include <stdint.h>

static char at(struct dsql_span text, size_t i)
{
    return i < text.len ? text.ptr[i] : '\0';
}

/* 16 and more for what is no digit. */
static unsigned digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

/* What may not follow a number at once. */
static bool is_junk(char c)
{
    return digit_of(c) < 16 || (c >= 'g' && c <= 'z') || (c >= 'G' && c <= 'Z') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

/* Behind digits with single underscores between them; `begin` if there are none. *underscores:
 * there was one. An underscore may stand in front of the first digit if `leading`. */
static size_t skip_digits(struct dsql_span text, size_t begin, unsigned base, bool leading,
                          bool *underscores)
{
    size_t i = begin;
    for (;;) {
        bool under = at(text, i) == '_' && (i > begin || leading);
        if (digit_of(at(text, i + under)) >= base)
            return i;
        *underscores = *underscores || under;
        i += 1 + under;
    }
}

/* Digits of a base as decimal ones: groups of nine, the lowest first. */
static bool add_decimal(struct dsql_span digits, unsigned base, struct dsql_strbuf *decimal)
{
    enum { GROUP = 1000000000, GROUPS = DSQL_SQL_DIGITS_MAX * 4 / 27 + 2 };
    uint32_t groups[GROUPS] = {0};
    size_t count = 1;
    if (digits.len > DSQL_SQL_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        if (digits.ptr[i] == '_')
            continue;
        uint64_t carry = digit_of(digits.ptr[i]);
        for (size_t g = 0; g < count; g++) {
            carry += (uint64_t)groups[g] * base;
            groups[g] = (uint32_t)(carry % GROUP);
            carry /= GROUP;
        }
        if (carry > 0) {
            assert(count < GROUPS);
            groups[count++] = (uint32_t)carry;
        }
    }
    dsql_strbuf_add_u64(decimal, groups[count - 1]);
    while (--count > 0)
        dsql_strbuf_addf(decimal, "%09u", (unsigned)groups[count - 1]);
    return true;
}

static unsigned base_of(struct dsql_span text)
{
    if (at(text, 0) != '0')
        return 10;
    switch (at(text, 1)) {
    case 'x':
    case 'X':
        return 16;
    case 'o':
    case 'O':
        return 8;
    case 'b':
    case 'B':
        return 2;
    default:
        return 10;
    }
}

/* Behind a decimal number: digits, perhaps a fraction and an exponent. */
static size_t skip_decimal(struct dsql_span text, bool *underscores)
{
    size_t end = skip_digits(text, 0, 10, false, underscores);
    if (at(text, end) == '.' && at(text, end + 1) != '.')
        end = skip_digits(text, end + 1, 10, false, underscores);
    if (at(text, end) == 'e' || at(text, end) == 'E') {
        size_t digits = end + 1 + (at(text, end + 1) == '-' || at(text, end + 1) == '+');
        size_t behind = skip_digits(text, digits, 10, false, underscores);
        if (behind > digits)
            end = behind;
    }
    return end;
}

bool dsql_sql_number(struct dsql_span text, size_t *len, struct dsql_strbuf *decimal)
{
    bool underscores = false;
    unsigned base = base_of(text);
    size_t end = base == 10 ? skip_decimal(text, &underscores)
                            : skip_digits(text, 2, base, true, &underscores);
    if ((base == 10 && !underscores) || is_junk(at(text, end)))
        return false;
    if (base != 10 && (end == 2 || at(text, end) == '.')) /* it would become a fraction */
        return false;
    struct dsql_span number = dsql_span_first(text, end);
    if (base != 10 && !add_decimal(dsql_span_from(number, 2), base, decimal))
        return false;
    for (size_t i = 0; base == 10 && i < end; i++)
        if (text.ptr[i] != '_')
            dsql_strbuf_add_char(decimal, text.ptr[i]);
    *len = end;
    return true;
}

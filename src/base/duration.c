#include "base/duration.h"

#include "base/time.h"

static const struct unit {
    struct dsql_span name;
    int64_t ns;
} units[] = {
    /* Two-letter names first, so that "ms" is not read as "m". */
    {{"ns", 2}, 1},
    {{"us", 2}, DSQL_US},
    {{"\xc2\xb5s", 3}, DSQL_US},
    {{"\xce\xbcs", 3}, DSQL_US},
    {{"ms", 2}, DSQL_MS},
    {{"s", 1}, DSQL_S},
    {{"m", 1}, DSQL_M},
    {{"h", 1}, DSQL_H},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const struct unit *unit_at(struct dsql_span s)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(units); i++)
        if (dsql_span_starts(s, units[i].name))
            return &units[i];
    return NULL;
}

/* One "1.5s": consumes it and subtracts it from *total. Going downwards reaches INT64_MIN. */
static bool take_part(struct dsql_span *s, int64_t *total)
{
    int64_t whole = 0;
    size_t digits = 0;
    for (; s->len > 0 && is_digit(s->ptr[0]); *s = dsql_span_from(*s, 1), digits++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_sub_overflow(whole, s->ptr[0] - '0', &whole))
            return false;

    int64_t fraction = 0, scale = 1;
    if (s->len > 0 && s->ptr[0] == '.') {
        *s = dsql_span_from(*s, 1);
        for (; s->len > 0 && is_digit(s->ptr[0]); *s = dsql_span_from(*s, 1), digits++) {
            /* An hour has 3.6e12 ns: 13 digits are all that can matter. */
            if (scale < INT64_C(10000000000000)) {
                fraction = fraction * 10 + (s->ptr[0] - '0');
                scale *= 10;
            }
        }
    }
    const struct unit *unit = unit_at(*s);
    if (digits == 0 || !unit)
        return false;
    *s = dsql_span_from(*s, unit->name.len);

    int64_t fraction_ns = (int64_t)((__int128)fraction * unit->ns / scale);
    return !__builtin_mul_overflow(whole, unit->ns, &whole) &&
           !__builtin_add_overflow(*total, whole, total) &&
           !__builtin_sub_overflow(*total, fraction_ns, total);
}

bool dsql_duration_parse(struct dsql_span text, int64_t *ns)
{
    struct dsql_span s = text;
    bool negative = s.len > 0 && s.ptr[0] == '-';
    if (s.len > 0 && (s.ptr[0] == '-' || s.ptr[0] == '+'))
        s = dsql_span_from(s, 1);
    if (dsql_span_eq(s, DSQL_SPAN("0"))) {
        *ns = 0;
        return true;
    }
    int64_t total = 0; /* counted downwards, see take_part() */
    if (s.len == 0)
        return false;
    while (s.len > 0)
        if (!take_part(&s, &total))
            return false;
    if (!negative && total == INT64_MIN)
        return false;
    *ns = negative ? total : -total;
    return true;
}

/* value/unit with as many decimals as it needs; unit is a power of ten. */
static void add_decimal(struct dsql_strbuf *sb, uint64_t value, uint64_t unit, const char *name)
{
    dsql_strbuf_add_u64(sb, value / unit);
    uint64_t rest = value % unit;
    if (rest > 0)
        dsql_strbuf_add_char(sb, '.');
    for (uint64_t digit = unit / 10; rest > 0; rest %= digit, digit /= 10)
        dsql_strbuf_add_char(sb, (char)('0' + rest / digit));
    dsql_strbuf_add_str(sb, name);
}

void dsql_duration_format(struct dsql_strbuf *sb, int64_t ns)
{
    uint64_t left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (ns == 0) {
        dsql_strbuf_add_str(sb, "0s");
        return;
    }
    if (ns < 0)
        dsql_strbuf_add_char(sb, '-');
    if (left < (uint64_t)DSQL_US) {
        add_decimal(sb, left, 1, "ns");
    } else if (left < (uint64_t)DSQL_MS) {
        add_decimal(sb, left, (uint64_t)DSQL_US, "us");
    } else if (left < (uint64_t)DSQL_S) {
        add_decimal(sb, left, (uint64_t)DSQL_MS, "ms");
    } else {
        uint64_t hours = left / (uint64_t)DSQL_H,
                 minutes = left % (uint64_t)DSQL_H / (uint64_t)DSQL_M;
        if (hours > 0)
            add_decimal(sb, hours, 1, "h");
        if (minutes > 0)
            add_decimal(sb, minutes, 1, "m");
        if (left % (uint64_t)DSQL_M > 0)
            add_decimal(sb, left % (uint64_t)DSQL_M, (uint64_t)DSQL_S, "s");
    }
}

struct dsql_duration_text dsql_duration_shown(int64_t ns)
{
    struct dsql_duration_text shown = {0};
    struct dsql_strbuf sb;
    int64_t unit = ns < 10 * DSQL_S ? DSQL_MS : DSQL_S;
    dsql_strbuf_init(&sb, shown.text, sizeof(shown.text));
    dsql_duration_format(&sb, (ns / unit + (ns % unit >= unit / 2)) * unit);
    return shown;
}

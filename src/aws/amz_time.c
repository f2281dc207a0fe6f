#include "aws/amz_time.h"

void dsql_amz_time_format(char text[DSQL_AMZ_TIME_SIZE], struct dsql_wall t)
{
    /* base writes 2024-08-27T00:00:00.000Z: the same digits with marks between them. */
    char extended[40];
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, extended, sizeof(extended));
    dsql_wall_format(&sb, t);

    size_t len = 0;
    for (const char *c = extended; *c != '.' && len < DSQL_AMZ_TIME_LEN - 1; c++)
        if (*c != '-' && *c != ':')
            text[len++] = *c;
    assert(len == DSQL_AMZ_TIME_LEN - 1); /* every dsql_wall has a year of four digits */
    text[len++] = 'Z';
    text[len] = '\0';
}

/* Days from 1970-01-01 in the proleptic Gregorian calendar. */
static int64_t days_from_civil(int64_t year, int64_t month, int64_t day)
{
    /* A year that begins in March has its leap day at the end. */
    int64_t from_march = month > 2 ? month - 3 : month + 9;
    year -= month <= 2 ? 1 : 0;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * from_march + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool digits(struct dsql_span text, size_t at, size_t count, int64_t *value)
{
    *value = 0;
    for (size_t i = at; i < at + count; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
        *value = *value * 10 + (text.ptr[i] - '0');
    }
    return true;
}

bool dsql_amz_time_parse(struct dsql_span text, struct dsql_wall *t)
{
    int64_t year, month, day, hour, minute, second;
    if (text.len != DSQL_AMZ_TIME_LEN || !digits(text, 0, 4, &year) ||
        !digits(text, 4, 2, &month) || !digits(text, 6, 2, &day) || !digits(text, 9, 2, &hour) ||
        !digits(text, 11, 2, &minute) || !digits(text, 13, 2, &second))
        return false;

    int64_t seconds = days_from_civil(year, month, day) * 86400;
    seconds += hour * 3600 + minute * 60 + second;
    struct dsql_wall parsed;
    if (__builtin_mul_overflow(seconds, DSQL_S, &parsed.ns))
        return false;

    /* Numbers out of range have become some other moment, whose text differs. */
    char again[DSQL_AMZ_TIME_SIZE];
    dsql_amz_time_format(again, parsed);
    if (!dsql_span_eq(text, dsql_span_of(again)))
        return false;
    *t = parsed;
    return true;
}

bool dsql_amz_time_parse_iso(struct dsql_span text, struct dsql_wall *t)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    char basic[DSQL_AMZ_TIME_SIZE];
    size_t len = 0, at = 0;
    if (text.len < sizeof(form))
        return false;
    for (; form[at]; at++) {
        if (form[at] != 'd' && text.ptr[at] != form[at])
            return false;
        if (form[at] == 'd' || form[at] == 'T')
            basic[len++] = text.ptr[at];
    }
    basic[len++] = 'Z';
    basic[len] = '\0';
    struct dsql_wall parsed;
    if (!dsql_amz_time_parse((struct dsql_span){basic, len}, &parsed))
        return false;

    struct dsql_span rest = dsql_span_from(text, at);
    if (rest.ptr[0] == '.') {
        size_t end = 1;
        while (end < rest.len && rest.ptr[end] >= '0' && rest.ptr[end] <= '9')
            end++;
        if (end == 1)
            return false;
        rest = dsql_span_from(rest, end);
    }
    int64_t hours, minutes;
    if (dsql_span_eq(rest, DSQL_SPAN("Z"))) {
        *t = parsed;
        return true;
    }
    if (rest.len != 6 || (rest.ptr[0] != '+' && rest.ptr[0] != '-') || rest.ptr[3] != ':' ||
        !digits(rest, 1, 2, &hours) || !digits(rest, 4, 2, &minutes) || hours > 23 || minutes > 59)
        return false;
    int64_t ahead_ns = hours * DSQL_H + minutes * DSQL_M;
    *t = dsql_wall_add(parsed, rest.ptr[0] == '+' ? -ahead_ns : ahead_ns);
    return true;
}

#include "visibility/sql.h"

#include <stdlib.h>

void dsql_vis_sql_init(struct dsql_vis_sql *sql, size_t values)
{
    *sql = (struct dsql_vis_sql){0};
    dsql_strbuf_init_heap(&sql->text, DSQL_VIS_SQL_MAX);
    sql->made = calloc(values + 1, sizeof(*sql->made));
    sql->made_cap = values;
    sql->failed = !sql->made;
}

void dsql_vis_sql_fini(struct dsql_vis_sql *sql)
{
    dsql_strbuf_fini(&sql->text);
    free(sql->params);
    free(sql->types);
    free(sql->made);
    free(sql->behind);
    *sql = (struct dsql_vis_sql){0};
}

static bool grow(struct dsql_vis_sql *sql)
{
    size_t cap = sql->cap ? 2 * sql->cap : 32;
    if (sql->count == DSQL_VIS_PARAMS_MAX)
        return false;
    struct dsql_param *params = reallocarray(sql->params, cap, sizeof(*params));
    if (!params)
        return false;
    sql->params = params;
    uint32_t *types = reallocarray(sql->types, cap, sizeof(*types));
    if (!types)
        return false;
    sql->types = types;
    sql->cap = cap;
    return true;
}

size_t dsql_vis_param(struct dsql_vis_sql *sql, uint32_t oid, struct dsql_param value)
{
    if (sql->failed || (sql->count == sql->cap && !grow(sql))) {
        sql->failed = true;
        return 1;
    }
    sql->types[sql->count] = oid;
    sql->params[sql->count++] = value;
    return sql->count;
}

void dsql_vis_ref(struct dsql_strbuf *text, size_t number)
{
    dsql_strbuf_add_char(text, '$');
    dsql_strbuf_add_u64(text, number);
}

size_t dsql_vis_text_param(struct dsql_vis_sql *sql, struct dsql_span text)
{
    return dsql_vis_param(sql, DSQL_OID_TEXT, dsql_text_n(text.len ? text.ptr : "", text.len));
}

/* -- Values of postings. */

int64_t dsql_vis_micros(const struct dsql_vis_value *time)
{
    return time->number * 1000000 + time->nanos / 1000;
}

/* 2006-01-02T15:04:05.000000000Z, by the calendar of 400 years. */
static void add_time(struct dsql_strbuf *out, const struct dsql_vis_value *time)
{
    const int64_t day = 86400;
    int64_t days = time->number / day, left = time->number % day;
    if (left < 0) {
        days--;
        left += day;
    }
    days += 719468; /* from the first of March of the year 0, so that a leap day is a year's last */
    int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153, of_month = of_year - (153 * month + 2) / 5 + 1;
    month += month < 10 ? 3 : -9;
    year += era * 400 + (month <= 2);
    dsql_strbuf_addf(out, "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ", (int)year, (int)month,
                     (int)of_month, (int)(left / 3600), (int)(left / 60 % 60), (int)(left % 60),
                     (int)time->nanos);
}

bool dsql_vis_is_cut(enum dsql_vis_type type, const struct dsql_vis_value *value)
{
    return (type == DSQL_VIS_TYPE_KEYWORD || type == DSQL_VIS_TYPE_LIST ||
            type == DSQL_VIS_TYPE_TEXT) &&
           value->text.len >= DSQL_VISIBILITY_VALUE_WHOLE;
}

struct dsql_span dsql_vis_posted(struct dsql_vis_sql *sql, enum dsql_vis_type type,
                                 const struct dsql_vis_value *value)
{
    struct dsql_strbuf out;
    if (type == DSQL_VIS_TYPE_KEYWORD || type == DSQL_VIS_TYPE_LIST || type == DSQL_VIS_TYPE_TEXT)
        return dsql_visibility_cut(value->text);
    if (sql->failed || sql->made_count == sql->made_cap) {
        sql->failed = true;
        return DSQL_SPAN("");
    }
    char *made = sql->made[sql->made_count++];
    if (type == DSQL_VIS_TYPE_INT || type == DSQL_VIS_TYPE_DOUBLE) {
        if (type == DSQL_VIS_TYPE_INT)
            dsql_visibility_key_i64(value->number, made);
        else
            dsql_visibility_key_f64(value->real, made);
        return (struct dsql_span){made, DSQL_VISIBILITY_NUMBER_LEN};
    }
    dsql_strbuf_init(&out, made, DSQL_VIS_MADE_SIZE);
    if (type == DSQL_VIS_TYPE_BOOL)
        dsql_strbuf_add_char(&out, value->number ? '1' : '0');
    else
        add_time(&out, value);
    return dsql_strbuf_span(&out);
}

/* The next character in the order of UTF-8's bytes. There is room for four, and c is one. */
static size_t put_next(unsigned long c, char *out)
{
    c = c == 0xd7ff ? 0xe000 : c + 1; /* no character is a surrogate */
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = len - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(lead[len] | c);
    return len;
}

static unsigned long character(const unsigned char *at, size_t len)
{
    unsigned long c = len == 1 ? at[0] : at[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        c = c << 6 | (at[i] & 0x3f);
    return c;
}

bool dsql_vis_behind(struct dsql_vis_sql *sql, struct dsql_span prefix, struct dsql_span *out)
{
    enum { LAST = 0x10ffff };
    assert(!sql->behind);
    sql->behind = malloc(prefix.len + 4);
    if (!sql->behind) {
        sql->failed = true;
        return false;
    }
    while (prefix.len > 0) {
        size_t start = prefix.len - 1;
        while (start > 0 && ((unsigned char)prefix.ptr[start] & 0xc0) == 0x80)
            start--;
        unsigned long c = character((const unsigned char *)prefix.ptr + start, prefix.len - start);
        prefix.len = start;
        if (c == LAST)
            continue;
        if (start > 0)
            memcpy(sql->behind, prefix.ptr, start);
        *out = (struct dsql_span){sql->behind, start + put_next(c, sql->behind + start)};
        return true;
    }
    return false;
}

#include "local/rules/sql_dialect.h"

const struct dsql_sql_feature_info dsql_sql_features[DSQL_SQL_FEATURE_COUNT] = {
#define DSQL_SQL_FEATURE(name, since, doc) {since, doc},
#include "local/rules/sql_dialect.def"
#undef DSQL_SQL_FEATURE
};

enum { OLDEST_YEAR = 2026, NEWEST_YEAR = 9999 };

/* As many digits, and nothing else. */
static bool read_digits(struct dsql_span text, size_t digits, int64_t *number)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] < '0' || text.ptr[i] > '9')
            return false;
    return text.len == digits && dsql_span_to_i64(text, number);
}

bool dsql_sql_dialect_read(struct dsql_span text, struct dsql_sql_dialect *dialect)
{
    struct dsql_span year, month, day;
    int64_t y, m, d = 31; /* no feature is of a day that a month has not got */
    bool has_month = dsql_span_cut(text, '-', &year, &text);
    bool has_day = dsql_span_cut(text, '-', &month, &day);
    if (!has_month || !read_digits(year, 4, &y) || !read_digits(month, 2, &m) ||
        (has_day && !read_digits(day, 2, &d)))
        return false;
    if (y < OLDEST_YEAR || y > NEWEST_YEAR || m < 1 || m > 12 || d < 1 || d > 31)
        return false;
    dialect->day = (int32_t)(y * 10000 + m * 100 + d);
    return true;
}

bool dsql_sql_dialect_has(struct dsql_sql_dialect dialect, enum dsql_sql_feature feature)
{
    return dialect.day == 0 || dialect.day >= dsql_sql_features[feature].since;
}

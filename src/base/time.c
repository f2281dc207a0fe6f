#include "base/time.h"

int64_t dsql_ns_add(int64_t a_ns, int64_t b_ns)
{
    int64_t sum;
    if (__builtin_add_overflow(a_ns, b_ns, &sum))
        return b_ns > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}

struct dsql_mono dsql_mono_add(struct dsql_mono t, int64_t ns)
{
    return (struct dsql_mono){dsql_ns_add(t.ns, ns)};
}

struct dsql_wall dsql_wall_add(struct dsql_wall t, int64_t ns)
{
    return (struct dsql_wall){dsql_ns_add(t.ns, ns)};
}

/*
 * Days since 1970 to year, month, day in the proleptic Gregorian calendar. gmtime_r() would do, but
 * it takes the C library's time-zone lock, and log lines are written in places that must not wait.
 */
static void civil_from_days(int64_t days, int64_t *year, int *month, int *day)
{
    days += 719468; /* from 0000-03-01: the leap day is then the last day of a year */
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t of_era = days - era * 146097;
    int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month_from_march = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * month_from_march + 2) / 5 + 1);
    *month = (int)(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
    *year = year_of_era + era * 400 + (*month <= 2 ? 1 : 0);
}

void dsql_wall_format(struct dsql_strbuf *sb, struct dsql_wall t)
{
    int64_t day_ns = 24 * DSQL_H;
    int64_t days = t.ns / day_ns, rest = t.ns % day_ns;
    if (rest < 0) {
        rest += day_ns;
        days--;
    }
    int64_t year;
    int month, day;
    civil_from_days(days, &year, &month, &day);
    dsql_strbuf_addf(sb, "%04lld-%02d-%02dT%02d:%02d:%02d.%03dZ", (long long)year, month, day,
                     (int)(rest / DSQL_H), (int)(rest % DSQL_H / DSQL_M),
                     (int)(rest % DSQL_M / DSQL_S), (int)(rest % DSQL_S / DSQL_MS));
}

/*
 * Aurora DSQL as it was on a day: the service learns something every month, and a program may have
 * to run on what it was. The rules ask here whether the service knew a thing by then.
 */
#ifndef DSQL_LOCAL_SQL_DIALECT_H
#define DSQL_LOCAL_SQL_DIALECT_H

#include "base/span.h"

enum dsql_sql_feature {
#define DSQL_SQL_FEATURE(name, since, doc) DSQL_SQL_##name##_SINCE,
#include "local/rules/sql_dialect.def"
#undef DSQL_SQL_FEATURE
    DSQL_SQL_FEATURE_COUNT
};

struct dsql_sql_feature_info {
    int32_t since; /* year, month and day as one number, such as 20260915 */
    const char *doc;
};

extern const struct dsql_sql_feature_info dsql_sql_features[DSQL_SQL_FEATURE_COUNT];

/* A day, as one number; 0 is today's service, with all that is known of it. */
struct dsql_sql_dialect {
    int32_t day;
};

/* Reads 2026-08, which is the end of that month, or 2026-08-25. Days before 2026 are refused: what
 * the service was then is not known well enough. *dialect is untouched on failure. */
bool dsql_sql_dialect_read(struct dsql_span text, struct dsql_sql_dialect *dialect);

bool dsql_sql_dialect_has(struct dsql_sql_dialect dialect, enum dsql_sql_feature feature);

#endif

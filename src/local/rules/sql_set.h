/*
 * Session parameters. Aurora DSQL accepts a short list; everything else is refused, in SET, in
 * set_config() and in the startup packet alike.
 */
#ifndef DSQL_LOCAL_SQL_SET_H
#define DSQL_LOCAL_SQL_SET_H

#include "local/rules/sql_stmt.h"

enum dsql_sql_setting {
    DSQL_SQL_SETTING_REFUSED,
    DSQL_SQL_SETTING_ACCEPTED,
    DSQL_SQL_SETTING_FRONT,     /* accepted, and unknown to PostgreSQL: the front keeps it */
    DSQL_SQL_SETTING_LOCAL_ONLY /* only as SET LOCAL in a transaction */
};

/* In any case of letters. */
enum dsql_sql_setting dsql_sql_setting(struct dsql_span name);

/* The refusal of a parameter, in its exact words. */
void dsql_sql_setting_refuse(struct dsql_span name, struct dsql_sql_refusal *refusal);

/* Whether the startup packet (or -c in its options) may carry it; fills *refusal if not. The
 * protocol's own names (user, database, options, replication, _pq_.*) are not for this. */
bool dsql_sql_setting_check_startup(struct dsql_span name, struct dsql_sql_refusal *refusal);

#endif

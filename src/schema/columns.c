/*
 * Columns that a table of an older schema lacks. Those that may be NULL are added: that takes a
 * moment however large the table is, old rows are right without them, and servers of the older
 * version go on. Every other column is part of a table's shape, which stays.
 */
#include <libpq-fe.h>

#include "schema/schema.h"

static bool has(const PGresult *columns, struct dsql_span name)
{
    for (int i = 0; i < PQntuples(columns); i++)
        if (dsql_span_eq(dsql_span_of(PQgetvalue(columns, i, 0)), name))
            return true;
    return false;
}

static enum dsql_rc add(PGconn *conn, struct dsql_span table,
                        const struct dsql_schema_column *column,
                        const struct dsql_schema_watch *watch, struct dsql_err *err)
{
    char text[256], name[160];
    struct dsql_strbuf sql, shown;
    dsql_strbuf_init(&sql, text, sizeof(text));
    dsql_strbuf_init(&shown, name, sizeof(name));
    dsql_strbuf_addf(&sql, "ALTER TABLE %.*s ADD COLUMN IF NOT EXISTS %.*s %s",
                     DSQL_SPAN_ARG(table), DSQL_SPAN_ARG(column->name), column->type);
    dsql_strbuf_addf(&shown, "%.*s.%.*s", DSQL_SPAN_ARG(table), DSQL_SPAN_ARG(column->name));
    enum dsql_rc rc = dsql_schema_exec(conn, dsql_strbuf_span(&sql), 0, NULL, NULL, err);
    if (!rc && watch && watch->see)
        watch->see(watch->arg, "added", "column", dsql_strbuf_span(&shown), "");
    return rc;
}

enum dsql_rc dsql_schema_add_columns(PGconn *conn, const struct dsql_schema_step *step,
                                     const struct dsql_schema_watch *watch, struct dsql_err *err)
{
    char name[128];
    const char *values[] = {name};
    struct dsql_schema_column column;
    struct dsql_span body = step->body, key;
    PGresult *columns;
    (void)snprintf(name, sizeof(name), "%.*s", DSQL_SPAN_ARG(step->name));
    enum dsql_rc rc = dsql_schema_exec(
        conn,
        DSQL_SPAN("SELECT attname FROM pg_attribute WHERE attrelid = to_regclass($1) "
                  "AND attnum > 0 AND NOT attisdropped"),
        1, values, &columns, err);
    if (rc)
        return rc;
    while (!rc && dsql_schema_next_column(&body, &column, &key))
        if (!column.not_null && !has(columns, column.name))
            rc = add(conn, step->name, &column, watch, err);
    PQclear(columns);
    return rc;
}

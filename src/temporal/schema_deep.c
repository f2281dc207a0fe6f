/*
 * Large values and their parts (large.h): each ticket in a table must have parts, and each part a
 * ticket. One query for each table and one for the parts, each of one snapshot; they read every
 * row.
 */
#include <libpq-fe.h>

#include "temporal/schema_deep.h"

#define TICKET_ID(value) "CAST(encode(substring(" value " FROM 1 FOR 16), 'hex') AS UUID)"

enum { SQL_MAX = 64 << 10 };

struct deep {
    PGconn *conn;
    const struct dsql_schema_watch *watch;
    size_t *problems;
    struct dsql_strbuf tickets; /* SELECT of the id of every ticket in all tables */
    struct dsql_err *err;
};

static enum dsql_rc find(const struct deep *deep, struct dsql_span sql, const char *state,
                         const char *what, struct dsql_span name)
{
    PGresult *result;
    enum dsql_rc rc = dsql_schema_exec(deep->conn, sql, 0, NULL, &result, deep->err);
    if (rc)
        return rc;
    char detail[32];
    (void)snprintf(detail, sizeof(detail), "%s", PQgetvalue(result, 0, 0));
    PQclear(result);
    if (strcmp(detail, "0") == 0)
        return DSQL_OK;
    ++*deep->problems;
    if (deep->watch && deep->watch->see)
        deep->watch->see(deep->watch->arg, state, what, name, detail);
    return DSQL_OK;
}

/* One column that may hold large values, and the column of its encoding. */
static enum dsql_rc look_at_column(struct deep *deep, struct dsql_span table,
                                   struct dsql_span value, struct dsql_span encoding)
{
    char text[640];
    struct dsql_strbuf sql;
    dsql_strbuf_init(&sql, text, sizeof(text));
    dsql_strbuf_addf(&deep->tickets,
                     "%sSELECT " TICKET_ID("%.*s") " FROM %.*s WHERE %.*s LIKE '+%%'",
                     deep->tickets.len > 0 ? " UNION ALL " : "", DSQL_SPAN_ARG(value),
                     DSQL_SPAN_ARG(table), DSQL_SPAN_ARG(encoding));
    /* Parts are numbered from 0 without a gap. */
    dsql_strbuf_addf(&sql,
                     "SELECT count(*) FROM %.*s t WHERE t.%.*s LIKE '+%%' AND (SELECT "
                     "count(*) = 0 OR count(*) <> max(v.part) + 1 FROM large_values v "
                     "WHERE v.id = " TICKET_ID("t.%.*s") ")",
                     DSQL_SPAN_ARG(table), DSQL_SPAN_ARG(encoding), DSQL_SPAN_ARG(value));
    return find(deep, dsql_strbuf_span(&sql), "incomplete", "large values in", table);
}

static bool is_encoding(struct dsql_span name)
{
    struct dsql_span suffix = DSQL_SPAN("_encoding");
    return name.len > suffix.len &&
           dsql_span_eq(dsql_span_from(name, name.len - suffix.len), suffix);
}

static enum dsql_rc look_at_table(struct deep *deep, const struct dsql_schema_step *step)
{
    struct dsql_schema_column column = {0}, before = {0};
    struct dsql_span body = step->body, key;
    enum dsql_rc rc = DSQL_OK;
    while (!rc && dsql_schema_next_column(&body, &column, &key)) {
        if (before.name.ptr && strcmp(before.type, "bytea") == 0 && is_encoding(column.name))
            rc = look_at_column(deep, step->name, before.name, column.name);
        before = column;
    }
    return rc;
}

static enum dsql_rc look_at_parts(struct deep *deep)
{
    struct dsql_strbuf sql;
    dsql_strbuf_init_heap(&sql, SQL_MAX);
    dsql_strbuf_addf(&sql, "SELECT count(*) FROM large_values WHERE id NOT IN (%.*s)",
                     DSQL_SPAN_ARG(dsql_strbuf_span(&deep->tickets)));
    enum dsql_rc rc =
        sql.cut || deep->tickets.cut
            ? dsql_err_set(deep->err, DSQL_NO_MEMORY, "out of memory")
            : find(deep, dsql_strbuf_span(&sql), "orphaned", "parts in", DSQL_SPAN("large_values"));
    dsql_strbuf_fini(&sql);
    return rc;
}

enum dsql_rc dsql_schema_verify_values(PGconn *conn, const struct dsql_schema_watch *watch,
                                       size_t *problems, struct dsql_err *err)
{
    struct deep deep = {.conn = conn, .watch = watch, .problems = problems, .err = err};
    struct dsql_span rest = dsql_schema_store.text();
    struct dsql_schema_step step;
    enum dsql_rc rc = DSQL_OK;
    *problems = 0;
    dsql_strbuf_init_heap(&deep.tickets, SQL_MAX);
    while (!rc && dsql_schema_next(&rest, &step))
        if (step.kind == DSQL_SCHEMA_TABLE)
            rc = look_at_table(&deep, &step);
    if (!rc)
        rc = look_at_parts(&deep);
    dsql_strbuf_fini(&deep.tickets);
    return rc;
}

/*
 * What a cluster has against what the schema says: tables, columns, keys, indexes, version. More
 * columns, tables or indexes than ours are no problem.
 *
 * Two kinds of findings. What is missing as a whole, a column that may be NULL, or not valid, `dsql
 * schema apply` mends. What is there and has another shape is told and never touched:
 * it may hold data.
 */
#include <libpq-fe.h>
#include <stdlib.h>

#include "schema/schema.h"

struct check {
    const struct dsql_schema *schema;
    PGconn *conn;
    const struct dsql_schema_watch *watch;
    bool only_shapes; /* what apply mends is neither told nor counted */
    struct dsql_schema_findings *findings;
    struct dsql_err *err;
};

static void find(struct check *check, size_t *count, const char *state, const char *what,
                 struct dsql_span name, const char *detail)
{
    if (check->only_shapes && count != &check->findings->shapes)
        return;
    ++*count;
    if (check->watch && check->watch->see)
        check->watch->see(check->watch->arg, state, what, name, detail);
}

/* The row of a result whose first column is name, or -1. */
static int row_of(const PGresult *result, struct dsql_span name)
{
    for (int i = 0; i < PQntuples(result); i++)
        if (dsql_span_eq(dsql_span_of(PQgetvalue(result, i, 0)), name))
            return i;
    return -1;
}

static void check_columns(struct check *check, const struct dsql_schema_step *step,
                          const PGresult *columns, struct dsql_span *key)
{
    struct dsql_schema_column column;
    struct dsql_span body = step->body;
    char where[160], detail[200];
    while (dsql_schema_next_column(&body, &column, key)) {
        int len = snprintf(where, sizeof(where), "%.*s.%.*s", DSQL_SPAN_ARG(step->name),
                           DSQL_SPAN_ARG(column.name));
        struct dsql_span name = {where, (size_t)len};
        int row = row_of(columns, column.name);
        if (row < 0) {
            find(check, column.not_null ? &check->findings->shapes : &check->findings->mendable,
                 "missing", "column", name, "");
            continue;
        }
        const char *type = PQgetvalue(columns, row, 1);
        bool not_null = PQgetvalue(columns, row, 2)[0] == 't';
        (void)snprintf(detail, sizeof(detail), "%.60s%s instead of %s%s", type,
                       not_null ? " NOT NULL" : "", column.type,
                       column.not_null ? " NOT NULL" : "");
        if (strcmp(type, column.type) != 0 || not_null != column.not_null)
            find(check, &check->findings->shapes, "differs", "column", name, detail);
    }
}

static enum dsql_rc check_table(struct check *check, const struct dsql_schema_step *step)
{
    char name[128];
    const char *values[] = {name};
    PGresult *columns, *keys;
    struct dsql_span key = {0};
    (void)snprintf(name, sizeof(name), "%.*s", DSQL_SPAN_ARG(step->name));
    enum dsql_rc rc = dsql_schema_exec(
        check->conn,
        DSQL_SPAN("SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull "
                  "FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 "
                  "AND NOT a.attisdropped"),
        1, values, &columns, check->err);
    if (rc)
        return rc;
    if (PQntuples(columns) == 0) {
        find(check, &check->findings->mendable, "missing", "table", step->name, "");
        PQclear(columns);
        return DSQL_OK;
    }
    check_columns(check, step, columns, &key);
    PQclear(columns);
    rc = dsql_schema_exec(
        check->conn,
        DSQL_SPAN("SELECT string_agg(a.attname, ', ' ORDER BY k.place) FROM pg_index i, "
                  "unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place), pg_attribute a "
                  "WHERE i.indrelid = to_regclass($1) AND i.indisprimary "
                  "AND k.place <= i.indnkeyatts AND a.attrelid = i.indrelid "
                  "AND a.attnum = k.attnum"),
        1, values, &keys, check->err);
    if (rc)
        return rc;
    if (!dsql_span_eq(dsql_span_of(PQgetvalue(keys, 0, 0)), key))
        find(check, &check->findings->shapes, "differs", "primary key of", step->name,
             PQgetvalue(keys, 0, 0));
    PQclear(keys);
    return DSQL_OK;
}

static enum dsql_rc check_index(struct check *check, const struct dsql_schema_step *step)
{
    char name[128], shape[400];
    const char *values[] = {name};
    PGresult *found;
    bool partial = step->where.len > 0;
    (void)snprintf(shape, sizeof(shape), "%.*s%s%.*s%s", DSQL_SPAN_ARG(step->body),
                   partial ? " WHERE (" : "", DSQL_SPAN_ARG(step->where), partial ? ")" : "");
    (void)snprintf(name, sizeof(name), "%.*s", DSQL_SPAN_ARG(step->name));
    enum dsql_rc rc = dsql_schema_exec(
        check->conn,
        DSQL_SPAN(
            "SELECT i.indisvalid, i.indisunique, string_agg(a.attname, ', ' ORDER BY k.place) || "
            "coalesce(' WHERE ' || pg_get_expr(i.indpred, i.indrelid), '') "
            "FROM pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place), "
            "pg_attribute a WHERE i.indexrelid = to_regclass($1) "
            "AND k.place <= i.indnkeyatts AND a.attrelid = i.indrelid "
            "AND a.attnum = k.attnum GROUP BY 1, 2, i.indpred, i.indrelid"),
        1, values, &found, check->err);
    if (rc)
        return rc;
    if (PQntuples(found) == 0)
        find(check, &check->findings->mendable, "missing", "index", step->name, "");
    else if (PQgetvalue(found, 0, 0)[0] != 't')
        find(check, &check->findings->mendable, "invalid", "index", step->name,
             "'dsql schema apply' rebuilds it");
    else if ((PQgetvalue(found, 0, 1)[0] == 't') != step->unique ||
             strcmp(PQgetvalue(found, 0, 2), shape) != 0)
        find(check, &check->findings->shapes, "differs", "index", step->name,
             PQgetvalue(found, 0, 2));
    PQclear(found);
    return DSQL_OK;
}

static enum dsql_rc check_steps(struct check *check)
{
    struct dsql_span rest = check->schema->text();
    struct dsql_schema_step step;
    enum dsql_rc rc = DSQL_OK;
    while (!rc && dsql_schema_next(&rest, &step)) {
        if (step.kind == DSQL_SCHEMA_TABLE)
            rc = check_table(check, &step);
        else if (step.kind == DSQL_SCHEMA_INDEX)
            rc = check_index(check, &step);
    }
    return rc;
}

enum dsql_rc dsql_schema_verify_shapes(const struct dsql_schema *schema, PGconn *conn,
                                       const struct dsql_schema_watch *watch,
                                       struct dsql_schema_findings *findings, struct dsql_err *err)
{
    struct check check = {schema, conn, watch, true, findings, err};
    *findings = (struct dsql_schema_findings){0};
    return check_steps(&check);
}

enum dsql_rc dsql_schema_verify(const struct dsql_schema *schema, PGconn *conn,
                                const struct dsql_schema_watch *watch,
                                struct dsql_schema_findings *findings, struct dsql_err *err)
{
    struct check check = {schema, conn, watch, false, findings, err};
    char version[DSQL_SCHEMA_VERSION_MAX];
    *findings = (struct dsql_schema_findings){0};
    enum dsql_rc rc = check_steps(&check);
    if (!rc)
        rc = dsql_schema_read_version(schema, conn, version, err);
    if (rc)
        return rc;
    int order = dsql_schema_version_compare(dsql_span_of(version), dsql_span_of(schema->version));
    if (order != 0)
        find(&check, order < 0 ? &findings->mendable : &findings->shapes,
             version[0] ? "differs" : "missing", "version", dsql_span_of(schema->version), version);
    return DSQL_OK;
}

#include "local/rules/sql_type.h"

#include <stdio.h>

#define KEY     DSQL_SQL_TYPE_KEY
#define COLUMN  DSQL_SQL_TYPE_COLUMN
#define REFUSED DSQL_SQL_TYPE_REFUSED
#define MISSING DSQL_SQL_TYPE_MISSING

/* bytes: DECLARED means the length in parentheses. */
enum { DECLARED = -1 };

static const struct type_row {
    const char *name, *shown;
    enum dsql_sql_type_use use;
    int bytes;
} rows[] = {
    {"int2", "smallint", KEY, 2},
    {"int4", "integer", KEY, 4},
    {"int8", "bigint", KEY, 8},
    {"float4", "real", KEY, 4},
    {"float8", "double precision", KEY, 8},
    {"numeric", "numeric", KEY, 0},
    {"bpchar", "character", KEY, DECLARED},
    {"varchar", "character varying", KEY, DECLARED},
    {"text", "text", KEY, 0},
    {"date", "date", KEY, 4},
    {"time", "time without time zone", KEY, 8},
    {"timestamp", "timestamp without time zone", KEY, 8},
    {"timestamptz", "timestamp with time zone", KEY, 8},
    {"uuid", "uuid", KEY, 16},
    {"bool", "boolean", KEY, 1},
    {"bytea", "bytea", COLUMN, 0},
    {"json", "json", COLUMN, 0},
    {"jsonb", "jsonb", COLUMN, 0},
    {"timetz", "time with time zone", COLUMN, 0},
    {"interval", "interval", COLUMN, 0},
    {"money", "money", REFUSED, 0},
    {"xml", "xml", REFUSED, 0},
    {"inet", "inet", REFUSED, 0},
    {"cidr", "cidr", REFUSED, 0},
    {"macaddr", "macaddr", REFUSED, 0},
    {"macaddr8", "macaddr8", REFUSED, 0},
    {"point", "point", REFUSED, 0},
    {"line", "line", REFUSED, 0},
    {"lseg", "lseg", REFUSED, 0},
    {"box", "box", REFUSED, 0},
    {"path", "path", REFUSED, 0},
    {"polygon", "polygon", REFUSED, 0},
    {"circle", "circle", REFUSED, 0},
    {"tsvector", "tsvector", REFUSED, 0},
    {"tsquery", "tsquery", REFUSED, 0},
    {"int4range", "int4range", REFUSED, 0},
    {"int8range", "int8range", REFUSED, 0},
    {"numrange", "numrange", REFUSED, 0},
    {"tsrange", "tsrange", REFUSED, 0},
    {"tstzrange", "tstzrange", REFUSED, 0},
    {"daterange", "daterange", REFUSED, 0},
    {"int4multirange", "int4multirange", REFUSED, 0},
    {"int8multirange", "int8multirange", REFUSED, 0},
    {"nummultirange", "nummultirange", REFUSED, 0},
    {"tsmultirange", "tsmultirange", REFUSED, 0},
    {"tstzmultirange", "tstzmultirange", REFUSED, 0},
    {"datemultirange", "datemultirange", REFUSED, 0},
    {"bit", "bit", REFUSED, 0},
    {"varbit", "bit varying", REFUSED, 0},
    {"pg_lsn", "pg_lsn", REFUSED, 0},
    {"pg_snapshot", "pg_snapshot", REFUSED, 0},
    {"txid_snapshot", "txid_snapshot", REFUSED, 0},
    {"jsonpath", "jsonpath", REFUSED, 0},
    {"name", "name", REFUSED, 0},
    {"char", "\"char\"", REFUSED, 0},
    {"oid", "oid", REFUSED, 0},
    {"xid", "xid", REFUSED, 0},
    {"xid8", "xid8", REFUSED, 0},
    {"cid", "cid", REFUSED, 0},
    {"tid", "tid", REFUSED, 0},
    {"regclass", "regclass", REFUSED, 0},
    {"regtype", "regtype", REFUSED, 0},
    {"regproc", "regproc", REFUSED, 0},
    {"regprocedure", "regprocedure", REFUSED, 0},
    {"regoper", "regoper", REFUSED, 0},
    {"regoperator", "regoperator", REFUSED, 0},
    {"regrole", "regrole", REFUSED, 0},
    {"regnamespace", "regnamespace", REFUSED, 0},
    {"regconfig", "regconfig", REFUSED, 0},
    {"regdictionary", "regdictionary", REFUSED, 0},
    {"regcollation", "regcollation", REFUSED, 0},
    {"refcursor", "refcursor", REFUSED, 0},
    {"serial", "serial", MISSING, 0},
    {"serial2", "serial2", MISSING, 0},
    {"serial4", "serial4", MISSING, 0},
    {"serial8", "serial8", MISSING, 0},
    {"smallserial", "smallserial", MISSING, 0},
    {"bigserial", "bigserial", MISSING, 0},
};

/* Declared lengths that are too much, and how the service names the type then. */
static const struct {
    const char *name, *called;
    int64_t max;
} length_limits[] = {
    {"bpchar", "char", 4096},
    {"varchar", "varchar", 65535},
};

enum { NUMERIC_PRECISION_MAX = 1000 };

static const struct type_row *find(struct dsql_span name)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++)
        if (dsql_span_eq(name, dsql_span_of(rows[i].name)))
            return &rows[i];
    return NULL;
}

/* The last of the names, and whether the ones before allow it to be PostgreSQL's own type. */
static bool read_name(struct dsql_tree names, char *memory, size_t cap)
{
    bool builtin = true;
    for (struct dsql_tree e = dsql_tree_first(names); e.ptr; e = dsql_tree_next(e)) {
        struct dsql_strbuf name;
        dsql_strbuf_init(&name, memory, cap);
        dsql_tree_text(dsql_tree_string(e), &name);
        if (dsql_tree_next(e).ptr)
            builtin = dsql_tree_is(dsql_tree_string(e), "pg_catalog");
    }
    return builtin;
}

void dsql_sql_type_read(struct dsql_tree type_name, struct dsql_sql_type *type)
{
    *type = (struct dsql_sql_type){.use = DSQL_SQL_TYPE_UNKNOWN, .length = -1};
    bool builtin = read_name(dsql_tree_get(type_name, "names"), type->name, sizeof(type->name));
    const struct type_row *row = builtin ? find(dsql_span_of(type->name)) : NULL;
    bool array = dsql_tree_get(type_name, "arrayBounds").ptr != NULL;
    (void)snprintf(type->shown, sizeof(type->shown), "%s%s", row ? row->shown : type->name,
                   array ? "[]" : "");
    (void)dsql_tree_int(dsql_tree_first(dsql_tree_get(type_name, "typmods")), &type->length);
    if (row) {
        type->use = row->use;
        type->bytes = row->bytes != DECLARED ? row->bytes : type->length > 0 ? type->length : 0;
    }
    if (array && type->use != DSQL_SQL_TYPE_MISSING)
        type->use = DSQL_SQL_TYPE_REFUSED;
}

static bool check_length(const struct dsql_sql_type *type, struct dsql_sql_refusal *refusal)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(length_limits); i++) {
        if (strcmp(type->name, length_limits[i].name) == 0 && type->length > length_limits[i].max) {
            dsql_sql_refuse(refusal, "54000",
                            "Datatype limit greater than %lld bytes not supported for %s",
                            (long long)length_limits[i].max, length_limits[i].called);
            return false;
        }
    }
    if (strcmp(type->name, "numeric") == 0 && type->length > NUMERIC_PRECISION_MAX) {
        dsql_sql_refuse(refusal, "22023", "NUMERIC precision %lld must be between 1 and %d",
                        (long long)type->length, NUMERIC_PRECISION_MAX);
        return false;
    }
    return true;
}

bool dsql_sql_type_check_column(const struct dsql_sql_type *type, struct dsql_sql_refusal *refusal)
{
    switch (type->use) {
    case DSQL_SQL_TYPE_MISSING:
        dsql_sql_refuse(refusal, "42704", "type \"%s\" does not exist", type->name);
        return false;
    case DSQL_SQL_TYPE_REFUSED:
        dsql_sql_refuse(refusal, "0A000", "datatype %s not supported", type->shown);
        return false;
    case DSQL_SQL_TYPE_UNKNOWN:
        return true;
    case DSQL_SQL_TYPE_KEY:
    case DSQL_SQL_TYPE_COLUMN:
        break;
    }
    return check_length(type, refusal);
}

bool dsql_sql_type_check_key(const struct dsql_sql_type *type, struct dsql_sql_refusal *refusal)
{
    if (type->use == DSQL_SQL_TYPE_KEY || type->use == DSQL_SQL_TYPE_UNKNOWN)
        return true;
    dsql_sql_refuse(refusal, "0A000", "datatype %s is not supported in a key", type->shown);
    return false;
}

bool dsql_sql_type_check_key_name(struct dsql_span name, struct dsql_sql_refusal *refusal)
{
    const struct type_row *row = find(name);
    if (!row || row->use == DSQL_SQL_TYPE_KEY)
        return true;
    dsql_sql_refuse(refusal, "0A000", "datatype %s is not supported in a key", row->shown);
    return false;
}

/*
 * Rules for tables, their columns and keys, indexes and sequences. What needs the catalogue (the
 * types of an existing table's columns, how many indexes it has) is not judged here.
 */
#include <stdio.h>

#include "local/rules/sql_rules.h"
#include "local/rules/sql_type.h"

enum {
    KEY_COLUMNS_MAX = 8,
    KEY_BYTES_MAX = 2000,
    TABLE_COLUMNS_MAX = 256, /* the service's own message says 255; 256 pass */
    TABLE_INDEXES_MAX = 24,  /* the primary key's and those of UNIQUE included */
    CACHE_MIN = 65536,       /* of a sequence; or 1 */
};

static const char cache_advice[] =
    "is not supported without an explicit cache size. please define CACHE greater than or equal to "
    "65536 or equal to 1";

static bool is_constraint(struct dsql_tree constraint, const char *type)
{
    return dsql_tree_is(dsql_tree_get(constraint, "contype"), type);
}

static bool is_key(struct dsql_tree constraint)
{
    return is_constraint(constraint, "CONSTR_PRIMARY") ||
           is_constraint(constraint, "CONSTR_UNIQUE");
}

/* False if there is no CACHE; *cache is 0 for one that is no number. */
static bool find_cache(struct dsql_tree options, int64_t *cache)
{
    struct dsql_tree arg;
    *cache = 0;
    if (!dsql_sql_option(options, "cache", &arg))
        return false;
    (void)dsql_tree_int(arg, cache);
    return true;
}

static bool is_cache_size(int64_t cache)
{
    return cache == 1 || cache >= CACHE_MIN;
}

/* stmt is the Constraint of an identity column. A size that is not allowed is class 22 here, and
 * 0A000 in CREATE SEQUENCE. */
void dsql_sql_check_identity(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    int64_t cache;
    if (!dsql_sql_judge_has(judge, DSQL_SQL_SEQUENCE_SINCE))
        dsql_sql_judge_unsupported(judge, "identity column not supported");
    else if (!find_cache(dsql_tree_get(stmt, "options"), &cache))
        dsql_sql_judge_unsupported(judge, "identity column %s", cache_advice);
    else if (!is_cache_size(cache))
        dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, "22023",
                              "CACHE (%lld) must be greater than or equal to %d or equal to 1",
                              (long long)cache, CACHE_MIN);
}

static void check_sequence_type(struct dsql_sql_judge *judge, struct dsql_tree type_name)
{
    struct dsql_sql_type type;
    dsql_sql_type_read(type_name, &type);
    if (strcmp(type.name, "int2") == 0 || strcmp(type.name, "int4") == 0)
        dsql_sql_judge_unsupported(judge, "datatype %s not supported, sequence type must be bigint",
                                   type.shown);
    else if (strcmp(type.name, "int8") != 0)
        dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, "22023", "sequence type must be bigint");
}

void dsql_sql_check_sequence(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree options = dsql_tree_get(stmt, "options"), as;
    int64_t cache;
    if (dsql_tree_is(dsql_tree_get(dsql_tree_get(stmt, "sequence"), "relpersistence"), "t"))
        dsql_sql_judge_unsupported(judge,
                                   "TEMPORARY or TEMP sequence not supported for CREATE SEQUENCE");
    if (!find_cache(options, &cache) || !is_cache_size(cache))
        dsql_sql_judge_unsupported(judge, "CREATE SEQUENCE %s", cache_advice);
    if (dsql_sql_option(options, "as", &as))
        check_sequence_type(judge, dsql_tree_as(as, "TypeName"));
}

/* Whether the type came to the service later than the day we are on. */
static bool is_too_new(const struct dsql_sql_judge *judge, const struct dsql_sql_type *type)
{
    bool json = strcmp(type->name, "json") == 0, jsonb = strcmp(type->name, "jsonb") == 0;
    return type->use == DSQL_SQL_TYPE_COLUMN &&
           ((json && !dsql_sql_judge_has(judge, DSQL_SQL_JSON_SINCE)) ||
            (jsonb && !dsql_sql_judge_has(judge, DSQL_SQL_JSONB_SINCE)));
}

/* stmt is a ColumnDef: its type and collation. */
void dsql_sql_check_column(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_sql_type type;
    struct dsql_sql_refusal refusal;
    dsql_sql_type_read(dsql_tree_get(stmt, "typeName"), &type);
    if (!dsql_sql_type_check_column(&type, &refusal))
        dsql_sql_judge_add(judge, &refusal);
    if (is_too_new(judge, &type))
        dsql_sql_judge_unsupported(judge, "datatype %s not supported", type.shown);
    if (dsql_tree_get(stmt, "collClause").ptr)
        dsql_sql_judge_unsupported(judge, "COLLATE clause not supported");
    if (dsql_tree_get(stmt, "compression").ptr)
        dsql_sql_judge_unsupported(judge, "COMPRESSION clause not supported");
}

static void check_deferrable(struct dsql_sql_judge *judge, struct dsql_tree constraint,
                             bool deferrable)
{
    if (deferrable && is_key(constraint))
        dsql_sql_judge_unsupported(judge, "DEFERRABLE not supported for %s constraint",
                                   is_constraint(constraint, "CONSTR_UNIQUE") ? "UNIQUE"
                                                                              : "PRIMARY KEY");
}

static void check_foreign(struct dsql_sql_judge *judge, struct dsql_tree constraint)
{
    if (is_constraint(constraint, "CONSTR_FOREIGN") &&
        !dsql_sql_judge_has(judge, DSQL_SQL_FOREIGN_KEY_SINCE))
        dsql_sql_judge_unsupported(judge, "FOREIGN KEY constraint not supported");
}

/* The constraints written behind a column's type. */
static void check_column_constraints(struct dsql_sql_judge *judge, struct dsql_tree column)
{
    struct dsql_sql_type type;
    struct dsql_tree last = {NULL}; /* the constraint that DEFERRABLE belongs to */
    struct dsql_tree list = dsql_tree_get(column, "constraints");
    dsql_sql_type_read(dsql_tree_get(column, "typeName"), &type);
    for (struct dsql_tree e = dsql_tree_first(list); e.ptr; e = dsql_tree_next(e)) {
        struct dsql_tree constraint = dsql_tree_as(e, "Constraint");
        check_foreign(judge, constraint);
        if (is_constraint(constraint, "CONSTR_IDENTITY")) {
            dsql_sql_check_identity(judge, constraint);
            if (strcmp(type.name, "int8") != 0)
                dsql_sql_judge_unsupported(
                    judge, "datatype %s not supported, identity column type must be bigint",
                    type.shown);
        }
        bool deferrable = is_constraint(constraint, "CONSTR_ATTR_DEFERRABLE") ||
                          is_constraint(constraint, "CONSTR_ATTR_DEFERRED");
        check_deferrable(judge, last, deferrable);
        last = constraint;
    }
}

static struct dsql_tree find_column(struct dsql_tree elements, struct dsql_tree name)
{
    char wanted[DSQL_SQL_NAME_MAX];
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, wanted, sizeof(wanted));
    dsql_tree_text(name, &text);
    for (struct dsql_tree e = dsql_tree_first(elements); e.ptr; e = dsql_tree_next(e)) {
        struct dsql_tree column = dsql_tree_as(e, "ColumnDef");
        if (dsql_tree_is(dsql_tree_get(column, "colname"), wanted))
            return column;
    }
    return (struct dsql_tree){NULL};
}

/* One column of a key: may its type be there, and how much does it add to the key's size? */
static int64_t check_key_column(struct dsql_sql_judge *judge, struct dsql_tree column)
{
    struct dsql_sql_type type;
    struct dsql_sql_refusal refusal;
    dsql_sql_type_read(dsql_tree_get(column, "typeName"), &type);
    if (!dsql_sql_type_check_key(&type, &refusal))
        dsql_sql_judge_add(judge, &refusal);
    else if (strcmp(type.name, "numeric") == 0 &&
             !dsql_sql_judge_has(judge, DSQL_SQL_NUMERIC_KEY_SINCE))
        dsql_sql_judge_unsupported(judge, "datatype numeric is not supported in a key");
    return type.bytes;
}

static void check_key_size(struct dsql_sql_judge *judge, int64_t bytes)
{
    if (bytes > KEY_BYTES_MAX)
        dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, "54000",
                              "key size greater than %d bytes not supported", KEY_BYTES_MAX);
}

static void check_key_count(struct dsql_sql_judge *judge, size_t count)
{
    if (count > KEY_COLUMNS_MAX)
        dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, "54011",
                              "more than %d column keys in an index are not supported",
                              KEY_COLUMNS_MAX);
}

/* PRIMARY KEY (a, b), UNIQUE (c) */
static void check_table_key(struct dsql_sql_judge *judge, struct dsql_tree elements,
                            struct dsql_tree keys)
{
    int64_t bytes = 0;
    size_t count = dsql_tree_count(keys);
    check_key_count(judge, count);
    if (count > KEY_COLUMNS_MAX)
        return;
    for (struct dsql_tree e = dsql_tree_first(keys); e.ptr; e = dsql_tree_next(e)) {
        struct dsql_tree column = find_column(elements, dsql_tree_string(e));
        if (column.ptr) /* else PostgreSQL says what is wrong */
            bytes += check_key_column(judge, column);
    }
    check_key_size(judge, bytes);
}

static void check_table_constraint(struct dsql_sql_judge *judge, struct dsql_tree elements,
                                   struct dsql_tree constraint)
{
    if (is_constraint(constraint, "CONSTR_EXCLUSION"))
        dsql_sql_judge_unsupported(judge, "EXCLUDE constraint not supported");
    check_foreign(judge, constraint);
    check_deferrable(judge, constraint, dsql_tree_true(dsql_tree_get(constraint, "deferrable")));
    if (is_key(constraint))
        check_table_key(judge, elements, dsql_tree_get(constraint, "keys"));
}

/* Whether a column definition has a constraint of that kind. */
static bool column_has(struct dsql_tree column, const char *type)
{
    struct dsql_tree list = dsql_tree_get(column, "constraints");
    for (struct dsql_tree e = dsql_tree_first(list); e.ptr; e = dsql_tree_next(e))
        if (is_constraint(dsql_tree_as(e, "Constraint"), type))
            return true;
    return false;
}

static bool column_is_key(struct dsql_tree column)
{
    return column_has(column, "CONSTR_PRIMARY") || column_has(column, "CONSTR_UNIQUE");
}

/* How much a table declares. */
struct extent {
    size_t columns, keys;
    bool primary;
};

static struct extent measure(struct dsql_tree elements)
{
    struct extent extent = {0, 0, false};
    for (struct dsql_tree e = dsql_tree_first(elements); e.ptr; e = dsql_tree_next(e)) {
        struct dsql_tree column = dsql_tree_as(e, "ColumnDef");
        struct dsql_tree constraint = dsql_tree_as(e, "Constraint");
        extent.columns += column.ptr != NULL;
        extent.keys += column_is_key(column) || is_key(constraint);
        extent.primary = extent.primary || column_has(column, "CONSTR_PRIMARY") ||
                         is_constraint(constraint, "CONSTR_PRIMARY");
    }
    return extent;
}

/* False if there is too much: the parts are then not looked at. */
static bool check_extent(struct dsql_sql_judge *judge, struct dsql_tree elements)
{
    struct extent extent = measure(elements);
    if (extent.columns > TABLE_COLUMNS_MAX && extent.primary)
        dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, "54011",
                              "cannot use more than %d columns in an index", TABLE_COLUMNS_MAX);
    else if (extent.columns > TABLE_COLUMNS_MAX)
        dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, "54011", "tables can have at most %d columns",
                              TABLE_COLUMNS_MAX - 1);
    if (extent.keys > TABLE_INDEXES_MAX)
        dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, "54000",
                              "more than %d indexes per table are not allowed", TABLE_INDEXES_MAX);
    return extent.columns <= TABLE_COLUMNS_MAX && extent.keys <= TABLE_INDEXES_MAX;
}

static void check_elements(struct dsql_sql_judge *judge, struct dsql_tree elements)
{
    if (!check_extent(judge, elements))
        return;
    for (struct dsql_tree e = dsql_tree_first(elements); e.ptr; e = dsql_tree_next(e)) {
        struct dsql_tree column = dsql_tree_as(e, "ColumnDef");
        struct dsql_tree constraint = dsql_tree_as(e, "Constraint");
        if (column.ptr) {
            dsql_sql_check_column(judge, column);
            check_column_constraints(judge, column);
            if (column_is_key(column))
                check_key_size(judge, check_key_column(judge, column));
        }
        if (constraint.ptr)
            check_table_constraint(judge, elements, constraint);
    }
}

void dsql_sql_check_create_table(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    /* Clauses that must not be there. PARTITION OF is written as inheritance too, so it is first.
     */
    static const struct {
        const char *field, *clause;
    } clauses[] = {
        {"partbound", "PARTITION OF"}, {"partspec", "PARTITION BY"},
        {"inhRelations", "INHERITS"},  {"ofTypename", "OF"},
        {"accessMethod", "USING"},     {"tablespacename", "TABLESPACE"},
        {"options", "WITH"},
    };
    struct dsql_tree persistence = dsql_tree_get(dsql_tree_get(stmt, "relation"), "relpersistence");
    if (dsql_tree_is(persistence, "t"))
        dsql_sql_judge_unsupported(judge, "TEMPORARY or TEMP table not supported for CREATE TABLE");
    if (dsql_tree_is(persistence, "u"))
        dsql_sql_judge_unsupported(judge, "UNLOGGED table not supported for CREATE TABLE");
    for (size_t i = 0; i < DSQL_COUNT_OF(clauses); i++)
        if (dsql_tree_get(stmt, clauses[i].field).ptr)
            dsql_sql_judge_unsupported(judge, "%s clause not supported for CREATE TABLE",
                                       clauses[i].clause);
    check_elements(judge, dsql_tree_get(stmt, "tableElts"));
}

static void check_index_element(struct dsql_sql_judge *judge, struct dsql_tree element)
{
    if (!dsql_tree_is(dsql_tree_get(element, "ordering"), "SORTBY_DEFAULT"))
        dsql_sql_judge_unsupported(judge, "specifying sort order not supported for index keys");
    if (dsql_tree_get(element, "expr").ptr &&
        !dsql_sql_judge_has(judge, DSQL_SQL_INDEX_EXPRESSION_SINCE))
        dsql_sql_judge_unsupported(judge, "expressions not supported for index keys");
    if (dsql_tree_get(element, "opclass").ptr)
        dsql_sql_judge_unsupported(judge, "opclass not supported for index keys");
    if (dsql_tree_get(element, "collation").ptr)
        dsql_sql_judge_unsupported(judge, "COLLATE clause not supported");
}

void dsql_sql_check_index(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree keys = dsql_tree_get(stmt, "indexParams");
    dsql_sql_judge_name(judge, dsql_tree_get(stmt, "idxname"));
    if (dsql_tree_true(dsql_tree_get(stmt, "unique")))
        judge->stmt->flags |= DSQL_SQL_UNIQUE;
    if (dsql_tree_true(dsql_tree_get(stmt, "concurrent")))
        dsql_sql_judge_unsupported(judge, "CONCURRENTLY not supported for CREATE INDEX");
    if (judge->index_using)
        dsql_sql_judge_unsupported(judge, "USING not supported for CREATE INDEX");
    if (dsql_tree_get(stmt, "whereClause").ptr &&
        !dsql_sql_judge_has(judge, DSQL_SQL_PARTIAL_INDEX_SINCE))
        dsql_sql_judge_unsupported(judge, "WHERE not supported for CREATE INDEX");
    if (!judge->async)
        dsql_sql_judge_refuse(judge, DSQL_SQL_SYNC_INDEX_OFF, "0A000",
                              "unsupported mode. please use CREATE INDEX ASYNC.");
    if (dsql_tree_get(stmt, "tableSpace").ptr)
        dsql_sql_judge_unsupported(judge, "TABLESPACE not supported for CREATE INDEX");
    for (struct dsql_tree e = dsql_tree_first(keys); e.ptr; e = dsql_tree_next(e))
        check_index_element(judge, dsql_tree_as(e, "IndexElem"));
    check_key_count(judge, dsql_tree_count(keys));
}

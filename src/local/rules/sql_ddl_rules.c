/*
 * Rules for the rest of DDL: views, schemas, domains, functions, DROP, RENAME, GRANT, statistics.
 */
#include <stdlib.h>

#include "local/rules/sql_rules.h"
#include "local/rules/sql_type.h"

void dsql_sql_check_view(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    if (dsql_tree_is(dsql_tree_get(dsql_tree_get(stmt, "view"), "relpersistence"), "t"))
        dsql_sql_judge_unsupported(judge, "TEMPORARY or TEMP view not supported for CREATE VIEW");
}

void dsql_sql_check_schema(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree list = dsql_tree_get(stmt, "schemaElts");
    dsql_sql_judge_name(judge, dsql_tree_get(stmt, "schemaname"));
    if (dsql_tree_first(list).ptr && !dsql_sql_judge_has(judge, DSQL_SQL_PRIVILEGES_SINCE))
        dsql_sql_judge_unsupported(judge, "CREATE SCHEMA with schema elements not supported");
    for (struct dsql_tree e = dsql_tree_first(list); e.ptr; e = dsql_tree_next(e))
        (void)dsql_sql_judge_inner(judge, e);
}

/* A domain carries its type into columns, where it is no longer looked at. */
void dsql_sql_check_domain(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    dsql_sql_check_column(judge, stmt);
}

/* A domain is never tightened: not with a constraint that is not valid yet either. */
void dsql_sql_check_alter_domain(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree type = dsql_tree_get(stmt, "subtype");
    if (dsql_tree_is(type, "O"))
        dsql_sql_judge_unsupported(judge, "unsupported ALTER DOMAIN SET NOT NULL statement");
    if (dsql_tree_is(type, "C"))
        dsql_sql_judge_unsupported(judge, "unsupported ALTER DOMAIN ADD CONSTRAINT statement");
}

/* What would be refused is refused in a body too. A body that libpg_query can't read is left to
 * PostgreSQL, which reads it now, and to the module there. */
static void check_script(struct dsql_sql_judge *judge, const struct dsql_sql_script *script)
{
    if (script->refusal && strcmp(script->refusal->sqlstate, "42601") != 0)
        dsql_sql_judge_add(judge, script->refusal);
    for (size_t i = 0; i < script->count; i++) {
        const struct dsql_sql_refusal *refusal = script->stmts[i].refusals[0];
        if (refusal && refusal->when == DSQL_SQL_ALWAYS && !refusal->of_call)
            dsql_sql_judge_add(judge, refusal);
    }
}

/* The body of LANGUAGE sql AS '...'. A function that makes a function may go on so, but not for
 * ever. */
static void check_body(struct dsql_sql_judge *judge, struct dsql_tree options)
{
    enum { DEPTH_MAX = 4 };
    static _Thread_local int depth;
    struct dsql_tree as;
    struct dsql_sql_script *script = NULL;
    if (!dsql_sql_option(options, "as", &as))
        return;
    if (depth == DEPTH_MAX) {
        dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, "54001", "stack depth limit exceeded");
        return;
    }
    struct dsql_tree first = dsql_tree_first(dsql_tree_get(dsql_tree_as(as, "List"), "items"));
    char *body = dsql_tree_dup(dsql_tree_string(first));
    depth++;
    if (!body || dsql_sql_script_new_as(dsql_span_of(body), judge->dialect, &script))
        judge->out_of_memory = true;
    else
        check_script(judge, script);
    depth--;
    dsql_sql_script_unref(script);
    free(body);
}

/* A range may be an argument, not a result. */
static void check_result(struct dsql_sql_judge *judge, struct dsql_tree result)
{
    struct dsql_sql_type type;
    if (!result.ptr)
        return;
    dsql_sql_type_read(result, &type);
    if (type.use == DSQL_SQL_TYPE_REFUSED && strstr(type.name, "range"))
        dsql_sql_judge_unsupported(judge, "datatype %s not supported", type.shown);
}

void dsql_sql_check_function(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree language;
    if (dsql_tree_true(dsql_tree_get(stmt, "is_procedure"))) {
        dsql_sql_judge_unsupported(judge, "PROCEDURE is not supported");
        return;
    }
    char name[DSQL_SQL_NAME_MAX] = "sql";
    struct dsql_strbuf text;
    if (dsql_sql_option(dsql_tree_get(stmt, "options"), "language", &language)) {
        dsql_strbuf_init(&text, name, sizeof(name));
        dsql_tree_text(dsql_tree_string(language), &text);
    }
    if (!dsql_span_eq_nocase(dsql_span_of(name), DSQL_SPAN("sql")))
        dsql_sql_judge_unsupported(judge, "CREATE FUNCTION with language %s not supported", name);
    else
        check_body(judge, dsql_tree_get(stmt, "options"));
    check_result(judge, dsql_tree_get(stmt, "returnType"));
}

void dsql_sql_check_alter_function(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    if (dsql_tree_is(dsql_tree_get(stmt, "objtype"), "OBJECT_PROCEDURE"))
        dsql_sql_judge_unsupported(judge, "PROCEDURE is not supported");
}

static bool is_one_of(struct dsql_tree type, const char *const *types, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (dsql_tree_is(type, types[i]))
            return true;
    return false;
}

/* DROP writes names as lists of words: [schema,] name. */
static void note_dropped(struct dsql_sql_judge *judge, struct dsql_tree objects)
{
    for (struct dsql_tree e = dsql_tree_first(objects); e.ptr; e = dsql_tree_next(e)) {
        struct dsql_tree words = dsql_tree_get(dsql_tree_as(e, "List"), "items");
        struct dsql_tree first = dsql_tree_first(words), second = dsql_tree_next(first);
        if (second.ptr)
            dsql_sql_judge_table(judge, dsql_tree_string(first), dsql_tree_string(second));
        else if (first.ptr)
            dsql_sql_judge_table(judge, second, dsql_tree_string(first));
    }
}

void dsql_sql_check_drop(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    static const char *const relations[] = {"OBJECT_TABLE", "OBJECT_VIEW", "OBJECT_INDEX",
                                            "OBJECT_SEQUENCE"};
    static const char *const others[] = {"OBJECT_SCHEMA", "OBJECT_DOMAIN", "OBJECT_FUNCTION",
                                         "OBJECT_ROUTINE", "OBJECT_STATISTIC_EXT"};
    static const char *const triggers[] = {"OBJECT_TRIGGER", "OBJECT_EVENT_TRIGGER"};
    struct dsql_tree type = dsql_tree_get(stmt, "removeType");
    if (is_one_of(type, relations, DSQL_COUNT_OF(relations)))
        note_dropped(judge, dsql_tree_get(stmt, "objects"));
    else if (is_one_of(type, triggers, DSQL_COUNT_OF(triggers)) &&
             dsql_tree_true(dsql_tree_get(stmt, "missing_ok")))
        return; /* there is none, and PostgreSQL says so in a notice */
    else if (!is_one_of(type, others, DSQL_COUNT_OF(others)))
        dsql_sql_judge_unsupported(judge, "unsupported object in DROP statement");
    if (dsql_tree_is(type, "OBJECT_DOMAIN") &&
        dsql_tree_is(dsql_tree_get(stmt, "behavior"), "DROP_CASCADE"))
        dsql_sql_judge_unsupported(judge, "DROP DOMAIN with CASCADE unsupported");
    if (dsql_tree_is(type, "OBJECT_INDEX") && dsql_tree_true(dsql_tree_get(stmt, "concurrent")))
        dsql_sql_judge_unsupported(judge,
                                   "DROP INDEX CONCURRENTLY must be first action in transaction");
}

void dsql_sql_check_rename(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    static const char *const types[] = {
        "OBJECT_TABLE",         "OBJECT_COLUMN",        "OBJECT_TABCONSTRAINT", "OBJECT_VIEW",
        "OBJECT_INDEX",         "OBJECT_SEQUENCE",      "OBJECT_SCHEMA",        "OBJECT_DOMAIN",
        "OBJECT_FUNCTION",      "OBJECT_DOMCONSTRAINT", "OBJECT_ROUTINE",       "OBJECT_ROLE",
        "OBJECT_STATISTIC_EXT",
    };
    struct dsql_tree type = dsql_tree_get(stmt, "renameType");
    bool too_new =
        dsql_tree_is(type, "OBJECT_ROLE") && !dsql_sql_judge_has(judge, DSQL_SQL_PRIVILEGES_SINCE);
    if (too_new || !is_one_of(type, types, DSQL_COUNT_OF(types)))
        dsql_sql_judge_unsupported(judge, "unsupported object in RENAME statement");
}

/* What there is one of, or none, in a cluster; and public and sys, which belong to the service. */
void dsql_sql_check_grant(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    static const char *const owned[] = {"public", "sys"};
    static const char *const refused[] = {
        "OBJECT_DATABASE",    "OBJECT_FDW",           "OBJECT_FOREIGN_SERVER", "OBJECT_LANGUAGE",
        "OBJECT_LARGEOBJECT", "OBJECT_PARAMETER_ACL", "OBJECT_TABLESPACE"};
    struct dsql_tree type = dsql_tree_get(stmt, "objtype");
    if (is_one_of(type, refused, DSQL_COUNT_OF(refused)))
        dsql_sql_judge_unsupported(judge, "unsupported object type in GRANT");
    if (!dsql_tree_is(dsql_tree_get(stmt, "targtype"), "ACL_TARGET_OBJECT") ||
        !dsql_tree_is(type, "OBJECT_SCHEMA"))
        return;
    struct dsql_tree list = dsql_tree_get(stmt, "objects");
    for (struct dsql_tree e = dsql_tree_first(list); e.ptr; e = dsql_tree_next(e))
        if (is_one_of(dsql_tree_string(e), owned, DSQL_COUNT_OF(owned)))
            dsql_sql_judge_unsupported(judge, "feature not supported on system entity");
}

void dsql_sql_check_statistics(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    enum { TARGET_MAX = 100 };
    int64_t target;
    if (dsql_tree_int(dsql_tree_get(stmt, "stxstattarget"), &target) && target > TARGET_MAX)
        dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, "22023",
                              "statistics target %lld exceeds maximum allowed value of %d",
                              (long long)target, TARGET_MAX);
}

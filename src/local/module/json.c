/*
 * Functions that stand in for SQL/JSON of PostgreSQL 16 (rules/sql_pg16.h): JSON_ARRAY, JSON_OBJECT
 * and IS JSON. The values become text as to_json() makes it.
 */
#include "local/module/module.h"

#include <catalog/pg_type.h>
#include <common/jsonapi.h>
#include <fmgr.h>
#include <funcapi.h>
#include <lib/stringinfo.h>
#include <nodes/makefuncs.h>
#include <utils/builtins.h>
#include <utils/fmgroids.h>
#include <utils/json.h>
#include <utils/jsonfuncs.h>

/* The arguments of VARIADIC "any". */
struct values {
    Datum *all;
    Oid *types;
    bool *nulls;
    int count; /* -1: the array that was given for them is NULL */
};

static struct values values_from(FunctionCallInfo fcinfo, int first)
{
    struct values values;
    values.count =
        extract_variadic_args(fcinfo, first, true, &values.all, &values.types, &values.nulls);
    return values;
}

/* to_json() looks up the type of its argument in the expression that calls it. */
static char *json_of(Datum value, Oid type)
{
    FmgrInfo to_json;
    Const *arg = makeNullConst(type, -1, InvalidOid);
    fmgr_info(F_TO_JSON, &to_json);
    fmgr_info_set_expr((Node *)makeFuncExpr(F_TO_JSON, JSONOID, list_make1(arg), InvalidOid,
                                            InvalidOid, COERCE_EXPLICIT_CALL),
                       &to_json);
    return TextDatumGetCString(FunctionCall1(&to_json, value));
}

static void add_value(StringInfo out, const struct values *values, int i)
{
    appendStringInfoString(out,
                           values->nulls[i] ? "null" : json_of(values->all[i], values->types[i]));
}

/* A key is a string, whatever the value is. */
static void add_key(StringInfo out, const struct values *values, int i)
{
    if (values->nulls[i])
        ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
                        errmsg("null value not allowed for object key")));
    char *key = json_of(values->all[i], values->types[i]);
    if (key[0] == '{' || key[0] == '[' || values->types[i] == JSONOID ||
        values->types[i] == JSONBOID)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("key value must be scalar, not array, composite, or json")));
    if (key[0] == '"')
        appendStringInfoString(out, key);
    else
        escape_json(out, key);
}

static Datum make_array(FunctionCallInfo fcinfo, int first, bool absent)
{
    struct values values = values_from(fcinfo, first);
    StringInfoData out;
    const char *separator = "";
    if (values.count < 0)
        PG_RETURN_NULL();
    initStringInfo(&out);
    appendStringInfoChar(&out, '[');
    for (int i = 0; i < values.count; i++) {
        if (absent && values.nulls[i])
            continue;
        appendStringInfoString(&out, separator);
        separator = ", ";
        add_value(&out, &values, i);
    }
    appendStringInfoChar(&out, ']');
    PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

PGDLLEXPORT Datum dsql_json_array(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_json_array);
Datum dsql_json_array(PG_FUNCTION_ARGS)
{
    return make_array(fcinfo, 0, true);
}

PGDLLEXPORT Datum dsql_json_array_nulls(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_json_array_nulls);
Datum dsql_json_array_nulls(PG_FUNCTION_ARGS)
{
    return make_array(fcinfo, 1, !PG_ARGISNULL(0) && PG_GETARG_BOOL(0));
}

PGDLLEXPORT Datum dsql_json_object(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_json_object);
Datum dsql_json_object(PG_FUNCTION_ARGS)
{
    struct values values = values_from(fcinfo, 1);
    bool absent = !PG_ARGISNULL(0) && PG_GETARG_BOOL(0);
    StringInfoData out;
    const char *separator = "";
    if (values.count < 0)
        PG_RETURN_NULL();
    if (values.count % 2 != 0)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("argument list must have even number of elements")));
    initStringInfo(&out);
    appendStringInfoChar(&out, '{');
    for (int i = 0; i < values.count; i += 2) {
        if (absent && values.nulls[i + 1])
            continue;
        appendStringInfoString(&out, separator);
        separator = ", ";
        add_key(&out, &values, i);
        appendStringInfoString(&out, " : ");
        add_value(&out, &values, i + 1);
    }
    appendStringInfoChar(&out, '}');
    PG_RETURN_TEXT_P(cstring_to_text_with_len(out.data, out.len));
}

static bool is_json(text *json, const char *kind)
{
    if (pg_parse_json(makeJsonLexContext(json, false), &nullSemAction) != JSON_SUCCESS)
        return false;
    const char *at = VARDATA_ANY(json);
    at += strspn(at, " \t\n\r"); /* there is something else, since it is valid */
    if (strcmp(kind, "object") == 0)
        return *at == '{';
    if (strcmp(kind, "array") == 0)
        return *at == '[';
    return strcmp(kind, "scalar") != 0 || (*at != '{' && *at != '[');
}

/* NOT (value IS [NOT] JSON kind); the third argument says whether NOT stands there. */
PGDLLEXPORT Datum dsql_not_json(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_not_json);
Datum dsql_not_json(PG_FUNCTION_ARGS)
{
    bool is = is_json(PG_GETARG_TEXT_PP(0), text_to_cstring(PG_GETARG_TEXT_PP(1)));
    PG_RETURN_BOOL(is == PG_GETARG_BOOL(2));
}

/* Functions that PostgreSQL 16 has and 15 has not (process/pg16.def). */
#include "local/module/module.h"

#include <access/htup_details.h>
#include <access/xact.h>
#include <catalog/pg_type.h>
#include <common/pg_prng.h>
#include <fmgr.h>
#include <funcapi.h>
#include <math.h>
#include <parser/parse_type.h>
#include <utils/array.h>
#include <utils/builtins.h>
#include <utils/lsyscache.h>
#include <utils/memutils.h>
#include <utils/resowner.h>

PGDLLEXPORT Datum dsql_erf(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_erf);
Datum dsql_erf(PG_FUNCTION_ARGS)
{
    PG_RETURN_FLOAT8(erf(PG_GETARG_FLOAT8(0)));
}

PGDLLEXPORT Datum dsql_erfc(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_erfc);
Datum dsql_erfc(PG_FUNCTION_ARGS)
{
    PG_RETURN_FLOAT8(erfc(PG_GETARG_FLOAT8(0)));
}

static void swap(Datum *elements, bool *nulls, int a, int b)
{
    Datum element = elements[a];
    bool null = nulls[a];
    elements[a] = elements[b];
    nulls[a] = nulls[b];
    elements[b] = element;
    nulls[b] = null;
}

/* So many items of the array's first dimension, in any order; first_at is the number of the first
 * one of them. */
static ArrayType *pick(ArrayType *array, int items, int first_at)
{
    int dims[MAXDIM], bounds[MAXDIM], count;
    int16 len;
    bool by_value, *nulls;
    char align;
    Datum *elements;
    Oid type = ARR_ELEMTYPE(array);
    get_typlenbyvalalign(type, &len, &by_value, &align);
    deconstruct_array(array, type, len, by_value, align, &elements, &nulls, &count);
    int had = ARR_DIMS(array)[0], size = count / had; /* of an item */
    for (int i = 0; i < items; i++) {
        int from = (int)pg_prng_uint64_range(&pg_global_prng_state, (uint64)i, (uint64)had - 1);
        for (int k = 0; k < size; k++)
            swap(elements, nulls, i * size + k, from * size + k);
    }
    memcpy(dims, ARR_DIMS(array), sizeof(*dims) * (size_t)ARR_NDIM(array));
    memcpy(bounds, ARR_LBOUND(array), sizeof(*bounds) * (size_t)ARR_NDIM(array));
    dims[0] = items;
    bounds[0] = first_at;
    return construct_md_array(elements, nulls, ARR_NDIM(array), dims, bounds, type, len, by_value,
                              align);
}

PGDLLEXPORT Datum dsql_array_shuffle(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_array_shuffle);
Datum dsql_array_shuffle(PG_FUNCTION_ARGS)
{
    ArrayType *array = PG_GETARG_ARRAYTYPE_P(0);
    if (ARR_NDIM(array) < 1 || ARR_DIMS(array)[0] < 2)
        PG_RETURN_ARRAYTYPE_P(array);
    PG_RETURN_ARRAYTYPE_P(pick(array, ARR_DIMS(array)[0], ARR_LBOUND(array)[0]));
}

PGDLLEXPORT Datum dsql_array_sample(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_array_sample);
Datum dsql_array_sample(PG_FUNCTION_ARGS)
{
    ArrayType *array = PG_GETARG_ARRAYTYPE_P(0);
    int items = PG_GETARG_INT32(1), had = ARR_NDIM(array) < 1 ? 0 : ARR_DIMS(array)[0];
    if (items < 0 || items > had)
        ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                        errmsg("sample size must be between 0 and %d", had)));
    if (items == 0)
        PG_RETURN_ARRAYTYPE_P(construct_empty_array(ARR_ELEMTYPE(array)));
    PG_RETURN_ARRAYTYPE_P(pick(array, items, 1));
}

/* What a type's input function says to a text; NULL if it takes it. It runs in a transaction of its
 * own, since it may leave things behind when it fails. */
static ErrorData *input_error(text *value, text *type_name)
{
    MemoryContext memory = CurrentMemoryContext;
    ResourceOwner owner = CurrentResourceOwner;
    ErrorData *volatile error = NULL;
    Oid type, input, parameter;
    int32 modifier;
    parseTypeString(text_to_cstring(type_name), &type, &modifier, false);
    getTypeInputInfo(type, &input, &parameter);
    BeginInternalSubTransaction(NULL);
    MemoryContextSwitchTo(memory);
    PG_TRY();
    {
        (void)OidInputFunctionCall(input, text_to_cstring(value), parameter, modifier);
        ReleaseCurrentSubTransaction();
    }
    PG_CATCH();
    {
        MemoryContextSwitchTo(memory);
        error = CopyErrorData();
        FlushErrorState();
        RollbackAndReleaseCurrentSubTransaction();
    }
    PG_END_TRY();
    MemoryContextSwitchTo(memory);
    CurrentResourceOwner = owner;
    /* Out of memory, ended, too deep: that says nothing about the value. */
    if (error) {
        int class = ERRCODE_TO_CATEGORY(error->sqlerrcode);
        if (class == ERRCODE_INSUFFICIENT_RESOURCES || class == ERRCODE_OPERATOR_INTERVENTION ||
            error->sqlerrcode == ERRCODE_STATEMENT_TOO_COMPLEX)
            ReThrowError(error);
    }
    return error;
}

PGDLLEXPORT Datum dsql_input_is_valid(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_input_is_valid);
Datum dsql_input_is_valid(PG_FUNCTION_ARGS)
{
    PG_RETURN_BOOL(!input_error(PG_GETARG_TEXT_PP(0), PG_GETARG_TEXT_PP(1)));
}

PGDLLEXPORT Datum dsql_input_error_info(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(dsql_input_error_info);
Datum dsql_input_error_info(PG_FUNCTION_ARGS)
{
    const ErrorData *error = input_error(PG_GETARG_TEXT_PP(0), PG_GETARG_TEXT_PP(1));
    TupleDesc row;
    Datum values[4] = {0};
    bool nulls[4] = {true, true, true, true};
    if (get_call_result_type(fcinfo, NULL, &row) != TYPEFUNC_COMPOSITE)
        elog(ERROR, "the result is no row");
    const char *const fields[4] = {error ? error->message : NULL, error ? error->detail : NULL,
                                   error ? error->hint : NULL,
                                   error ? unpack_sql_state(error->sqlerrcode) : NULL};
    for (int i = 0; i < 4; i++) {
        nulls[i] = !fields[i];
        if (fields[i])
            values[i] = CStringGetTextDatum(fields[i]);
    }
    PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(row), values, nulls)));
}

#include "local/module/module.h"

#include "local/module/keys.h"
#include "local/module/sizes.h"

#include <access/detoast.h>
#include <access/toast_internals.h>
#include <utils/builtins.h>
#include <utils/rel.h>

/* What the service adds to raw bytes, from what was measured there: 500 rows fitted with 9.93 MiB,
 * and with 9.11 MiB when there were four indexes on 100 bytes each. */
enum { ROW_OVERHEAD = 146, INDEX_OVERHEAD = 430, LOCK_OVERHEAD = 100, MIB = 1 << 20 };

/* A value counts as it is stored: compressed, if that helps. */
enum { VALUE_MOST = 1 << 20, ROW_MOST = 2 << 20 };

static int64 rows, bytes;

static void fail(const char *message, const char *detail)
{
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg_internal(message, detail)));
}

static Size stored_size(Datum value, const FormData_pg_attribute *attribute)
{
    Size raw = toast_raw_datum_size(value) - VARHDRSZ;
    if (raw <= VALUE_MOST)
        return raw;
    Datum plain = PointerGetDatum(PG_DETOAST_DATUM(value));
    Datum pressed = toast_compress_datum(plain, attribute->attcompression);
    return pressed ? VARSIZE(DatumGetPointer(pressed)) - VARHDRSZ : raw;
}

/* The size of a row, whose values are each small enough, as is the whole. */
static Size row_size(TupleTableSlot *row)
{
    Size size = 0;
    slot_getallattrs(row);
    for (int i = 0; i < row->tts_tupleDescriptor->natts; i++) {
        const FormData_pg_attribute *attribute = TupleDescAttr(row->tts_tupleDescriptor, i);
        if (row->tts_isnull[i])
            continue;
        if (attribute->attlen != -1) {
            size += attribute->attlen > 0 ? (Size)attribute->attlen : 0;
            continue;
        }
        Size one = stored_size(row->tts_values[i], attribute);
        if (one > VALUE_MOST)
            fail("datatype limit greater than 1048576 bytes not supported for %s",
                 format_type_be(attribute->atttypid));
        size += one;
    }
    if (size > ROW_MOST)
        fail("maximum row size exceeded", NULL);
    return size;
}

void dsql_sizes_write(Relation rel, TupleTableSlot *row, bool again)
{
    rows += !again;
    if (rows > dsql_row_limit)
        fail("transaction row limit exceeded", NULL);
    bytes += ROW_OVERHEAD;
    if (!row)
        return;
    bytes += (int64)row_size(row);
    int indexes = dsql_keys_index_count(rel);
    bytes += indexes > 1 ? (int64)(indexes - 1) * INDEX_OVERHEAD : 0;
}

int64 dsql_sizes_rows(void)
{
    return rows;
}

void dsql_sizes_lock(void)
{
    bytes += LOCK_OVERHEAD;
}

void dsql_sizes_check(void)
{
    int64 limit = (int64)dsql_size_limit * MIB;
    if (bytes > limit)
        ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                        errmsg("transaction size limit %dmb exceeded", dsql_size_limit),
                        errdetail("Current transaction size %lldmb > %dmb",
                                  (long long)((bytes + MIB - 1) / MIB), dsql_size_limit)));
}

void dsql_sizes_forget(void)
{
    rows = bytes = 0;
}

/* Whether the cluster of a store has the tables that the store's statements were written for. */
#include "schema/schema.h"
#include "temporal/store.h"

enum dsql_rc dsql_store_verify_schema(struct dsql_store *store, int64_t wait_ns,
                                      struct dsql_err *err)
{
    return dsql_schema_verify_pool(&dsql_schema_store, store->pool, wait_ns, err);
}

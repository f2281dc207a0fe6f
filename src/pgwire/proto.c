#include "pgwire/proto.h"

#include <string.h>

static const struct dsql_pg_type_info frontend[] = {
#define ROW(constant, type_, size_) {(type_), DSQL_PG_##size_},
    DSQL_PG_FE_TABLE(ROW)};

static const struct dsql_pg_type_info backend[] = {DSQL_PG_BE_TABLE(ROW)
#undef ROW
};

const struct dsql_pg_type_info *dsql_pg_types(enum dsql_pg_side side, size_t *count)
{
    bool from_client = side == DSQL_PG_FRONTEND;
    *count = from_client ? DSQL_COUNT_OF(frontend) : DSQL_COUNT_OF(backend);
    return from_client ? frontend : backend;
}

enum dsql_rc dsql_pg_refuse(struct dsql_err *err, enum dsql_rc rc, const char sqlstate[6])
{
    if (err)
        memcpy(err->sqlstate, sqlstate, sizeof(err->sqlstate));
    return rc;
}

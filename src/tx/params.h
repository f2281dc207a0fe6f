/* Parameters as libpq wants them: five parallel arrays, numbers in network order. */
#ifndef DSQL_TX_PARAMS_H
#define DSQL_TX_PARAMS_H

#include "base/defs.h"
#include "dsql/err.h"
#include "dsql/stmt.h"

enum { DSQL_PARAMS_INLINE = 24, DSQL_PARAMS_MAX = 65535 };

struct dsql_params {
    int count;
    uint32_t *types;
    const char **values;
    int *lens, *formats;
    void *heap;   /* the arrays, when they do not fit below */
    char *copies; /* texts that had no terminator */
    struct {
        const char *values[DSQL_PARAMS_INLINE];
        uint32_t types[DSQL_PARAMS_INLINE];
        int lens[DSQL_PARAMS_INLINE], formats[DSQL_PARAMS_INLINE];
        unsigned char numbers[DSQL_PARAMS_INLINE][8];
    } own;
};

/* types: the statement's, or NULL. DSQL_INVALID: too many, one too long, or a text
 * that holds a zero byte. The caller's params must
 * stay until fini. */
DSQL_MUST_USE enum dsql_rc dsql_params_init(struct dsql_params *out, const uint32_t *types,
                                            const struct dsql_param *params, size_t count,
                                            struct dsql_err *err);
void dsql_params_fini(struct dsql_params *params);

/* Microseconds from 1970 to 2000, where PostgreSQL's time begins. */
#define DSQL_PG_EPOCH_US INT64_C(946684800000000)

#endif

/* Scripts (dsql/script.h) on any source, with what the store of a Temporal server adds. */
#ifndef DSQL_TX_SCRIPT_H
#define DSQL_TX_SCRIPT_H

#include "dsql/script.h"
#include "tx/source.h"

struct dsql_script {
    const struct dsql_step *steps;
    size_t count;
    struct dsql_step_result *results; /* NULL, or `count` of them */
    /* Before each try; NULL for nothing. May change what the parameters point to. */
    enum dsql_rc (*before)(void *arg, struct dsql_err *err);
    /* Of a step whose expectation did not hold: what to read behind ROLLBACK, in the same message.
     * False for nothing. NULL: nothing ever. */
    bool (*look)(void *arg, size_t step, struct dsql_step *read);
    /* Of a step that failed: the outcome to go by. seen: what was read, NULL if nothing was. NULL:
     * as it came. */
    enum dsql_rc (*judge)(void *arg, size_t step, const struct dsql_rows *seen, enum dsql_rc rc,
                          struct dsql_err *err);
    void *arg;
    size_t failed; /* set: see dsql_script_run() */
};

DSQL_MUST_USE enum dsql_rc dsql_script_run_on(const struct dsql_source *source,
                                              const char *operation, struct dsql_script *script,
                                              const struct dsql_tx_policy *policy,
                                              struct dsql_err *err);

#endif

/*
 * Scripts: transactions whose statements are all known before the first is sent. BEGIN, the
 * statements and COMMIT go out in one message and come back in one, so a script costs one round
 * trip whatever its length.
 *
 *     struct dsql_step steps[] = {
 *         {&TAKE, take, 3, &from},
 *         {&GIVE, give, 3, &to},
 *     };
 *     rc = dsql_script_run(pool, "transfer", steps, 2, NULL, NULL, &failed, &err);
 *
 * COMMIT is sent before the first answer comes. So what a script expects must be an error of the
 * server's where it does not hold: the statement is built with DSQL_RAISING, DSQL_EXPECTING or
 * DSQL_REFUSING. The server skips everything behind an error, COMMIT included: a
 * stale writer can't commit.
 *
 * A script is run again as a whole where dsql_tx_run() would run a transaction again, and its
 * outcomes are the same. It is one statement and no BEGIN nor COMMIT if it has but one step.
 */
#ifndef DSQL_SCRIPT_H
#define DSQL_SCRIPT_H

#include "dsql/tx.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One statement of a script. Everything stays the caller's, and is needed during the call. */
struct dsql_step {
    const struct dsql_stmt *stmt;
    const struct dsql_param *params;
    size_t count; /* of params */
    /* What the statement expects, for the error when it does not hold; NULL for nothing. The
     * statement must be DSQL_STMT_RAISES, and the fence's rows 0. */
    const struct dsql_fence *expect;
};

struct dsql_step_result {
    int64_t affected;       /* rows changed or returned; -1 if that is not known */
    struct dsql_rows *rows; /* the caller frees them; NULL beside -1 */
};

/*
 * Runs a script. policy: NULL for the default one; `single` has no meaning here. results: NULL, or
 * room for `count` of them, which are filled whatever the outcome. They are known (affected is not
 * -1) beside DSQL_OK, unless that was found out by the policy's settle function.
 *
 * *failed (may be NULL): beside a failure the step it belongs to, from 0; `count` if it belongs to
 * none, but to COMMIT, the connection or the deadline. err names the statement.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_script_run(struct dsql_pool *pool, const char *operation,
                                                    const struct dsql_step *steps, size_t count,
                                                    const struct dsql_tx_policy *policy,
                                                    struct dsql_step_result *results,
                                                    size_t *failed, struct dsql_err *err);

#ifdef __cplusplus
}
#endif
#endif

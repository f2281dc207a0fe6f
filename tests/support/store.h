/* What tests of the store share: a pool and a store against the endpoint of the environment (`dsql
 * local exec` or a real cluster), and values to put into it. */
#ifndef DSQL_TESTS_STORE_H
#define DSQL_TESTS_STORE_H

#include "base/rng.h"
#include "dsql/pool.h"
#include "dsql/temporal.h"

struct fixture {
    struct dsql_metrics *metrics;
    struct dsql_pool *pool;
    struct dsql_store *store;
    struct dsql_rng rng;
};

/* Opens with so many connections; NULL options for the store's defaults. Ends the program if that
 * can't be done. */
void fixture_open(struct fixture *f, int connections, const struct dsql_store_options *options);
void fixture_close(struct fixture *f);

/* A second store on the same pool. */
struct dsql_store *fixture_store(struct fixture *f, const struct dsql_store_options *options);

struct dsql_id fixture_id(struct fixture *f);
/* A shard that no other test uses. */
int32_t fixture_shard(struct fixture *f);

/* A statement of the test's own, on the pool; ends the program if it fails. The number in the first
 * column of the first row, or the rows changed. */
int64_t fixture_sql(struct fixture *f, const char *sql);

/* The ways to call an operation: by itself, in a transaction of its own, as a script. */
enum way { POOL, TX, SCRIPT, WAYS };

/* Calls the operation with so many rows of values. */
DSQL_MUST_USE enum dsql_rc fixture_try(struct fixture *f, enum way way, enum dsql_op op,
                                       const struct dsql_param *values, size_t rows,
                                       struct dsql_result *result, struct dsql_err *err);
/* Likewise; ends the program if it fails. */
void fixture_call(struct fixture *f, enum way way, enum dsql_op op, const struct dsql_param *values,
                  size_t rows, struct dsql_result *result);

/* Says what happened, and ends the program. */
#define REQUIRE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fixture_fail(__FILE__, __LINE__, #condition, " " __VA_ARGS__);                         \
    } while (0)
void fixture_fail(const char *file, int line, const char *what, const char *fmt, ...)
    DSQL_PRINTF(4, 5) __attribute__((noreturn));

/* The call succeeds. */
#define REQUIRE_OK(call)                                                                           \
    do {                                                                                           \
        enum dsql_rc rc_ = (call);                                                                 \
        REQUIRE(rc_ == DSQL_OK, "%s: %s", dsql_rc_name(rc_), err.message);                         \
    } while (0)

#endif

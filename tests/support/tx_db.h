/*
 * What tests of transactions on plain connections share: the table t with three rows, the source
 * under test, somebody else, and the statements that both speak of. The endpoint is what PG* in the
 * environment says.
 */
#ifndef DSQL_TESTS_TX_DB_H
#define DSQL_TESTS_TX_DB_H

#include "dsql/metrics.h"
#include "metrics/metrics.h"
#include "support/pg_source.h"
#include "support/test.h"
#include "tx/tx_internal.h"

extern struct pg_source db; /* the one under test */
extern struct dsql_metrics *metrics;

extern const struct dsql_stmt READ_V, SET_V, SET_V_PREPARED, CAS_V, CAS_V_RAISING, WRONG;

#define PARAMS(...)                                                                                \
    (const struct dsql_param[]){__VA_ARGS__},                                                      \
        sizeof((const struct dsql_param[]){__VA_ARGS__}) / sizeof(struct dsql_param)
#define ok(call) assert_int_equal((call), DSQL_OK)

/* Somebody else's statement; the number in its only row. */
void sql(const char *text);
int64_t number(const char *query);

/* A transaction of the source under test, driven by hand. */
struct dsql_tx *begin(void);

/* The default policy with short waits. */
struct dsql_tx_policy quick(void);

/* A counter of the source under test. */
uint64_t count(enum dsql_metric metric, const char *operation, int value);
uint64_t round_trips(const char *operation);

/* What `dsql local fault` is told. */
void fault(const char *what);

/* Rows 1, 2 and 3 of t are 10, 20 and 30 again. */
int tx_db_refill(void **state);
#define EACH(name) cmocka_unit_test_setup(name, tx_db_refill)

void tx_db_open(void);
void tx_db_close(void);

#endif

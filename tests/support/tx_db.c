#include "support/tx_db.h"

#include <libpq-fe.h>
#include <stdio.h>

struct pg_source db;
struct dsql_metrics *metrics;
static struct pg_source other; /* somebody else */

const struct dsql_stmt READ_V = {
    .name = "read_v", .sql = "SELECT v FROM t WHERE id = $1", .flags = DSQL_STMT_READ};
const struct dsql_stmt SET_V = {.name = "set_v", .sql = "UPDATE t SET v = $2 WHERE id = $1"};
const struct dsql_stmt SET_V_PREPARED = {
    .name = "set_v_prepared",
    .sql = "UPDATE t SET v = $2 WHERE id = $1",
    .flags = DSQL_STMT_PREPARE,
};
const struct dsql_stmt CAS_V = {.name = "cas_v",
                                .sql = "UPDATE t SET v = $2 WHERE id = $1 AND v = $3"};
const struct dsql_stmt CAS_V_RAISING = {
    .name = "cas_v_raising",
    .sql = DSQL_RAISING("UPDATE t SET v = $2 WHERE id = $1 AND v = $3"),
    .flags = DSQL_STMT_RAISES,
};
const struct dsql_stmt WRONG = {.name = "wrong", .sql = "SELECT nonsense"};

void sql(const char *text)
{
    PGresult *r = PQexec(other.idle, text);
    ExecStatusType status = PQresultStatus(r);
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        fail_msg("%s: %s", text, PQresultErrorMessage(r));
    PQclear(r);
}

int64_t number(const char *query)
{
    PGresult *r = PQexec(other.idle, query);
    if (PQresultStatus(r) != PGRES_TUPLES_OK || PQntuples(r) != 1)
        fail_msg("%s: %s", query, PQresultErrorMessage(r));
    int64_t n = strtoll(PQgetvalue(r, 0, 0), NULL, 10);
    PQclear(r);
    return n;
}

struct dsql_tx *begin(void)
{
    struct dsql_tx *tx = NULL;
    struct dsql_err err = {0};
    if (dsql_tx_begin_on(&db.source, "manual", NULL, &tx, &err) != DSQL_OK)
        fail_msg("%s", err.message);
    return tx;
}

struct dsql_tx_policy quick(void)
{
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.retry.base_delay_ns = DSQL_MS;
    policy.retry.max_delay_ns = 4 * DSQL_MS;
    return policy;
}

uint64_t count(enum dsql_metric metric, const char *operation, int value)
{
    unsigned op = dsql_metrics_operation(metrics, operation);
    return dsql_counter_value(
        metrics, (struct dsql_series){.metric = metric, .operation = op, .value = value});
}

uint64_t round_trips(const char *operation)
{
    return count(DSQL_METRIC_tx_round_trips, operation, 0);
}

void fault(const char *what)
{
    char command[512];
    int len = snprintf(command, sizeof(command), "\"$dsql\" local fault %s >/dev/null", what);
    assert_in_range(len, 1, sizeof(command) - 1);
    if (system(command) != 0) // NOLINT(cert-env33-c): the command is the test's
        fail_msg("%s", command);
}

int tx_db_refill(void **state)
{
    (void)state;
    sql("DELETE FROM t");
    sql("INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, NULL)");
    return 0;
}

void tx_db_open(void)
{
    ok(dsql_metrics_new("test", &metrics));
    pg_source_init(&db, metrics);
    pg_source_init(&other, NULL);
    other.idle = PQconnectdb("");
    sql("DROP TABLE IF EXISTS t");
    sql("CREATE TABLE t (id int primary key, v bigint, s text)");
}

void tx_db_close(void)
{
    pg_source_fini(&db);
    pg_source_fini(&other);
    dsql_metrics_destroy(metrics);
}

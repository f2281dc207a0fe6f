/*
 * The Nth allocation fails while a transaction runs: it says so, leaks nothing and commits nothing
 * it did not say. The parts that need a database run when PGHOST names one, as integ/tx.sh does.
 */
#include <libpq-fe.h>

#include "support/alloc_fault.h"
#include "support/pg_source.h"
#include "support/test.h"
#include "tx/params.h"
#include "tx/script.h"
#include "tx/tx_internal.h"

static bool make_handles(void)
{
    struct dsql_cancel *cancel = NULL;
    struct dsql_retry_budget *budget = NULL;
    struct dsql_retry_policy policy;
    struct dsql_err err;
    bool ok = dsql_cancel_new(&cancel, &err) == DSQL_OK &&
              dsql_retry_budget_new(1, 1, 1, &budget) == DSQL_OK &&
              dsql_retry_policy_env(&policy, &err) == DSQL_OK;
    dsql_cancel_destroy(cancel);
    dsql_retry_budget_destroy(budget);
    return ok;
}

TEST(handles_survive)
{
    alloc_fault_run("handles", make_handles, false);
}

static bool encode(void)
{
    struct dsql_param many[60];
    for (size_t i = 0; i < DSQL_COUNT_OF(many); i++)
        many[i] = i % 2 ? dsql_i64((int64_t)i) : dsql_text_n("text", 4);
    struct dsql_params params;
    struct dsql_err err;
    enum dsql_rc rc = dsql_params_init(&params, NULL, many, DSQL_COUNT_OF(many), &err);
    if (rc == DSQL_OK)
        dsql_params_fini(&params);
    else
        assert_int_equal(err.rc, DSQL_NO_MEMORY);
    return rc == DSQL_OK;
}

TEST(parameters_survive)
{
    alloc_fault_run("parameters", encode, false);
}

static const struct dsql_stmt TOUCH = {
    .name = "touch", .sql = "UPDATE f SET v = v + 1 WHERE id = $1", .flags = DSQL_STMT_PREPARE};
static const struct dsql_stmt READ = {.name = "read", .sql = "SELECT v FROM f WHERE id = $1"};

static enum dsql_rc body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    (void)arg;
    struct dsql_param id = dsql_i32(1);
    struct dsql_fence fence = {.entity = "row", .key = "1", .token = "it"};
    struct dsql_rows *rows = NULL;
    enum dsql_rc rc = dsql_tx_query(tx, &READ, &id, 1, &rows, err);
    dsql_rows_free(rows);
    for (int i = 0; i < 20 && rc == DSQL_OK; i++)
        rc = dsql_tx_defer(tx, &TOUCH, &id, 1, err);
    return rc == DSQL_OK ? dsql_cas_defer(tx, &TOUCH, &id, 1, &fence, err) : rc;
}

static int64_t expected;

static bool transact(void)
{
    struct pg_source db;
    pg_source_init(&db, NULL);
    struct dsql_err err = {0};
    enum dsql_rc rc = dsql_tx_run_on(&db.source, "fault", body, NULL, NULL, &err);
    if (rc == DSQL_OK)
        expected += 21;
    else
        assert_int_equal(rc, DSQL_NO_MEMORY);
    pg_source_fini(&db);
    return rc == DSQL_OK;
}

TEST(a_transaction_survives)
{
    if (!getenv("PGHOST"))
        skip();
    PGconn *pg = PQconnectdb("");
    PQclear(PQexec(pg, "CREATE TABLE f (id int primary key, v int)"));
    PQclear(PQexec(pg, "INSERT INTO f VALUES (1, 0)"));
    assert_true(alloc_fault_run("transaction", transact, false) > 5);
    PGresult *r = PQexec(pg, "SELECT v FROM f WHERE id = 1");
    assert_int_equal(strtoll(PQgetvalue(r, 0, 0), NULL, 10), expected);
    PQclear(r);
    PQfinish(pg);
}

static bool run_script(void)
{
    static const struct dsql_stmt raising = {
        .name = "raising",
        .sql = DSQL_RAISING("UPDATE f SET v = v + 1 WHERE id = $1"),
        .flags = DSQL_STMT_PREPARE | DSQL_STMT_RAISES,
    };
    struct dsql_param id = dsql_i32(1);
    struct dsql_fence fence = {.entity = "row", .key = "1", .token = "it"};
    struct dsql_step steps[20];
    struct dsql_step_result results[DSQL_COUNT_OF(steps)];
    for (size_t i = 0; i < DSQL_COUNT_OF(steps); i++)
        steps[i] = (struct dsql_step){i % 2 ? &READ : &raising, &id, 1, i % 2 ? NULL : &fence};
    struct dsql_script script = {.steps = steps, .count = DSQL_COUNT_OF(steps), .results = results};
    struct pg_source db;
    struct dsql_err err = {0};
    pg_source_init(&db, NULL);
    enum dsql_rc rc = dsql_script_run_on(&db.source, "fault", &script, NULL, &err);
    if (rc == DSQL_OK)
        expected += 10;
    else
        assert_int_equal(rc, DSQL_NO_MEMORY);
    for (size_t i = 0; i < DSQL_COUNT_OF(steps); i++)
        dsql_rows_free(results[i].rows);
    pg_source_fini(&db);
    return rc == DSQL_OK;
}

TEST(a_script_survives)
{
    if (!getenv("PGHOST"))
        skip();
    PGconn *pg = PQconnectdb("");
    assert_true(alloc_fault_run("script", run_script, false) > 5);
    PGresult *r = PQexec(pg, "SELECT v FROM f WHERE id = 1");
    assert_int_equal(strtoll(PQgetvalue(r, 0, 0), NULL, 10), expected);
    PQclear(r);
    PQfinish(pg);
}

static bool drive(void)
{
    struct pg_source db;
    pg_source_init(&db, NULL);
    struct dsql_err err = {0};
    struct dsql_tx *tx = NULL;
    struct dsql_param id = dsql_i32(1);
    enum dsql_rc rc = dsql_tx_begin_on(&db.source, "fault", NULL, &tx, &err);
    if (rc == DSQL_OK) {
        rc = dsql_tx_exec(tx, &READ, &id, 1, NULL, &err);
        enum dsql_rc end = dsql_tx_commit(tx, &err);
        assert_int_equal(end, rc);
    }
    pg_source_fini(&db);
    return rc == DSQL_OK;
}

TEST(a_driven_transaction_survives)
{
    if (!getenv("PGHOST"))
        skip();
    alloc_fault_run("driven", drive, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_survive),
        cmocka_unit_test(parameters_survive),
        cmocka_unit_test(a_transaction_survives),
        cmocka_unit_test(a_script_survives),
        cmocka_unit_test(a_driven_transaction_survives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

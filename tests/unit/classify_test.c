#include "core/classify.h"

#include "support/test.h"

#define CONNECT   DSQL_PHASE_CONNECT
#define STATEMENT DSQL_PHASE_STATEMENT
#define COMMIT    DSQL_PHASE_COMMIT

static const struct row {
    enum dsql_phase phase;
    const char *sqlstate, *message, *hint;
    enum dsql_rc rc;
} rows[] = {
    /* Refusals at connect. Denied is class 08, like a dead network: text and HINT tell them apart.
     */
    {CONNECT, "53300", "Unable to accept connection, too many open connections.", NULL, DSQL_LIMIT},
    {CONNECT, "53400", "Unable to accept connection, rate exceeded.", NULL, DSQL_THROTTLED},
    {CONNECT, "", "FATAL:  unable to accept connection, too many open connections.", NULL,
     DSQL_LIMIT},
    {CONNECT, "", "FATAL:  unable to accept connection, rate exceeded.", NULL, DSQL_THROTTLED},
    {CONNECT, "08006", "unable to accept connection, access denied",
     "Signature expired: 20261116T090000Z is now earlier than 20261116T091500Z", DSQL_DENIED},
    {CONNECT, "08006", "unable to accept connection, access denied",
     "User: arn:aws:iam::1:user/x is not authorized to perform: dsql:DbConnectAdmin", DSQL_DENIED},
    {CONNECT, "08006", "unable to accept connection, access denied",
     "Wrong user to action mapping. user: admin, action: DbConnect", DSQL_DENIED},
    {CONNECT, "08006", "Unable to accept connection, Access denied", NULL, DSQL_DENIED},
    {CONNECT, NULL, "unable to accept connection, access denied", NULL, DSQL_DENIED},
    {CONNECT, NULL, "unable to accept connection, sni was not received", NULL, DSQL_DENIED},
    {CONNECT, NULL,
     "unable to accept connection, SSL is mandatory. AWS Authentication is required.", NULL,
     DSQL_DENIED},
    {CONNECT, NULL, "IAM authentication failed for user \"x\"", NULL, DSQL_DENIED},
    {CONNECT, "08P01", "invalid password packet size", NULL, DSQL_DENIED},
    {CONNECT, "28P01", "password authentication failed for user \"x\"", NULL, DSQL_DENIED},
    {CONNECT, "28000", "role \"x\" is not permitted to log in", NULL, DSQL_DENIED},
    {CONNECT, NULL, "unable to accept connection, waking up cluster, please retry later", NULL,
     DSQL_UNAVAILABLE},
    {CONNECT, "0A000", "setting configuration parameter \"statement_timeout\" not supported", NULL,
     DSQL_UNSUPPORTED},
    {CONNECT, "08006", "connection to server failed: Connection refused", NULL, DSQL_LOST},
    {CONNECT, "57P03", "the database system is starting up", NULL, DSQL_LOST},
    {CONNECT, "3D000", "database \"x\" does not exist", NULL, DSQL_DATABASE},
    {CONNECT, NULL, "server closed the connection unexpectedly", NULL, DSQL_LOST},
    {CONNECT, "", NULL, NULL, DSQL_LOST},

    /* The two conflicts, in all wordings on record, wherever they come. */
    {STATEMENT, "40001", "change conflicts with another transaction (OC000)", NULL, DSQL_CONFLICT},
    {STATEMENT, "40001", "change conflicts with another transaction, please retry: (OC000)", NULL,
     DSQL_CONFLICT},
    {STATEMENT, "40001", "mutation conflicts with another transaction, retry as needed", NULL,
     DSQL_CONFLICT},
    {STATEMENT, "40001", "could not serialize access due to concurrent update", NULL,
     DSQL_CONFLICT},
    {STATEMENT, "40001", NULL, NULL, DSQL_CONFLICT},
    {STATEMENT, "40001", "schema has been updated by another transaction (OC001)", NULL,
     DSQL_SCHEMA_CHANGED},
    {STATEMENT, "40001", "schema has been updated by another transaction, please retry: (OC001)",
     NULL, DSQL_SCHEMA_CHANGED},
    {STATEMENT, "40001", "Schema has been updated by another transaction", NULL,
     DSQL_SCHEMA_CHANGED},
    {STATEMENT, "OC000", NULL, NULL, DSQL_CONFLICT},
    {STATEMENT, "OC001", NULL, NULL, DSQL_SCHEMA_CHANGED},
    {COMMIT, "40001", "change conflicts with another transaction (OC000)", NULL, DSQL_CONFLICT},
    {COMMIT, "40001", "schema has been updated by another transaction (OC001)", NULL,
     DSQL_SCHEMA_CHANGED},
    {STATEMENT, "0A000", "cached plan must not change result type", NULL, DSQL_SCHEMA_CHANGED},

    /* Bugs, and what the caller's data met. */
    {STATEMENT, "0A000", "locking clauses other than FOR UPDATE/FOR KEY SHARE are not supported",
     NULL, DSQL_UNSUPPORTED},
    {STATEMENT, "0A000", "locking clauses other than FOR UPDATE are not supported", NULL,
     DSQL_UNSUPPORTED},
    {STATEMENT, "0A000",
     "locking clause such as FOR UPDATE can be applied only on tables with equality predicates on "
     "the key",
     NULL, DSQL_UNSUPPORTED},
    {STATEMENT, "0A000", "unsupported statement: Truncate", NULL, DSQL_UNSUPPORTED},
    {STATEMENT, "0A000", "ddl and dml are not supported in the same transaction", NULL,
     DSQL_UNSUPPORTED},
    {STATEMENT, "23505", "duplicate key value violates unique constraint \"shards_pkey\"", NULL,
     DSQL_DUPLICATE},
    {COMMIT, "23505", "duplicate key value violates unique constraint", NULL, DSQL_DUPLICATE},
    {STATEMENT, "23502", "null value in column", NULL, DSQL_DATABASE},
    {STATEMENT, "25P02", "current transaction is aborted", NULL, DSQL_DATABASE},
    {COMMIT, "25P02", "current transaction is aborted", NULL, DSQL_DATABASE},
    {STATEMENT, "22012", "division by zero", NULL, DSQL_DATABASE},
    {STATEMENT, "22023", "NUMERIC precision 1001 must be between 1 and 1000", NULL, DSQL_DATABASE},
    {STATEMENT, "22P02", "Unable to convert text to UUID", NULL, DSQL_DATABASE},
    {STATEMENT, "25001", "ANALYZE cannot run inside a transaction block", NULL, DSQL_DATABASE},
    {STATEMENT, "25006", "cannot execute UPDATE in a read-only transaction", NULL, DSQL_DATABASE},
    {STATEMENT, "42601", "syntax error", NULL, DSQL_DATABASE},
    {STATEMENT, "42809", "sys.wait_for_job(unknown) is a procedure", NULL, DSQL_DATABASE},
    {STATEMENT, "42P17", "functions in index expression must be marked IMMUTABLE", NULL,
     DSQL_DATABASE},
    {STATEMENT, "55000", "index \"x\" is not valid", NULL, DSQL_DATABASE},
    {STATEMENT, "42704", "unrecognized configuration parameter", NULL, DSQL_DATABASE},
    {STATEMENT, "42804", "wrong type", NULL, DSQL_DATABASE},
    {STATEMENT, "42P01", "relation \"x\" does not exist", NULL, DSQL_DATABASE},
    {STATEMENT, "42501", "permission denied for table x", NULL, DSQL_DENIED},
    {STATEMENT, "57014", "canceling statement due to user request", NULL, DSQL_DATABASE},

    /* Limits. */
    {STATEMENT, "54000", "transaction row limit exceeded", NULL, DSQL_TOO_LARGE},
    {COMMIT, "54000", "transaction size limit 10mb exceeded", NULL, DSQL_TOO_LARGE},
    {STATEMENT, "54000", "maximum row size exceeded", NULL, DSQL_TOO_LARGE},
    {STATEMENT, "54000", "key size too large", NULL, DSQL_TOO_LARGE},
    {STATEMENT, "54000", "query requires more than allowed temp space of 131072 KB to execute",
     NULL, DSQL_TOO_LARGE},
    {STATEMENT, "54000", "more than 24 indexes per table are not allowed", NULL, DSQL_TOO_LARGE},
    {STATEMENT, "54001", "stack depth limit exceeded", NULL, DSQL_TOO_LARGE},
    {STATEMENT, "54011", "tables can have at most 255 columns", NULL, DSQL_TOO_LARGE},
    {STATEMENT, "54000", "transaction age limit of 300s exceeded", NULL, DSQL_TIMEOUT},
    {COMMIT, "54000", "transaction age limit of 300s exceeded", NULL, DSQL_TIMEOUT},
    {STATEMENT, "53100", "Current cluster size exceeds cluster size limit.", NULL, DSQL_LIMIT},
    {COMMIT, "53100", "Current cluster size exceeds cluster size limit.", NULL, DSQL_LIMIT},
    {STATEMENT, "53200", "query requires too much temp space, out of memory.", NULL, DSQL_LIMIT},

    /* Death: only at COMMIT is the outcome unknown. */
    {STATEMENT, NULL, "server closed the connection unexpectedly", NULL, DSQL_LOST},
    {STATEMENT, "", NULL, NULL, DSQL_LOST},
    {STATEMENT, "08006", "connection failure", NULL, DSQL_LOST},
    {STATEMENT, "08003", "connection does not exist", NULL, DSQL_LOST},
    {STATEMENT, "08P01", "invalid message length", NULL, DSQL_PROTOCOL},
    {STATEMENT, "57P01", "terminating connection due to administrator command", NULL, DSQL_LOST},
    {STATEMENT, "57P02", "terminating connection because of crash of another server process", NULL,
     DSQL_LOST},
    {STATEMENT, "XX000", "server unavailable", NULL, DSQL_UNAVAILABLE},
    {STATEMENT, "XX000", "unexpected state", NULL, DSQL_DATABASE},
    {STATEMENT, "58030", "could not read file", NULL, DSQL_DATABASE},
    {COMMIT, NULL, "server closed the connection unexpectedly", NULL, DSQL_COMMIT_UNKNOWN},
    {COMMIT, "", NULL, NULL, DSQL_COMMIT_UNKNOWN},
    {COMMIT, "08006", "connection failure", NULL, DSQL_COMMIT_UNKNOWN},
    {COMMIT, "08007", "transaction resolution unknown", NULL, DSQL_COMMIT_UNKNOWN},
    {COMMIT, "08P01", "invalid message length", NULL, DSQL_COMMIT_UNKNOWN},
    {COMMIT, "40003", "statement completion unknown", NULL, DSQL_COMMIT_UNKNOWN},
    {COMMIT, "57P01", "terminating connection due to administrator command", NULL,
     DSQL_COMMIT_UNKNOWN},
    {COMMIT, "XX000", "server unavailable", NULL, DSQL_COMMIT_UNKNOWN},
    {COMMIT, "58030", "could not write file", NULL, DSQL_COMMIT_UNKNOWN},
    {COMMIT, "23514", "check constraint", NULL, DSQL_DATABASE},
};

TEST(every_answer_has_its_outcome)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        const struct row *r = &rows[i];
        struct dsql_verdict v = dsql_classify(r->phase, r->sqlstate, r->message, r->hint);
        if (v.rc != r->rc)
            fail_msg("%d %s '%s': %s, not %s", (int)r->phase, r->sqlstate ? r->sqlstate : "NULL",
                     r->message ? r->message : "", dsql_rc_name(v.rc), dsql_rc_name(r->rc));
    }
}

/* Whatever is said in whatever phase: success never, unknown only of a commit, and of a commit
 * never that the connection was merely lost. */
TEST(unknown_is_only_a_commit)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        const struct row *r = &rows[i];
        for (int phase = CONNECT; phase <= COMMIT; phase++) {
            enum dsql_rc rc =
                dsql_classify((enum dsql_phase)phase, r->sqlstate, r->message, r->hint).rc;
            assert_int_not_equal(rc, DSQL_OK);
            if (phase != COMMIT)
                assert_int_not_equal(rc, DSQL_COMMIT_UNKNOWN);
            else
                assert_int_not_equal(rc, DSQL_LOST);
        }
    }
}

TEST(only_a_date_that_is_refused_asks_for_a_token)
{
    const char *denied = "unable to accept connection, access denied";
    assert_true(dsql_classify(CONNECT, "08006", denied, "Signature expired: x").token_expired);
    assert_true(
        dsql_classify(CONNECT, "08006", denied, "Signature not yet current: x").token_expired);
    assert_false(
        dsql_classify(CONNECT, "08006", denied, "User: x is not authorized").token_expired);
    assert_false(dsql_classify(CONNECT, "53400", "rate", "Signature expired: x").token_expired);
    assert_false(dsql_classify(STATEMENT, "42501", "denied", "Signature expired: x").token_expired);
}

TEST(a_stale_plan_is_told_from_a_stale_catalogue)
{
    assert_true(dsql_classify(STATEMENT, "0A000", "cached plan must not change result type", NULL)
                    .stale_plan);
    assert_false(
        dsql_classify(STATEMENT, "40001", "schema has been updated (OC001)", NULL).stale_plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_has_its_outcome),
        cmocka_unit_test(unknown_is_only_a_commit),
        cmocka_unit_test(only_a_date_that_is_refused_asks_for_a_token),
        cmocka_unit_test(a_stale_plan_is_told_from_a_stale_catalogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

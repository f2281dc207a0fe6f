/*
 * Writes workflows, each four rows of four tables in one transaction, every second one as a script,
 * until it is killed or the server is gone, and says after each commit which one is there, and of
 * the last one, behind a minus, if it is not. What is on its output must be
 * in the database for ever; what is in the database must be there in all four tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/store.h"

#define STR(text) dsql_slice_str(text)

static struct fixture fix;
static struct dsql_id ns;

static enum dsql_rc create(struct dsql_store_tx *tx, void *arg, struct dsql_err *err)
{
    enum { SHARD = 1 };
    const int64_t id = *(const int64_t *)arg;
    char name[24];
    (void)snprintf(name, sizeof(name), "%lld", (long long)id);
    struct dsql_id run = fixture_id(&fix);
    struct dsql_InsertIntoHistoryNode node = {SHARD, run, run, id, 1, 0, STR("n"), STR("e")};
    struct dsql_InsertIntoCurrentExecutions current = {
        SHARD, ns, STR(name), DSQL_NULL_I64, run, STR("r"), 1, 1, 1, id, STR("d"), STR("e"),
    };
    struct dsql_InsertIntoExecutions execution = {SHARD, ns,       STR(name), run,      1,       id,
                                                  1,     STR("d"), STR("e"),  STR("s"), STR("e")};
    struct dsql_InsertIntoTransferTasks task = {SHARD, id, STR("t"), STR("e")};
    enum dsql_rc rc = dsql_call_InsertIntoHistoryNode(fix.store, tx, &node, 1, NULL, err);
    if (!rc)
        rc = dsql_call_InsertIntoCurrentExecutions(fix.store, tx, &current, 1, NULL, err);
    if (!rc)
        rc = dsql_call_InsertIntoExecutions(fix.store, tx, &execution, 1, NULL, err);
    if (!rc)
        rc = dsql_call_InsertIntoTransferTasks(fix.store, tx, &task, 1, NULL, err);
    return rc;
}

static struct dsql_param text(const char *value)
{
    return dsql_bytes(value, strlen(value));
}

/* The same in one message. */
static enum dsql_rc create_by_script(int64_t number, const struct dsql_tx_policy *policy,
                                     struct dsql_err *err)
{
    struct dsql_id run = fixture_id(&fix);
    char name[24];
    (void)snprintf(name, sizeof(name), "%lld", (long long)number);
    struct dsql_param shard = dsql_i64(1), id = dsql_i64(number), one = dsql_i64(1), d = text("d"),
                      none = dsql_null(), of = dsql_bytes(ns.bytes, sizeof(ns.bytes)),
                      its = dsql_bytes(run.bytes, sizeof(run.bytes)), wf = text(name);
    const struct dsql_param node[] = {shard, its, its, id, one, dsql_i64(0), d, d};
    const struct dsql_param now[] = {shard, of, wf, none, its, d, one, one, none, id, d, d};
    const struct dsql_param execution[] = {shard, of, wf, its, one, id, one, d, d, d, d};
    const struct dsql_param task[] = {shard, id, d, d};
    const struct dsql_script_call calls[] = {
        {DSQL_OP_InsertIntoHistoryNode, node, 1, NULL},
        {DSQL_OP_InsertIntoCurrentExecutions, now, 1, NULL},
        {DSQL_OP_InsertIntoExecutions, execution, 1, NULL},
        {DSQL_OP_InsertIntoTransferTasks, task, 1, NULL},
    };
    return dsql_store_run_script(fix.store, "create", calls, 4, policy, NULL, NULL, err);
}

int main(int argc, char **argv)
{
    struct dsql_err err = {0};
    struct dsql_tx_policy policy;
    dsql_tx_policy_default(&policy);
    policy.timeout_ns = 10 * INT64_C(1000000000); /* and the server is gone */
    int64_t id = argc > 1 ? strtoll(argv[1], NULL, 10) : 0;
    fixture_open(&fix, 2, NULL);
    for (;; id++) {
        enum dsql_rc rc = id % 2 ? create_by_script(id, &policy, &err)
                                 : dsql_store_run(fix.store, "create", create, &id, &policy, &err);
        bool unknown = rc == DSQL_COMMIT_UNKNOWN;
        char line[32];
        int len = snprintf(line, sizeof(line), "%s%lld\n", rc ? "-" : "", (long long)id);
        if (!unknown && write(STDOUT_FILENO, line, (size_t)len) != len)
            return 1;
        if (rc && !unknown) {
            fprintf(stderr, "%s: %s\n", dsql_rc_name(rc), err.message);
            return 3; /* the server is gone */
        }
    }
}

/*
 * Writes workflows, each four rows of four tables in one transaction, until it is killed, and says
 * after each commit which one is there. What is on its output must be in the database for ever;
 * what is in the database must be there in all four tables.
 */
#include <stdio.h>
#include <stdlib.h>
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

int main(int argc, char **argv)
{
    struct dsql_err err = {0};
    int64_t id = argc > 1 ? strtoll(argv[1], NULL, 10) : 0;
    fixture_open(&fix, 2, NULL);
    for (;; id++) {
        enum dsql_rc rc = dsql_store_run(fix.store, "create", create, &id, NULL, &err);
        if (rc == DSQL_OK) {
            char line[32];
            int len = snprintf(line, sizeof(line), "%lld\n", (long long)id);
            if (write(STDOUT_FILENO, line, (size_t)len) != len)
                return 1;
        } else if (rc != DSQL_COMMIT_UNKNOWN) {
            fprintf(stderr, "%s: %s\n", dsql_rc_name(rc), err.message);
            return 3; /* the server is gone */
        }
    }
}

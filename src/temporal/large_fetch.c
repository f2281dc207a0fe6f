/* The parts of large values, read in one round trip. */
#include <stdlib.h>

#include "pgwire/oid.h"
#include "temporal/large.h"
#include "temporal/store.h"
#include "tx/script.h"

enum { GROUP = 8 }; /* values that one statement reads */

static const struct dsql_stmt select_parts = {
    .name = "large_select",
    .sql = "SELECT id, part, data FROM large_values WHERE id IN ($1, $2, $3, $4, $5, $6, $7, $8) "
           "ORDER BY id, part",
    .types = (const uint32_t[]){DSQL_OID_UUID, DSQL_OID_UUID, DSQL_OID_UUID, DSQL_OID_UUID,
                                DSQL_OID_UUID, DSQL_OID_UUID, DSQL_OID_UUID, DSQL_OID_UUID},
    .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ,
};

/* A statement always takes as many: the last id stands for those that are not there. */
static void fill_params(const struct dsql_large_set *set, size_t group,
                        struct dsql_param params[GROUP])
{
    for (size_t i = 0; i < GROUP; i++) {
        size_t at = group * GROUP + i;
        const struct dsql_large_ref *ref = &set->refs[at < set->count ? at : set->count - 1];
        params[i] = dsql_raw(ref->id.bytes, sizeof(ref->id.bytes));
    }
}

static size_t groups_of(const struct dsql_large_set *set)
{
    return (set->count + GROUP - 1) / GROUP;
}

static void take_rows(struct dsql_large_set *set, const struct dsql_rows *rows)
{
    for (size_t row = 0; row < dsql_rows_count(rows); row++) {
        size_t id_len = 0, len = 0;
        int64_t number = -1;
        const void *id = dsql_rows_bytes(rows, row, 0, &id_len);
        const char *bytes = dsql_rows_bytes(rows, row, 2, &len);
        if (id && id_len == sizeof(struct dsql_id) && bytes && dsql_rows_i64(rows, row, 1, &number))
            dsql_large_take(set, id, number, (struct dsql_span){bytes, len});
    }
}

enum dsql_rc dsql_large_fetch_in(struct dsql_tx *tx, struct dsql_large_set *set,
                                 struct dsql_err *err)
{
    struct dsql_param params[GROUP];
    size_t groups = groups_of(set), sent = 0;
    enum dsql_rc rc = DSQL_OK;
    struct dsql_ticket *tickets = calloc(groups, sizeof(*tickets));
    if (!tickets)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    for (; sent < groups && !rc; sent++) {
        fill_params(set, sent, params);
        rc = dsql_tx_send(tx, &select_parts, params, GROUP, &tickets[sent], err);
    }
    for (size_t i = 0; i < sent && !rc; i++) {
        struct dsql_rows *rows = NULL;
        rc = dsql_tx_take(tx, tickets[i], NULL, &rows, err);
        if (!rc)
            take_rows(set, rows);
        dsql_rows_free(rows);
    }
    free(tickets);
    return rc;
}

enum dsql_rc dsql_large_fetch(struct dsql_store *store, struct dsql_large_set *set,
                              const struct dsql_tx_policy *policy, struct dsql_err *err)
{
    struct dsql_source source = dsql_source_of_pool(store->pool);
    struct dsql_tx_policy its = policy ? *policy : store->options.policy;
    size_t groups = groups_of(set);
    struct dsql_step *steps = calloc(groups, sizeof(*steps));
    struct dsql_step_result *answers = calloc(groups, sizeof(*answers));
    struct dsql_param *params = calloc(groups * GROUP, sizeof(*params));
    enum dsql_rc rc = DSQL_NO_MEMORY;
    its.read_only = true;
    if (steps && answers && params) {
        for (size_t i = 0; i < groups; i++) {
            fill_params(set, i, params + i * GROUP);
            steps[i] = (struct dsql_step){&select_parts, params + i * GROUP, GROUP, NULL};
        }
        struct dsql_script script = {.steps = steps, .count = groups, .results = answers};
        rc = dsql_script_run_on(&source, "ReadLargeValues", &script, &its, err);
    } else {
        (void)dsql_err_set(err, rc, "out of memory");
    }
    for (size_t i = 0; answers && i < groups; i++) {
        if (!rc)
            take_rows(set, answers[i].rows);
        dsql_rows_free(answers[i].rows);
    }
    free(steps);
    free(answers);
    free(params);
    return rc;
}

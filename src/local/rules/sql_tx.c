#include "local/rules/sql_tx.h"

#include <stdio.h>

#define MIB (UINT64_C(1) << 20)

const struct dsql_sql_limits dsql_sql_limits_default = {
    .rows = 3000,
    .bytes = 10 * MIB,
    .age_ns = 300 * DSQL_S,
};

void dsql_sql_tx_init(struct dsql_sql_tx *tx, const struct dsql_sql_limits *limits)
{
    *tx = (struct dsql_sql_tx){.limits = limits, .state = DSQL_SQL_TX_IDLE};
}

char dsql_sql_tx_letter(const struct dsql_sql_tx *tx)
{
    switch (tx->state) {
    case DSQL_SQL_TX_IDLE:
    case DSQL_SQL_TX_IMPLICIT:
        return 'I';
    case DSQL_SQL_TX_BLOCK:
        return 'T';
    case DSQL_SQL_TX_FAILED:
        return 'E';
    }
    return 'I';
}

/* The one place where the state changes: every transaction begins and ends with clean counters. */
static void move(struct dsql_sql_tx *tx, enum dsql_sql_tx_state state, struct dsql_mono now)
{
    if (state == DSQL_SQL_TX_IDLE)
        dsql_sql_tx_init(tx, tx->limits);
    else if (tx->state == DSQL_SQL_TX_IDLE)
        tx->since = now;
    tx->state = state;
}

void dsql_sql_tx_failed(struct dsql_sql_tx *tx)
{
    static const struct dsql_mono never = {0};
    if (tx->state == DSQL_SQL_TX_BLOCK)
        move(tx, DSQL_SQL_TX_FAILED, never);
    else if (tx->state == DSQL_SQL_TX_IMPLICIT)
        move(tx, DSQL_SQL_TX_IDLE, never);
}

void dsql_sql_tx_settle(struct dsql_sql_tx *tx, char letter, struct dsql_mono now)
{
    if (letter == 'I')
        move(tx, DSQL_SQL_TX_IDLE, now);
    else if (dsql_sql_tx_letter(tx) != letter)
        move(tx, letter == 'T' ? DSQL_SQL_TX_BLOCK : DSQL_SQL_TX_FAILED, now);
}

static enum dsql_sql_tx_verdict refuse(struct dsql_sql_tx *tx)
{
    dsql_sql_tx_failed(tx);
    return DSQL_SQL_TX_REFUSE;
}

static bool too_old(const struct dsql_sql_tx *tx, struct dsql_mono now,
                    struct dsql_sql_refusal *refusal)
{
    if (tx->state == DSQL_SQL_TX_IDLE)
        return false;
    int64_t age_ns = dsql_mono_since(now, tx->since);
    if (age_ns <= tx->limits->age_ns)
        return false;
    long long limit_s = (long long)(tx->limits->age_ns / DSQL_S);
    dsql_sql_refuse(refusal, "54000", "transaction age limit of %llds exceeded", limit_s);
    (void)snprintf(refusal->detail, sizeof(refusal->detail),
                   "Current transaction age %llds exceeds %llds", (long long)(age_ns / DSQL_S),
                   limit_s);
    return true;
}

/* Rounded up, so that the size shown is above the limit. */
static unsigned long long in_mib(uint64_t bytes)
{
    return (unsigned long long)((bytes + MIB - 1) / MIB);
}

static bool too_large(const struct dsql_sql_tx *tx, struct dsql_sql_refusal *refusal)
{
    if (tx->bytes <= tx->limits->bytes)
        return false;
    unsigned long long limit = in_mib(tx->limits->bytes);
    dsql_sql_refuse(refusal, "54000", "transaction size limit %llumb exceeded", limit);
    (void)snprintf(refusal->detail, sizeof(refusal->detail),
                   "Current transaction size %llumb > %llumb", in_mib(tx->bytes), limit);
    return true;
}

/* A COMMIT that is refused ends the transaction all the same. */
static enum dsql_sql_tx_verdict commit(struct dsql_sql_tx *tx, struct dsql_mono now,
                                       struct dsql_sql_refusal *refusal)
{
    bool failed = tx->state == DSQL_SQL_TX_FAILED;
    bool refused = !failed && (too_old(tx, now, refusal) || too_large(tx, refusal));
    move(tx, DSQL_SQL_TX_IDLE, now);
    if (failed)
        return DSQL_SQL_TX_ROLL_BACK;
    return refused ? DSQL_SQL_TX_REFUSE : DSQL_SQL_TX_PASS;
}

static bool mixes(const struct dsql_sql_tx *tx, bool ddl, bool dml,
                  struct dsql_sql_refusal *refusal)
{
    if ((ddl && tx->dml) || (dml && tx->ddl))
        dsql_sql_refuse(refusal, "0A000", "ddl and dml are not supported in the same transaction");
    else if (ddl && tx->ddl)
        dsql_sql_refuse(refusal, "0A000", "multiple ddl statements not supported in a transaction");
    else
        return false;
    return true;
}

static void refuse_aborted(struct dsql_sql_refusal *refusal)
{
    dsql_sql_refuse(refusal, "25P02",
                    "current transaction is aborted, commands ignored until end of transaction "
                    "block");
}

/* Whether the statement is refused whatever else the transaction did. */
static bool refused_as_such(const struct dsql_sql_tx *tx, const struct dsql_sql_stmt *stmt,
                            bool sync_index, struct dsql_sql_refusal *refusal)
{
    struct dsql_sql_session session = {
        .in_block = tx->state == DSQL_SQL_TX_BLOCK,
        .sync_index = sync_index,
    };
    const struct dsql_sql_refusal *why = dsql_sql_stmt_refusal(stmt, &session);
    if (why)
        *refusal = *why;
    return why != NULL;
}

/* In a failed transaction nothing is looked at but the way out. */
static bool is_way_out(const struct dsql_sql_stmt *stmt)
{
    return (stmt->kind == DSQL_SQL_COMMIT || stmt->kind == DSQL_SQL_ROLLBACK) && !stmt->refusals[0];
}

enum dsql_sql_tx_verdict dsql_sql_tx_parse(struct dsql_sql_tx *tx, const struct dsql_sql_stmt *stmt,
                                           bool sync_index, struct dsql_sql_refusal *refusal)
{
    if (tx->state == DSQL_SQL_TX_FAILED) {
        if (is_way_out(stmt))
            return DSQL_SQL_TX_PASS;
        refuse_aborted(refusal);
        return DSQL_SQL_TX_REFUSE;
    }
    return refused_as_such(tx, stmt, sync_index, refusal) ? refuse(tx) : DSQL_SQL_TX_PASS;
}

static bool writes(const struct dsql_sql_stmt *stmt, const struct dsql_sql_stmt *prepared)
{
    return (stmt->flags & DSQL_SQL_WRITES) ||
           (prepared && (prepared->flags & (DSQL_SQL_WRITES | DSQL_SQL_INNER_WRITES)));
}

enum dsql_sql_tx_verdict dsql_sql_tx_admit(struct dsql_sql_tx *tx, const struct dsql_sql_stmt *stmt,
                                           const struct dsql_sql_stmt *prepared, bool sync_index,
                                           struct dsql_mono now, struct dsql_sql_refusal *refusal)
{
    enum dsql_sql_tx_verdict verdict = dsql_sql_tx_parse(tx, stmt, sync_index, refusal);
    if (verdict != DSQL_SQL_TX_PASS)
        return verdict;
    if (stmt->kind == DSQL_SQL_ROLLBACK) {
        move(tx, DSQL_SQL_TX_IDLE, now);
        return DSQL_SQL_TX_PASS;
    }
    if (stmt->kind == DSQL_SQL_COMMIT)
        return commit(tx, now, refusal);
    bool ddl = stmt->flags & DSQL_SQL_IS_DDL, dml = writes(stmt, prepared);
    if (too_old(tx, now, refusal) || mixes(tx, ddl, dml, refusal))
        return refuse(tx);
    if (stmt->kind == DSQL_SQL_BEGIN)
        move(tx, DSQL_SQL_TX_BLOCK, now);
    else if (tx->state == DSQL_SQL_TX_IDLE)
        move(tx, DSQL_SQL_TX_IMPLICIT, now);
    tx->ddl = tx->ddl || ddl;
    tx->dml = tx->dml || dml;
    tx->changes = tx->changes || ddl || dml || stmt->kind == DSQL_SQL_EXECUTE ||
                  (stmt->flags & (DSQL_SQL_FOR_UPDATE | DSQL_SQL_FOR_KEY_SHARE));
    assert(!(tx->ddl && tx->dml)); /* T1 */
    return DSQL_SQL_TX_PASS;
}

enum dsql_sql_tx_verdict dsql_sql_tx_done(struct dsql_sql_tx *tx, uint64_t rows, uint64_t bytes,
                                          struct dsql_sql_refusal *refusal)
{
    if (tx->state == DSQL_SQL_TX_IDLE || tx->state == DSQL_SQL_TX_FAILED)
        return DSQL_SQL_TX_PASS; /* a COMMIT or ROLLBACK: it changed nothing */
    tx->rows += rows;
    tx->bytes += bytes;
    if (tx->rows <= tx->limits->rows)
        return DSQL_SQL_TX_PASS;
    dsql_sql_refuse(refusal, "54000", "transaction row limit exceeded");
    return refuse(tx);
}

enum dsql_sql_tx_verdict dsql_sql_tx_sync(struct dsql_sql_tx *tx, struct dsql_mono now,
                                          struct dsql_sql_refusal *refusal)
{
    return tx->state == DSQL_SQL_TX_IMPLICIT ? commit(tx, now, refusal) : DSQL_SQL_TX_PASS;
}

/*
 * What libdsql says of a transaction beside what is in the tables: random transactions with errors,
 * fences, lost answers, deadlines and other users of the same connection. What was applied is never
 * called not applied, what was not is never called applied, and the outcome is unknown only where
 * the answer to COMMIT can have been lost. Run by tx_outcomes.sh with the endpoint's control at
 * hand.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/outcome_script.h"
#include "support/tx_db.h"
#include "tx/script.h"

enum { CASES = 250, TRANSACTIONS_MAX = 3, SERIALS_MAX = 1 << 22, TEXT = 512 };

/* The rows that belong to one transaction. */
static const int64_t SPAN = (int64_t)(SCRIPT_TRIES_MAX + 1) * SCRIPT_OPS_MAX * 16;

static int64_t serial;
static unsigned char said_of[SERIALS_MAX];
static unsigned long counts[SAID_UNKNOWN + 1];

/* A script under way. */
struct running {
    const struct script *s;
    struct dsql_tx_policy policy;
    int tries; /* the last one's number */
    int settled;
    enum dsql_rc first; /* what the first operation answered */
};

/* -- Operations. */

#define ROWS_SQL "INSERT INTO m SELECT $1::bigint + k FROM generate_series(0, $2::int - 1) k"
/* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): it is one text */
#define HIDDEN_SQL "WITH a AS (INSERT INTO m VALUES ($1::bigint + $2::int)) " ROWS_SQL

static const char *text_of(const struct script *s, int op, int try_number, char own[TEXT])
{
    static const char *const texts[OP_KINDS] = {
        [OP_READ] = "SELECT count(*) FROM f",
        [OP_WRITE] = "INSERT INTO m VALUES ($1)",
        [OP_ROWS] = ROWS_SQL,
        [OP_HIDDEN] = HIDDEN_SQL,
        [OP_FENCE] = ROWS_SQL,
        [OP_HIDDEN_FENCE] = HIDDEN_SQL,
        [OP_RAISING] = DSQL_RAISING(ROWS_SQL),
        [OP_DUPLICATE] = "INSERT INTO m VALUES ($1), ($1)",
        [OP_ERROR] = "SELECT 1 / 0",
        [OP_SYNTAX] = "SELEC 1",
        [OP_TWO] = "INSERT INTO m VALUES (-1); INSERT INTO m VALUES (-2)",
        [OP_COPY_IN] = "COPY m FROM STDIN",
        [OP_FORGET] = "DEALLOCATE ALL",
        [OP_DISCARD] = "DISCARD ALL",
    };
    static const char *const controls[16] = {"COMMIT",
                                             "ROLLBACK",
                                             "END",
                                             "ABORT",
                                             "BEGIN",
                                             "START TRANSACTION",
                                             "/* a */ commit",
                                             "; COMMIT",
                                             "-- a\nROLLBACK",
                                             "COMMIT AND CHAIN",
                                             "ROLLBACK AND CHAIN",
                                             "COMMIT WORK",
                                             "commit transaction;",
                                             "end",
                                             "PREPARE TRANSACTION 'a'",
                                             "\tABORT"};
    static const char *const copies[2] = {"COPY m TO STDOUT", "/* a */ copy (SELECT 1) TO STDOUT"};
    const struct script_op *o = &s->op[op];
    if (o->kind == OP_CONTROL)
        return controls[o->variant];
    if (o->kind == OP_COPY_OUT)
        return copies[o->variant % 2];
    if (o->kind == OP_PREPARE) {
        snprintf(own, TEXT, "PREPARE p%lld_%d_%d AS SELECT 1", (long long)s->serial, try_number,
                 op);
        return own;
    }
    return texts[o->kind];
}

/* An operation as a statement, and its memory. */
struct made {
    char text[TEXT], name[32];
    struct dsql_stmt stmt;
    struct dsql_param params[2];
    size_t count;
    struct dsql_fence fence;
    bool fenced;
};

static void make(const struct script *s, int op, int try_number, struct made *out)
{
    const struct script_op *o = &s->op[op];
    int64_t first;
    (void)script_rows(s, try_number, op, &first);
    snprintf(out->name, sizeof(out->name), "op%d_%d", (int)o->kind,
             o->kind == OP_CONTROL || o->kind == OP_COPY_OUT ? o->variant : 0);
    out->stmt = (struct dsql_stmt){.name = out->name, .sql = text_of(s, op, try_number, out->text)};
    out->stmt.flags = (o->prepared && o->kind != OP_PREPARE ? DSQL_STMT_PREPARE : 0) |
                      (o->kind == OP_READ ? DSQL_STMT_READ : 0) |
                      (o->kind == OP_RAISING ? DSQL_STMT_RAISES : 0);
    out->params[0] = dsql_i64(first);
    out->params[1] = dsql_i32(o->rows);
    const char *sql = out->stmt.sql ? out->stmt.sql : ""; /* OP_TAKE_WRONG is none */
    out->count = strstr(sql, "$2") ? 2 : strstr(sql, "$1") ? 1 : 0;
    out->fence = (struct dsql_fence){"thing", "1", "token 1", o->fence_rows};
    out->fenced = o->kind == OP_FENCE || o->kind == OP_HIDDEN_FENCE || o->kind == OP_RAISING;
}

static enum dsql_rc run_op(struct dsql_tx *tx, const struct script *s, int op, struct dsql_err *err)
{
    enum script_how how = s->op[op].how;
    struct made m;
    struct dsql_ticket ticket;
    if (s->op[op].kind == OP_TAKE_WRONG)
        return dsql_tx_take(tx, (struct dsql_ticket){9999}, NULL, NULL, err);
    make(s, op, dsql_tx_try(tx), &m);
    if (m.fenced)
        return how == HOW_EXEC ? dsql_cas(tx, &m.stmt, m.params, m.count, &m.fence, err)
                               : dsql_cas_defer(tx, &m.stmt, m.params, m.count, &m.fence, err);
    if (how == HOW_EXEC)
        return dsql_tx_exec(tx, &m.stmt, m.params, m.count, NULL, err);
    if (how == HOW_DEFER)
        return dsql_tx_defer(tx, &m.stmt, m.params, m.count, err);
    return dsql_tx_send(tx, &m.stmt, m.params, m.count, &ticket, err);
}

/* -- Transactions. */

static const struct dsql_stmt MARK = {.name = "mark", .sql = "UPDATE o SET n = $2 WHERE id = $1"};
static const struct dsql_stmt MARKED = {.name = "marked",
                                        .sql = "SELECT n FROM o WHERE id = $1 FOR UPDATE"};

static enum dsql_rc body(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct running *r = arg;
    const struct script *s = r->s;
    enum dsql_rc rc;
    r->tries = dsql_tx_try(tx);
    if (s->settles && (rc = dsql_tx_exec(tx, &MARK, PARAMS(dsql_i64(s->serial), dsql_i64(r->tries)),
                                         NULL, err)) != DSQL_OK)
        return rc;
    for (int i = 0; i < s->ops; i++) {
        if (s->cancel_at == i)
            dsql_cancel_fire(r->policy.cancel);
        rc = run_op(tx, s, i, err);
        if (i == 0)
            r->first = rc;
        if (rc != DSQL_OK && !s->ignores)
            return rc;
    }
    if (s->cancel_at >= s->ops)
        dsql_cancel_fire(r->policy.cancel);
    return s->body_rc;
}

static enum dsql_rc settle(struct dsql_tx *tx, void *arg, bool *applied, struct dsql_err *err)
{
    struct running *r = arg;
    struct dsql_rows *rows = NULL;
    int64_t n = -1;
    r->settled++;
    enum dsql_rc rc = dsql_tx_query(tx, &MARKED, PARAMS(dsql_i64(r->s->serial)), &rows, err);
    if (rc == DSQL_OK && !dsql_rows_i64(rows, 0, 0, &n))
        rc = DSQL_NOT_FOUND;
    dsql_rows_free(rows);
    *applied = n == r->tries;
    return rc;
}

static enum dsql_rc run_manually(struct running *r, struct dsql_err *err)
{
    struct dsql_tx *tx;
    enum dsql_rc rc = dsql_tx_begin_on(&db.source, "manual", &r->policy, &tx, err);
    if (rc != DSQL_OK)
        return rc;
    rc = body(tx, r, err);
    if (rc == DSQL_OK && !r->s->rolls_back)
        return dsql_tx_commit(tx, err);
    dsql_tx_rollback(tx);
    /* A rollback says nothing; of a statement by itself its own answer has said all. */
    if (script_is_single(r->s) && r->first == DSQL_COMMIT_UNKNOWN)
        return DSQL_COMMIT_UNKNOWN;
    return r->first == DSQL_OK && script_applies_at_once(r->s) ? DSQL_APPLIED : DSQL_NOT_FOUND;
}

/* The steps of a script: the owner's mark, and the operations. */
struct steps {
    struct running *r;
    struct made made[SCRIPT_OPS_MAX];
    struct dsql_param mark[2];
    struct dsql_step step[SCRIPT_OPS_MAX + 1];
    size_t count;
};

/* Before each try: every row tells which try has written it. */
static enum dsql_rc make_steps(void *arg, struct dsql_err *err)
{
    struct steps *steps = arg;
    const struct script *s = steps->r->s;
    (void)err;
    steps->r->tries++;
    steps->count = 0;
    if (s->settles) {
        steps->mark[0] = dsql_i64(s->serial);
        steps->mark[1] = dsql_i64(steps->r->tries);
        steps->step[steps->count++] = (struct dsql_step){&MARK, steps->mark, 2, NULL};
    }
    for (int i = 0; i < s->ops; i++) {
        struct made *m = &steps->made[i];
        make(s, i, steps->r->tries, m);
        steps->step[steps->count++] =
            (struct dsql_step){&m->stmt, m->params, m->count, m->fenced ? &m->fence : NULL};
    }
    if (s->cancel_at >= 0 && steps->r->tries > 0)
        dsql_cancel_fire(steps->r->policy.cancel);
    return DSQL_OK;
}

static enum dsql_rc run_as_script(struct running *r, struct dsql_err *err)
{
    static struct steps steps;
    steps = (struct steps){.r = r};
    r->tries = -1; /* the steps are counted before the first try */
    (void)make_steps(&steps, err);
    struct dsql_script script = {
        .steps = steps.step, .count = steps.count, .before = make_steps, .arg = &steps};
    return dsql_script_run_on(&db.source, "outcome", &script, &r->policy, err);
}

static enum dsql_rc run_script(struct running *r, struct dsql_err *err)
{
    static const char *const names[FAULT_COUNT] = {
        NULL,
        "conflict=1x",
        "conflict-commit=1x",
        "unavailable=1x",
        "unavailable-commit=1x",
        "unavailable-applied=1x",
        "close-commit=1x",
        "close-applied=1x",
        "message-latency=5ms",
    };
    const struct script *s = r->s;
    r->policy = quick();
    r->policy.retry.budget = NULL;
    r->policy.retry.conflict_alert = 0;
    r->policy.retry.max_retries = r->policy.retry.reconnects = s->retries;
    r->policy.timeout_ns = s->deadline_ms * DSQL_MS;
    r->policy.single = s->mode != MODE_SCRIPT && script_is_single(s);
    if (s->settles) {
        char text[TEXT];
        snprintf(text, sizeof(text), "INSERT INTO o VALUES (%lld, 0)", (long long)s->serial);
        sql(text);
        r->policy.settle = settle;
        r->policy.settle_arg = r;
    }
    if (s->cancel_at >= 0)
        ok(dsql_cancel_new(&r->policy.cancel, NULL));
    if (names[s->fault])
        fault(names[s->fault]);
    bool runs = s->mode == MODE_RUN || s->mode == MODE_SINGLE;
    enum dsql_rc rc = s->mode == MODE_SCRIPT ? run_as_script(r, err)
                      : runs ? dsql_tx_run_on(&db.source, "outcome", body, r, &r->policy, err)
                             : run_manually(r, err);
    if (names[s->fault])
        fault("clear");
    dsql_cancel_destroy(r->policy.cancel);
    return rc;
}

/* Another user of the connection that the next transaction gets. True if that one may have to be
 * run again for it. */
static bool use_before(const struct script *s)
{
    static const char *const texts[BEFORE_COUNT][6] = {
        [BEFORE_FORGET] = {"DEALLOCATE ALL"},
        [BEFORE_DROP_OURS] = {"DEALLOCATE \"dsql.op1_0\"", "DEALLOCATE \"dsql.op1_0.1\"",
                              "DEALLOCATE \"dsql.op2_0\"", "DEALLOCATE \"dsql.op4_0\"",
                              "DEALLOCATE \"dsql.op6_0\""},
        [BEFORE_TAKE_NAME] = {"PREPARE \"dsql.op1_0\" AS SELECT 1",
                              "PREPARE \"dsql.op4_0\" AS SELECT 1"},
        [BEFORE_OWN] = {"SELEC", "PREPARE own AS SELECT 1", "EXECUTE own", "DEALLOCATE own"},
    };
    if (!db.idle)
        return false;
    for (int i = 0; i < 6 && texts[s->before][i]; i++)
        PQclear(PQexec(db.idle, texts[s->before][i]));
    return s->before == BEFORE_DROP_OURS || s->before == BEFORE_TAKE_NAME;
}

/* -- The verdict. */

/* How many rows of a try are in the table, and how many there should be. */
static int64_t rows_of_try(const struct script *s, int try_number, int64_t *wanted)
{
    char text[TEXT];
    int64_t from, end = 0, first;
    *wanted = 0;
    (void)script_rows(s, try_number, 0, &from);
    (void)script_rows(s, try_number + 1, 0, &end);
    for (int i = 0; i < s->ops && !(script_is_single(s) && i > 0); i++)
        *wanted += script_rows(s, try_number, i, &first);
    snprintf(text, sizeof(text), "SELECT count(*) FROM m WHERE id >= %lld AND id < %lld",
             (long long)from, (long long)end);
    return number(text);
}

static const char *compare(const struct running *r, enum script_said said)
{
    int whole = 0;
    for (int t = 1; t <= r->tries; t++) {
        int64_t wanted, there = rows_of_try(r->s, t, &wanted);
        if (there != 0 && there != wanted)
            return "a part of it is in the table";
        if (there != 0 && said == SAID_NOT)
            return "called not applied, but it is in the table";
        if (there == 0 && wanted != 0 && said == SAID_APPLIED && t == r->tries)
            return "called applied, but it is not in the table";
        whole += there != 0;
    }
    return whole > 1 ? "it was applied twice" : NULL;
}

static bool check(struct prop *p, const struct script *s, bool shaken)
{
    struct running r = {.s = s, .first = DSQL_INVALID};
    struct dsql_err err = {0};
    enum dsql_rc rc = run_script(&r, &err);
    enum script_said said = script_said(rc);
    unsigned allowed = script_allowed(s);
    if (shaken && (s->retries == 0 || s->fault != FAULT_NONE || s->mode == MODE_MANUAL ||
                   s->mode == MODE_SINGLE_MANUAL))
        allowed |= SAID_NOT;
    /* The body's own word, of whatever other transaction: this one is rolled back. */
    if (rc == DSQL_COMMIT_UNKNOWN && s->body_rc == rc && !(allowed & SAID_UNKNOWN))
        said = SAID_NOT;
    const char *wrong = compare(&r, said);
    if (!wrong && !(allowed & said))
        wrong = "not the outcome that the script has";
    if (!wrong && r.settled > 0 && s->fault == FAULT_NONE)
        wrong = "the settle function was asked about a certain outcome";
    said_of[s->serial] = (unsigned char)said;
    counts[said]++;
    char shown[2 * TEXT];
    script_show(s, shown, sizeof(shown));
    if (wrong)
        (void)fprintf(stderr, "%s: %s; %s (try %d): %s\n", shown, wrong, dsql_rc_name(rc), r.tries,
                      err.message);
    return prop_that(p, !wrong, "%s: %s; %s", wrong ? wrong : "", shown, dsql_rc_name(rc));
}

static bool outcomes_are_true(struct prop *p)
{
    bool shaken = false, holds = true;
    pg_source_fini(&db); /* a session of its own, so that a case depends on no other */
    int transactions = 1 + (int)prop_below(p, TRANSACTIONS_MAX);
    for (int i = 0; i < transactions && holds; i++) {
        struct script s;
        assert_true(serial < SERIALS_MAX - 2);
        script_draw(p, ++serial, &s);
        shaken |= use_before(&s);
        holds = check(p, &s, shaken);
    }
    /* Whatever was done to the connection, the next one's transaction passes. */
    serial++;
    struct script last = {.serial = serial, .retries = 1, .cancel_at = -1, .ops = 1};
    last.op[0] = (struct script_op){.kind = OP_WRITE, .prepared = true, .rows = 1};
    return holds && check(p, &last, true);
}

/* What arrived after somebody had looked. */
static void check_late_ones(void)
{
    char text[TEXT];
    snprintf(text, sizeof(text), "SELECT DISTINCT id / %lld FROM m", (long long)SPAN);
    PGconn *pg = PQconnectdb("");
    PGresult *result = PQexec(pg, text);
    assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
    int64_t seen = 0;
    for (int i = 0; i < PQntuples(result); i++) {
        int64_t at = strtoll(PQgetvalue(result, i, 0), NULL, 10);
        assert_in_range(at, 1, serial);
        if (said_of[at] == SAID_NOT)
            fail_msg("transaction %lld was called not applied, and came later", (long long)at);
        seen++;
    }
    PQclear(result);
    PQfinish(pg);
    assert_true(seen > 0);
}

TEST(what_is_said_is_what_is_there)
{
    (void)state;
    prop_run("outcomes are true", outcomes_are_true, CASES);
    check_late_ones();
    printf("%lld transactions: %lu applied, %lu not, %lu unknown\n", (long long)serial,
           counts[SAID_APPLIED], counts[SAID_NOT], counts[SAID_UNKNOWN]);
    assert_true(counts[SAID_APPLIED] > 0 && counts[SAID_NOT] > 0 && counts[SAID_UNKNOWN] > 0);
}

int main(void)
{
    tx_db_open();
    sql("CREATE TABLE m (id bigint primary key)");
    sql("CREATE TABLE f (id bigint primary key)");
    sql("CREATE TABLE o (id bigint primary key, n bigint)");
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_said_is_what_is_there)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tx_db_close();
    return failed;
}

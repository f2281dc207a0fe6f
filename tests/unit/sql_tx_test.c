/* Transactions of `dsql local`, step by step: the table is in sql_tx_cases.def. */
#include "local/rules/sql_tx.h"
#include "support/test.h"

static const struct {
    const char *name, *steps;
} cases[] = {
#define TX(name, steps) {#name, steps},
#include "unit/sql_tx_cases.def"
#undef TX
};

/* A session as the front keeps it, with a PostgreSQL that does what it is told. */
struct session {
    struct dsql_sql_tx tx;
    bool sync_index;
    struct dsql_sql_script *prepared; /* the one PREPARE it remembers */
    struct dsql_mono now;
    uint64_t rows, bytes;  /* of the next statements */
    struct dsql_span fail; /* SQLSTATE with which the next one fails */
};

static void answer(struct dsql_strbuf *out, const struct dsql_sql_refusal *refusal)
{
    dsql_strbuf_clear(out);
    dsql_strbuf_addf(out, "%s %s", refusal->sqlstate, refusal->message);
    if (refusal->detail[0])
        dsql_strbuf_addf(out, "|%s", refusal->detail);
}

static void remember(struct session *s, struct dsql_sql_script *script,
                     const struct dsql_sql_stmt *stmt)
{
    if (stmt->kind == DSQL_SQL_PREPARE) {
        dsql_sql_script_unref(s->prepared);
        s->prepared = dsql_sql_script_ref(script);
    }
    if (stmt->flags & DSQL_SQL_FRONT_SETTING)
        s->sync_index = stmt->value && strcmp(stmt->value, "off") == 0;
}

/* False if the rest of the query is not to be run. */
static bool run_statement(struct session *s, struct dsql_sql_script *script,
                          const struct dsql_sql_stmt *stmt, struct dsql_strbuf *out)
{
    struct dsql_sql_refusal refusal;
    const struct dsql_sql_stmt *prepared =
        stmt->kind == DSQL_SQL_EXECUTE && s->prepared ? &s->prepared->stmts[0] : NULL;
    switch (dsql_sql_tx_admit(&s->tx, stmt, prepared, s->sync_index, s->now, &refusal)) {
    case DSQL_SQL_TX_REFUSE:
        answer(out, &refusal);
        return false;
    case DSQL_SQL_TX_ROLL_BACK:
        dsql_strbuf_add_str(out, "ROLLBACK");
        return true;
    case DSQL_SQL_TX_PASS:
        break;
    }
    if (s->fail.len > 0) {
        dsql_sql_tx_failed(&s->tx);
        dsql_strbuf_add(out, s->fail);
        dsql_strbuf_add_str(out, " from PostgreSQL");
        return false;
    }
    bool writes = stmt->flags & DSQL_SQL_WRITES;
    if (dsql_sql_tx_done(&s->tx, writes ? s->rows : 0, writes ? s->bytes : 0, &refusal) !=
        DSQL_SQL_TX_PASS) {
        answer(out, &refusal);
        return false;
    }
    remember(s, script, stmt);
    return true;
}

static void run_query(struct session *s, struct dsql_span text, struct dsql_strbuf *out)
{
    struct dsql_sql_script *script;
    struct dsql_sql_refusal refusal;
    assert_int_equal(dsql_sql_script_new(text, &script), DSQL_OK);
    bool going = !script->refusal;
    if (!going) {
        dsql_sql_tx_failed(&s->tx);
        answer(out, script->refusal);
    }
    for (size_t i = 0; i < script->count && going; i++)
        going = run_statement(s, script, &script->stmts[i], out);
    if (dsql_sql_tx_sync(&s->tx, s->now, &refusal) == DSQL_SQL_TX_REFUSE)
        answer(out, &refusal);
    if (out->len == 0)
        dsql_strbuf_add_str(out, "ok");
    dsql_sql_script_unref(script);
    s->rows = s->bytes = 0;
    s->fail.len = 0;
}

/* Lines that are no query. */
static bool run_command(struct session *s, struct dsql_span line)
{
    int64_t number = 0;
    struct dsql_span word, rest;
    (void)dsql_span_cut(line, ' ', &word, &rest);
    if (line.ptr[0] == '+') {
        assert_true(dsql_span_to_i64((struct dsql_span){line.ptr + 1, line.len - 2}, &number));
        s->now = dsql_mono_add(s->now, number * DSQL_S);
    } else if (dsql_span_eq(word, DSQL_SPAN("rows"))) {
        assert_true(dsql_span_to_i64(rest, &number));
        s->rows = (uint64_t)number;
    } else if (dsql_span_eq(word, DSQL_SPAN("bytes"))) {
        assert_true(dsql_span_to_i64(rest, &number));
        s->bytes = (uint64_t)number;
    } else if (dsql_span_eq(word, DSQL_SPAN("pg"))) {
        s->fail = rest;
    } else {
        return false;
    }
    return true;
}

static void run_line(struct session *s, const char *name, struct dsql_span line)
{
    if (run_command(s, line))
        return;
    const char *arrow = memmem(line.ptr, line.len, " => ", 4);
    assert_non_null(arrow);
    struct dsql_span query = {line.ptr, (size_t)(arrow - line.ptr)};
    struct dsql_span expected = dsql_span_from(line, query.len + 4);
    STRBUF(seen, 512);
    run_query(s, query, &seen);
    if (!dsql_span_eq(dsql_strbuf_span(&seen), expected))
        fail_msg("%s: %.*s\n    gives %s", name, DSQL_SPAN_ARG(line), seen.ptr);
}

TEST(transactions_are_judged)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct session s = {.now = {1000 * DSQL_S}};
        dsql_sql_tx_init(&s.tx, &dsql_sql_limits_default);
        struct dsql_span line, rest = dsql_span_of(cases[i].steps);
        while (rest.len > 0) {
            (void)dsql_span_cut(rest, '\n', &line, &rest);
            run_line(&s, cases[i].name, line);
        }
        dsql_sql_script_unref(s.prepared);
    }
}

static const struct dsql_sql_stmt begin_stmt = {.kind = DSQL_SQL_BEGIN};
static const struct dsql_sql_stmt commit_stmt = {.kind = DSQL_SQL_COMMIT};
static const struct dsql_sql_stmt rollback_stmt = {.kind = DSQL_SQL_ROLLBACK};
static const struct dsql_sql_stmt insert_stmt = {.kind = DSQL_SQL_DML, .flags = DSQL_SQL_WRITES};

TEST(limits_are_settings)
{
    static const struct dsql_sql_limits small = {
        .rows = 10, .bytes = 2 << 20, .age_ns = 5 * DSQL_S};
    static const struct dsql_mono start = {0}, later = {7 * DSQL_S};
    struct dsql_sql_refusal why;
    struct dsql_sql_tx tx;
    dsql_sql_tx_init(&tx, &small);
    assert_int_equal(dsql_sql_tx_admit(&tx, &insert_stmt, NULL, false, start, &why),
                     DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_done(&tx, 11, 0, &why), DSQL_SQL_TX_REFUSE);
    assert_string_equal(why.message, "transaction row limit exceeded");

    assert_int_equal(dsql_sql_tx_admit(&tx, &begin_stmt, NULL, false, start, &why),
                     DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_admit(&tx, &insert_stmt, NULL, false, start, &why),
                     DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_done(&tx, 1, (2 << 20) + 1, &why), DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_admit(&tx, &commit_stmt, NULL, false, start, &why),
                     DSQL_SQL_TX_REFUSE);
    assert_string_equal(why.message, "transaction size limit 2mb exceeded");
    assert_string_equal(why.detail, "Current transaction size 3mb > 2mb");

    assert_int_equal(dsql_sql_tx_admit(&tx, &begin_stmt, NULL, false, start, &why),
                     DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_admit(&tx, &insert_stmt, NULL, false, later, &why),
                     DSQL_SQL_TX_REFUSE);
    assert_string_equal(why.message, "transaction age limit of 5s exceeded");
    assert_string_equal(why.detail, "Current transaction age 7s exceeds 5s");
}

TEST(ready_for_query_letters)
{
    static const struct dsql_mono now = {0};
    struct dsql_sql_refusal why;
    struct dsql_sql_tx tx;
    dsql_sql_tx_init(&tx, &dsql_sql_limits_default);
    assert_int_equal(dsql_sql_tx_letter(&tx), 'I');
    assert_int_equal(dsql_sql_tx_admit(&tx, &insert_stmt, NULL, false, now, &why),
                     DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_letter(&tx), 'I');
    assert_int_equal(dsql_sql_tx_sync(&tx, now, &why), DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_admit(&tx, &begin_stmt, NULL, false, now, &why), DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_letter(&tx), 'T');
    assert_int_equal(dsql_sql_tx_sync(&tx, now, &why), DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_letter(&tx), 'T');
    dsql_sql_tx_failed(&tx);
    assert_int_equal(dsql_sql_tx_letter(&tx), 'E');
    assert_int_equal(dsql_sql_tx_admit(&tx, &rollback_stmt, NULL, false, now, &why),
                     DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_letter(&tx), 'I');
}

/* At Parse a refusal counts and limits do not. */
TEST(parse_looks_at_the_statement_only)
{
    static struct dsql_sql_refusal truncate = {.sqlstate = "0A000", .message = "no"};
    static const struct dsql_sql_stmt refused = {.refusals = {&truncate, NULL}};
    static const struct dsql_mono now = {0};
    struct dsql_sql_refusal why;
    struct dsql_sql_tx tx;
    dsql_sql_tx_init(&tx, &dsql_sql_limits_default);
    assert_int_equal(dsql_sql_tx_admit(&tx, &begin_stmt, NULL, false, now, &why), DSQL_SQL_TX_PASS);
    tx.ddl = true;
    assert_int_equal(dsql_sql_tx_parse(&tx, &insert_stmt, false, &why), DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_parse(&tx, &refused, false, &why), DSQL_SQL_TX_REFUSE);
    assert_string_equal(why.message, "no");
    assert_int_equal(dsql_sql_tx_letter(&tx), 'E');
    assert_int_equal(dsql_sql_tx_parse(&tx, &insert_stmt, false, &why), DSQL_SQL_TX_REFUSE);
    assert_string_equal(why.sqlstate, "25P02");
    assert_int_equal(dsql_sql_tx_parse(&tx, &commit_stmt, false, &why), DSQL_SQL_TX_PASS);
    assert_int_equal(dsql_sql_tx_admit(&tx, &commit_stmt, NULL, false, now, &why),
                     DSQL_SQL_TX_ROLL_BACK);
    assert_int_equal(dsql_sql_tx_letter(&tx), 'I');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transactions_are_judged),
        cmocka_unit_test(limits_are_settings),
        cmocka_unit_test(ready_for_query_letters),
        cmocka_unit_test(parse_looks_at_the_statement_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

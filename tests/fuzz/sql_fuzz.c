/*
 * The scanner, the parser behind it and the rules: whatever the text, statements come out in order
 * and inside it, refusals are complete, and the scanner's idea of how many statements there are is
 * the parser's. Edits leave strings and quoted names alone, and what they leave is found again.
 */
#include "local/rules/sql_lex.h"
#include "local/rules/sql_scan.h"
#include "local/rules/sql_tx.h"
#include "support/fuzz.h"

enum {
    TEXT_MAX = 4096
}; /* libpg_query needs about 100 ns a byte; longer inputs find nothing new */

static void check_refusal(const struct dsql_sql_refusal *refusal)
{
    assert(strlen(refusal->sqlstate) == 5);
    assert(refusal->message[0] != '\0');
    assert(refusal->position >= 0);
}

static void check_stmt(const struct dsql_sql_script *script, const struct dsql_sql_stmt *stmt,
                       size_t *end)
{
    assert(stmt->offset >= *end && stmt->len > 0);
    *end = stmt->offset + stmt->len;
    assert(*end <= script->text.len);
    assert(stmt->table_count <= DSQL_SQL_TABLES_MAX);
    for (size_t i = 0; i < DSQL_COUNT_OF(stmt->refusals); i++)
        if (stmt->refusals[i])
            check_refusal(stmt->refusals[i]);
}

/* Runs all statements, and the whole again inside a transaction. */
static void run(const struct dsql_sql_script *script, struct dsql_sql_tx *tx)
{
    struct dsql_sql_refusal refusal;
    struct dsql_mono now = {0};
    for (size_t i = 0; i < script->count; i++) {
        const struct dsql_sql_stmt *stmt = &script->stmts[i];
        switch (dsql_sql_tx_admit(tx, stmt, NULL, i % 2, now, &refusal)) {
        case DSQL_SQL_TX_REFUSE:
            check_refusal(&refusal);
            break;
        case DSQL_SQL_TX_PASS:
            if (dsql_sql_tx_done(tx, 1000, 1 << 20, &refusal) == DSQL_SQL_TX_REFUSE)
                check_refusal(&refusal);
            break;
        case DSQL_SQL_TX_ROLL_BACK:
            assert(stmt->kind == DSQL_SQL_COMMIT);
            break;
        }
        now = dsql_mono_add(now, 60 * DSQL_S);
    }
    if (dsql_sql_tx_sync(tx, now, &refusal) == DSQL_SQL_TX_REFUSE)
        check_refusal(&refusal);
    assert(tx->state != DSQL_SQL_TX_IMPLICIT);
}

/* No edit takes anything of a string, a quoted name or a comment. */
static void check_edit(struct dsql_span sent, const struct dsql_sql_edit *edit)
{
    struct dsql_sql_lexer lexer = {sent, 0};
    for (;;) {
        struct dsql_sql_token token = dsql_sql_lex(&lexer);
        size_t begin = (size_t)(token.text.ptr - sent.ptr);
        if (token.kind == DSQL_SQL_TOKEN_END || token.kind == DSQL_SQL_TOKEN_BROKEN)
            return;
        if (token.kind != DSQL_SQL_TOKEN_STRING && token.kind != DSQL_SQL_TOKEN_QUOTED)
            continue;
        assert(edit->at + edit->len <= begin || edit->at >= lexer.at);
    }
}

/* What was not put in is what was sent, unless it was blanked out. */
static void check_edits(const struct dsql_sql_script *script)
{
    struct dsql_span sent = {script->sent, script->sent_len};
    size_t before = 0;
    for (size_t i = 0; i < script->edits.count; i++) {
        const struct dsql_sql_edit *edit = &script->edits.list[i];
        assert(edit->at >= before && edit->at + edit->len <= sent.len);
        before = edit->at + edit->len;
        check_edit(sent, edit);
    }
    before = 0;
    for (size_t i = 0; i < script->text.len; i++) {
        const struct dsql_sql_edit *inside;
        size_t place = dsql_sql_edits_place(&script->edits, i, &inside);
        assert(place >= before && place <= sent.len);
        before = place;
        if (!inside && script->edits.count > 0)
            assert(script->text.ptr[i] == sent.ptr[place] || script->changed);
    }
    assert(dsql_sql_edits_place(&script->edits, script->text.len, NULL) == sent.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t len = strnlen((const char *)data, size < TEXT_MAX ? size : TEXT_MAX);
    struct dsql_span text = {(const char *)data, len};
    struct dsql_sql_script *script;
    struct dsql_sql_scan scan;
    if (dsql_sql_script_new(text, &script))
        return 0;
    /* The text that the parser saw last; what was blanked out in it is blanked out again. */
    struct dsql_span seen = {script->edited ? script->edited : script->sent, script->text.len};
    if (dsql_sql_scan(seen, &scan))
        return 0;
    assert(script->sent_len == len && strlen(script->sent) == len);
    assert(strlen(script->text.ptr) == script->text.len);
    check_edits(script);
    size_t end = 0;
    for (size_t i = 0; i < script->count; i++)
        check_stmt(script, &script->stmts[i], &end);
    if (script->refusal) {
        check_refusal(script->refusal);
        assert(script->count == 0);
    } else {
        assert(script->count == scan.statements);
    }
    struct dsql_sql_tx tx;
    dsql_sql_tx_init(&tx, &dsql_sql_limits_default);
    run(script, &tx);
    run(script, &tx);
    dsql_sql_scan_fini(&scan);
    dsql_sql_script_unref(script);
    return 0;
}

#include "local/rules/sql_stmt.h"

#include <pg_query.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "local/rules/sql_lex.h"
#include "local/rules/sql_pg16.h"
#include "local/rules/sql_rules.h"
#include "local/rules/sql_scan.h"
#include "local/rules/sql_shorten.h"

const char *dsql_sql_kind_name(enum dsql_sql_kind kind)
{
    static const char *const names[] = {
        [DSQL_SQL_OTHER] = "other",
        [DSQL_SQL_SELECT] = "select",
        [DSQL_SQL_DML] = "dml",
        [DSQL_SQL_DDL] = "ddl",
        [DSQL_SQL_BEGIN] = "begin",
        [DSQL_SQL_COMMIT] = "commit",
        [DSQL_SQL_ROLLBACK] = "rollback",
        [DSQL_SQL_SET] = "set",
        [DSQL_SQL_SHOW] = "show",
        [DSQL_SQL_COPY_IN] = "copy_in",
        [DSQL_SQL_COPY_OUT] = "copy_out",
        [DSQL_SQL_PREPARE] = "prepare",
        [DSQL_SQL_EXECUTE] = "execute",
        [DSQL_SQL_DEALLOCATE] = "deallocate",
        [DSQL_SQL_CALL] = "call",
        [DSQL_SQL_EXPLAIN] = "explain",
        [DSQL_SQL_IAM_GRANT] = "iam_grant",
        [DSQL_SQL_IAM_REVOKE] = "iam_revoke",
    };
    return (size_t)kind < DSQL_COUNT_OF(names) ? names[kind] : "?";
}

void dsql_sql_refuse(struct dsql_sql_refusal *refusal, const char *sqlstate, const char *fmt, ...)
{
    *refusal = (struct dsql_sql_refusal){.when = DSQL_SQL_ALWAYS};
    (void)snprintf(refusal->sqlstate, sizeof(refusal->sqlstate), "%s", sqlstate);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(refusal->message, sizeof(refusal->message), fmt, args);
    va_end(args);
}

/* libpg_query does not give out SQLSTATEs. Nearly all that the parser says is 42601. */
static const char *sqlstate_of(const char *message)
{
    static const struct {
        const char *part, *sqlstate;
    } exceptions[] = {
        {"not yet implemented", "0A000"},      {"no longer supported", "0A000"},
        {"cannot be marked", "0A000"},         {"cannot be changed", "0A000"},
        {"not supported on", "0A000"},         {"cannot have output arguments", "0A000"},
        {"precision for type float", "22023"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(exceptions); i++)
        if (strstr(message, exceptions[i].part))
            return exceptions[i].sqlstate;
    return "42601";
}

static enum dsql_rc refuse_script(struct dsql_sql_script *script, const char *sqlstate,
                                  const char *message, int position)
{
    script->refusal = malloc(sizeof(*script->refusal));
    if (!script->refusal)
        return DSQL_NO_MEMORY;
    dsql_sql_refuse(script->refusal, sqlstate, "%s", message);
    script->refusal->position = position;
    return DSQL_OK;
}

static enum dsql_rc read_iam(struct dsql_sql_stmt *stmt, const struct dsql_sql_mark *mark)
{
    stmt->kind = mark->kind == DSQL_SQL_MARK_IAM_GRANT ? DSQL_SQL_IAM_GRANT : DSQL_SQL_IAM_REVOKE;
    stmt->flags = DSQL_SQL_IS_DDL;
    stmt->offset = mark->offset;
    stmt->len = mark->len;
    stmt->name = dsql_sql_unquote(mark->role);
    stmt->value = dsql_sql_unquote(mark->arn);
    return stmt->name && stmt->value ? DSQL_OK : DSQL_NO_MEMORY;
}

static bool is_iam(const struct dsql_sql_mark *mark)
{
    return mark->kind == DSQL_SQL_MARK_IAM_GRANT || mark->kind == DSQL_SQL_MARK_IAM_REVOKE;
}

/* A statement of the tree: its Node as the answer, and where it stands in the text. The parser
 * counts the blanks before it in, and writes no length if it goes to the end. */
static struct dsql_tree locate(const struct dsql_sql_script *script,
                               const struct dsql_sql_short *shortened, struct dsql_tree raw,
                               struct dsql_sql_stmt *stmt)
{
    struct dsql_tree node = {NULL}, member = {NULL};
    struct dsql_span key;
    int64_t start = 0, len = 0;
    while ((member = dsql_tree_member(raw, member, &key)).ptr) {
        if (dsql_span_eq(key, DSQL_SPAN("stmt")))
            node = member;
        else if (dsql_span_eq(key, DSQL_SPAN("stmt_location")))
            (void)dsql_tree_int(member, &start);
        else if (dsql_span_eq(key, DSQL_SPAN("stmt_len")))
            (void)dsql_tree_int(member, &len);
    }
    size_t end =
        len > 0 ? dsql_sql_short_place(shortened, (size_t)(start + len)) : script->text.len;
    struct dsql_sql_lexer lexer = {dsql_span_first(script->text, end),
                                   dsql_sql_short_place(shortened, (size_t)start)};
    struct dsql_sql_token first = dsql_sql_lex(&lexer);
    stmt->offset = (size_t)(first.text.ptr - script->text.ptr);
    stmt->len = end - stmt->offset;
    return node;
}

/* What the scanner and the parser found, put together in the order of the text. */
struct reading {
    struct dsql_sql_script *script;
    const struct dsql_sql_scan *scan;
    const struct dsql_sql_short *shortened; /* what the parser saw */
    struct dsql_sql_dialect dialect;
    size_t mark; /* the next one that belongs to no statement yet */
    size_t cap;  /* of the script's statements */
};

static struct dsql_sql_stmt *add_stmt(struct reading *reading)
{
    struct dsql_sql_script *script = reading->script;
    if (!DSQL_GROW(script->stmts, reading->cap, script->count + 1))
        return NULL;
    struct dsql_sql_stmt *stmt = &script->stmts[script->count++];
    *stmt = (struct dsql_sql_stmt){.offset = 0};
    return stmt;
}

static enum dsql_rc add_iam_before(struct reading *reading, size_t offset)
{
    const struct dsql_sql_scan *scan = reading->scan;
    for (; reading->mark < scan->mark_count && scan->marks[reading->mark].offset < offset;
         reading->mark++) {
        if (!is_iam(&scan->marks[reading->mark]))
            continue;
        struct dsql_sql_stmt *stmt = add_stmt(reading);
        enum dsql_rc rc = stmt ? read_iam(stmt, &scan->marks[reading->mark]) : DSQL_NO_MEMORY;
        if (rc)
            return rc;
    }
    return DSQL_OK;
}

static enum dsql_rc add_parsed(struct reading *reading, struct dsql_tree raw)
{
    struct dsql_sql_stmt located = {.offset = 0};
    struct dsql_tree node = locate(reading->script, reading->shortened, raw, &located);
    enum dsql_rc rc = add_iam_before(reading, located.offset);
    struct dsql_sql_stmt *stmt = rc ? NULL : add_stmt(reading);
    if (!stmt)
        return DSQL_NO_MEMORY;
    *stmt = located;
    struct dsql_sql_judge judge = {.stmt = stmt, .dialect = reading->dialect};
    const struct dsql_sql_scan *scan = reading->scan;
    for (; reading->mark < scan->mark_count &&
           scan->marks[reading->mark].offset < stmt->offset + stmt->len;
         reading->mark++) {
        if (scan->marks[reading->mark].kind == DSQL_SQL_MARK_INDEX_USING)
            judge.index_using = true;
        else
            judge.async = true;
    }
    dsql_sql_judge(&judge, node);
    return judge.out_of_memory ? DSQL_NO_MEMORY : DSQL_OK;
}

static enum dsql_rc read_tree(struct dsql_sql_script *script, const struct dsql_sql_scan *scan,
                              const struct dsql_sql_short *shortened,
                              struct dsql_sql_dialect dialect, struct dsql_tree list)
{
    struct reading reading = {
        .script = script, .scan = scan, .shortened = shortened, .dialect = dialect};
    enum dsql_rc rc = DSQL_OK;
    for (struct dsql_tree e = dsql_tree_first(list); e.ptr && !rc; e = dsql_tree_next(e))
        rc = add_parsed(&reading, e);
    return rc ? rc : add_iam_before(&reading, SIZE_MAX);
}

/* Behind so many characters. */
static size_t byte_at(struct dsql_span text, size_t characters)
{
    size_t at = 0;
    for (size_t i = 0; i < characters && at < text.len; i++)
        do
            at++;
        while (at < text.len && ((unsigned char)text.ptr[at] >> 6) == 2);
    return at;
}

/* Where it is, counted in characters from 1. */
static size_t position_of(struct dsql_span text, size_t at)
{
    size_t position = 1;
    for (size_t i = 0; i < at && i < text.len; i++)
        position += ((unsigned char)text.ptr[i] >> 6) != 2;
    return position;
}

static struct dsql_span sent_of(const struct dsql_sql_script *script)
{
    return (struct dsql_span){script->sent, script->sent_len};
}

size_t dsql_sql_script_position(const struct dsql_sql_script *script, size_t position)
{
    if (script->edits.count == 0 || position == 0)
        return position;
    size_t at = byte_at(script->text, position - 1);
    return position_of(sent_of(script), dsql_sql_edits_place(&script->edits, at, NULL));
}

/* The parser's words. Where they are about a word that the client did not write, they name the one
 * that it stands for. */
static enum dsql_rc refuse_syntax(struct dsql_sql_script *script, const char *message, size_t place,
                                  const struct dsql_sql_edit *inside, bool located)
{
    static const char near[] = "at or near \"";
    char words[sizeof(script->refusal->message)];
    const char *named = inside && inside->len > 0 ? strstr(message, near) : NULL;
    (void)snprintf(words, sizeof(words), "%s", message);
    if (named)
        (void)snprintf(words, sizeof(words), "%.*s%s%.*s\"", (int)(named - message), message, near,
                       (int)inside->len, script->sent + inside->at);
    size_t position = located ? position_of(sent_of(script), place) : 0;
    return refuse_script(script, sqlstate_of(message), words, (int)position);
}

/* What the parser says to the text, as it is with the edits so far. */
static enum dsql_rc ask_parser(struct dsql_sql_script *script, const struct dsql_sql_scan *scan,
                               struct dsql_sql_dialect dialect, struct dsql_sql_pg16 *pg16,
                               const struct dsql_sql_short *shortened, bool *again)
{
    PgQueryParseResult result =
        pg_query_parse(shortened->text ? shortened->text : script->text.ptr);
    enum dsql_rc rc;
    if (result.error) {
        struct dsql_span seen =
            shortened->text ? (struct dsql_span){shortened->text, shortened->len} : script->text;
        int position = result.error->cursorpos;
        size_t at = byte_at(seen, position > 0 ? (size_t)position - 1 : 0);
        const struct dsql_sql_edit *inside;
        size_t place =
            dsql_sql_edits_place(&pg16->edits, dsql_sql_short_place(shortened, at), &inside);
        rc = dsql_sql_pg16_refused(pg16, sent_of(script), result.error->message, place, again);
        if (!rc && !*again)
            rc = refuse_syntax(script, result.error->message, place, inside, position > 0);
    } else {
        struct dsql_tree list = dsql_tree_get((struct dsql_tree){result.parse_tree}, "stmts");
        rc = dsql_sql_pg16_parsed(pg16, sent_of(script), scan->new_words, shortened, list, again);
        if (!rc && !*again)
            rc = read_tree(script, scan, shortened, dialect, list);
    }
    pg_query_free_parse_result(result);
    return rc;
}

static enum dsql_rc parse(struct dsql_sql_script *script, const struct dsql_sql_scan *scan,
                          struct dsql_sql_dialect dialect, struct dsql_sql_pg16 *pg16, bool *again)
{
    if (scan->too_deep)
        return refuse_script(script, "54001", "stack depth limit exceeded", 0);
    struct dsql_sql_short shortened;
    enum dsql_rc rc = dsql_sql_shorten(script->text, &shortened);
    if (rc)
        return rc;
    rc = ask_parser(script, scan, dialect, pg16, &shortened, again);
    dsql_sql_short_fini(&shortened);
    return rc;
}

/* Makes the text for PostgreSQL from what was sent, and reads it. *again: there are edits to be
 * made first. */
static enum dsql_rc read_edited(struct dsql_sql_script *script, struct dsql_sql_dialect dialect,
                                struct dsql_sql_pg16 *pg16, bool *again)
{
    struct dsql_sql_scan scan;
    *again = false;
    script->text = sent_of(script);
    if (pg16->edits.count > 0) {
        free(script->edited);
        script->edited = dsql_sql_edits_apply(&pg16->edits, script->text, &script->text.len);
        script->text.ptr = script->edited;
        if (!script->edited)
            return DSQL_NO_MEMORY;
    }
    enum dsql_rc rc = dsql_sql_scan(script->text, &scan);
    if (rc)
        return rc;
    free(script->changed);
    script->changed = scan.text;
    scan.text = NULL;
    if (script->changed)
        script->text.ptr = script->changed;
    rc = parse(script, &scan, dialect, pg16, again);
    dsql_sql_scan_fini(&scan);
    return rc;
}

static size_t bytes_of(const struct dsql_sql_script *script)
{
    size_t bytes = sizeof(*script) + script->count * sizeof(*script->stmts);
    bytes += script->sent_len + 1;
    bytes += script->changed ? script->text.len + 1 : 0;
    bytes += script->edited ? script->text.len + 1 : 0;
    for (size_t i = 0; i < script->edits.count; i++)
        bytes += sizeof(script->edits.list[i]) + strlen(script->edits.list[i].put) + 1;
    bytes += script->refusal ? sizeof(*script->refusal) : 0;
    for (size_t i = 0; i < script->count; i++) {
        const struct dsql_sql_stmt *stmt = &script->stmts[i];
        bytes += stmt->table_count * sizeof(*stmt->tables);
        bytes += stmt->name ? strlen(stmt->name) + 1 : 0;
        bytes += stmt->value ? strlen(stmt->value) + 1 : 0;
        bytes += stmt->refusals[0] ? sizeof(*stmt->refusals[0]) : 0;
        bytes += stmt->refusals[1] ? sizeof(*stmt->refusals[1]) : 0;
    }
    return bytes;
}

enum dsql_rc dsql_sql_script_new(struct dsql_span text, struct dsql_sql_script **script)
{
    return dsql_sql_script_new_as(text, (struct dsql_sql_dialect){0}, script);
}

enum dsql_rc dsql_sql_script_new_as(struct dsql_span text, struct dsql_sql_dialect dialect,
                                    struct dsql_sql_script **script)
{
    struct dsql_sql_pg16 pg16 = {.read = false};
    struct dsql_sql_script *made = calloc(1, sizeof(*made));
    if (!made)
        return DSQL_NO_MEMORY;
    made->refs = 1;
    made->sent = malloc(text.len + 1);
    made->sent_len = text.len;
    enum dsql_rc rc = made->sent ? DSQL_OK : DSQL_NO_MEMORY;
    if (rc)
        goto out;
    if (text.len > 0)
        memcpy(made->sent, text.ptr, text.len);
    made->sent[text.len] = '\0';
    bool again;
    do
        rc = read_edited(made, dialect, &pg16, &again);
    while (!rc && again);
    made->edits = pg16.edits;
    pg16.edits = (struct dsql_sql_edits){.list = NULL};
    made->bytes = bytes_of(made);
out:
    dsql_sql_pg16_fini(&pg16);
    if (rc)
        dsql_sql_script_unref(made);
    else
        *script = made;
    return rc;
}

struct dsql_sql_script *dsql_sql_script_ref(struct dsql_sql_script *script)
{
    script->refs++;
    return script;
}

void dsql_sql_script_unref(struct dsql_sql_script *script)
{
    if (!script)
        return;
    assert(script->refs > 0);
    if (--script->refs > 0)
        return;
    for (size_t i = 0; i < script->count; i++) {
        struct dsql_sql_stmt *stmt = &script->stmts[i];
        free(stmt->name);
        free(stmt->value);
        free(stmt->tables);
        free(stmt->refusals[0]);
        free(stmt->refusals[1]);
    }
    dsql_sql_edits_fini(&script->edits);
    free(script->changed);
    free(script->edited);
    free(script->sent);
    free(script->stmts);
    free(script->refusal);
    free(script);
}

static bool holds(enum dsql_sql_when when, const struct dsql_sql_session *session)
{
    switch (when) {
    case DSQL_SQL_ALWAYS:
        return true;
    case DSQL_SQL_IN_BLOCK:
        return session->in_block;
    case DSQL_SQL_OUTSIDE_BLOCK:
        return !session->in_block;
    case DSQL_SQL_SYNC_INDEX_OFF:
        return !session->sync_index;
    }
    return true;
}

const struct dsql_sql_refusal *dsql_sql_stmt_refusal(const struct dsql_sql_stmt *stmt,
                                                     const struct dsql_sql_session *session)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(stmt->refusals); i++)
        if (stmt->refusals[i] && holds(stmt->refusals[i]->when, session))
            return stmt->refusals[i];
    return NULL;
}

const struct dsql_sql_refusal *dsql_sql_script_parse_refusal(const struct dsql_sql_script *script)
{
    static const struct dsql_sql_refusal many = {
        .sqlstate = "42601",
        .message = "cannot insert multiple commands into a prepared statement",
    };
    if (script->refusal)
        return script->refusal;
    return script->count > 1 ? &many : NULL;
}

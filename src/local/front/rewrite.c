#include "local/front/rewrite.h"

#include "local/process/first_sql.h"

/* Reading a literal as a number fails while the statement is analysed. */
static const char refusal_echo[] = "invalid input syntax for type integer: \"dsql refuses\x1f";

/* An identifier beyond PostgreSQL's limit of 199 bytes fails when all else is done. */
static const char commit_echo[] = "transaction identifier \"dsql refuses\x1f";
enum { IDENTIFIER_MIN = 200 };

/* What the service answers and PostgreSQL 15 does not. */
static const struct {
    struct dsql_span name;
    const char *sql;
} shown[] = {
    {{"max_connections", 15}, "select pg_catalog.dsql_shown('20') as max_connections"},
};

/* The inside of a literal. */
static void add_quoted(struct dsql_strbuf *sb, struct dsql_span text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\'')
            dsql_strbuf_add_char(sb, '\'');
        dsql_strbuf_add_char(sb, text.ptr[i]);
    }
}

void dsql_rewrite_literal(struct dsql_strbuf *sb, struct dsql_span text)
{
    dsql_strbuf_add_char(sb, '\'');
    add_quoted(sb, text);
    dsql_strbuf_add_char(sb, '\'');
}

/* Without the part of a character that is left where a message was cut. */
static struct dsql_span whole_characters(struct dsql_span text)
{
    size_t tail = 0;
    while (tail < text.len && tail < 3 && ((unsigned char)text.ptr[text.len - 1 - tail] >> 6) == 2)
        tail++;
    unsigned char lead = tail < text.len ? (unsigned char)text.ptr[text.len - 1 - tail] : 0;
    size_t wanted = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;
    return wanted > tail ? dsql_span_first(text, text.len - 1 - tail) : text;
}

static void add_words(struct dsql_strbuf *sb, const struct dsql_sql_refusal *refusal)
{
    dsql_strbuf_add_str(sb, "dsql refuses\x1f");
    dsql_strbuf_add_str(sb, refusal->sqlstate);
    dsql_strbuf_add_char(sb, '\x1f');
    add_quoted(sb, whole_characters(dsql_span_of(refusal->message)));
    dsql_strbuf_add_char(sb, '\x1f');
    add_quoted(sb, dsql_span_of(refusal->detail));
    dsql_strbuf_add_char(sb, '\x1f');
    add_quoted(sb, dsql_span_of(refusal->hint));
    dsql_strbuf_add_char(sb, '\x1f');
    if (refusal->position > 0)
        dsql_strbuf_addf(sb, "%d", (int)refusal->position);
    dsql_strbuf_add_char(sb, '\x1f');
}

void dsql_rewrite_refusal(struct dsql_strbuf *sb, const struct dsql_sql_refusal *refusal)
{
    dsql_strbuf_add_str(sb, "select '");
    add_words(sb, refusal);
    dsql_strbuf_add_str(sb, "'::pg_catalog.int4");
}

void dsql_rewrite_failed_commit(struct dsql_strbuf *sb, const struct dsql_sql_refusal *refusal)
{
    dsql_strbuf_add_str(sb, "prepare transaction '");
    add_words(sb, refusal);
    for (int i = 0; i < IDENTIFIER_MIN; i++)
        dsql_strbuf_add_char(sb, '.');
    dsql_strbuf_add_char(sb, '\'');
}

bool dsql_rewrite_words(const struct dsql_pg_report *report, struct dsql_pg_report *words)
{
    struct dsql_span rest = report->message;
    if (dsql_span_starts(rest, dsql_span_of(refusal_echo)))
        rest = dsql_span_from(rest, sizeof(refusal_echo) - 1);
    else if (dsql_span_starts(rest, dsql_span_of(commit_echo)))
        rest = dsql_span_from(rest, sizeof(commit_echo) - 1);
    else
        return false;
    *words = (struct dsql_pg_report){.severity = DSQL_SPAN("ERROR")};
    dsql_span_cut(rest, '\x1f', &words->sqlstate, &rest);
    dsql_span_cut(rest, '\x1f', &words->message, &rest);
    dsql_span_cut(rest, '\x1f', &words->detail, &rest);
    dsql_span_cut(rest, '\x1f', &words->hint, &rest);
    dsql_span_cut(rest, '\x1f', &words->position, &rest);
    return true;
}

static bool begins_with(const struct dsql_sql_script *script, const struct dsql_sql_stmt *stmt,
                        struct dsql_span verb)
{
    struct dsql_span text = dsql_span_trim(dsql_sql_stmt_text(script, stmt));
    return text.len >= verb.len && dsql_span_eq_nocase(dsql_span_first(text, verb.len), verb);
}

bool dsql_rewrite_is_build(const struct dsql_sql_script *script, const struct dsql_sql_stmt *stmt)
{
    return (stmt->flags & DSQL_SQL_JOB) && begins_with(script, stmt, DSQL_SPAN("create"));
}

/* A build that the service runs as a job: here it is done at once, and answers with a job's id. */
static void add_job(struct dsql_strbuf *sb, struct dsql_build_fate fate,
                    const struct dsql_sql_script *script, const struct dsql_sql_stmt *stmt)
{
    dsql_strbuf_add_str(sb, "select pg_catalog.dsql_run_job(");
    dsql_rewrite_literal(sb, dsql_sql_stmt_text(script, stmt));
    dsql_strbuf_addf(sb, ", %s, %s) as job_id", fate.slow ? "true" : "false",
                     fate.fails ? "true" : "false");
}

static void add_iam(struct dsql_strbuf *sb, const struct dsql_sql_stmt *stmt)
{
    dsql_strbuf_addf(sb, "call pg_catalog.dsql_iam('%s', ",
                     stmt->kind == DSQL_SQL_IAM_GRANT ? "GRANT" : "REVOKE");
    dsql_rewrite_literal(sb, dsql_span_of(stmt->name ? stmt->name : ""));
    dsql_strbuf_add_str(sb, ", ");
    dsql_rewrite_literal(sb, dsql_span_of(stmt->value ? stmt->value : ""));
    dsql_strbuf_add_char(sb, ')');
}

bool dsql_rewrite_statement(struct dsql_strbuf *sb, bool sync_index, struct dsql_build_fate fate,
                            const struct dsql_sql_script *script, const struct dsql_sql_stmt *stmt)
{
    if (stmt->flags & DSQL_SQL_JOB) {
        add_job(sb, fate, script, stmt);
        return true;
    }
    if (stmt->kind == DSQL_SQL_IAM_GRANT || stmt->kind == DSQL_SQL_IAM_REVOKE) {
        add_iam(sb, stmt);
        return true;
    }
    if (stmt->kind == DSQL_SQL_SET && (stmt->flags & DSQL_SQL_FRONT_SETTING)) {
        dsql_strbuf_add_str(sb, begins_with(script, stmt, DSQL_SPAN("reset"))
                                    ? "reset dsql.front_setting"
                                    : "set dsql.front_setting to 'on'");
        return true;
    }
    if (stmt->kind == DSQL_SQL_SHOW && (stmt->flags & DSQL_SQL_FRONT_SETTING)) {
        dsql_strbuf_addf(sb, "select pg_catalog.dsql_shown('%s') as disable_sync_create_index",
                         sync_index ? "off" : "on");
        return true;
    }
    for (size_t i = 0; i < DSQL_COUNT_OF(shown) && stmt->kind == DSQL_SQL_SHOW && stmt->name; i++) {
        if (dsql_span_eq_nocase(dsql_span_of(stmt->name), shown[i].name)) {
            dsql_strbuf_add_str(sb, shown[i].sql);
            return true;
        }
    }
    return false;
}

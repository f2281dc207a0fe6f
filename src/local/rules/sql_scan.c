#include "local/rules/sql_scan.h"

#include <stdlib.h>

#include "base/grow.h"
#include "local/process/first_sql.h"
#include "local/rules/sql_lex.h"
#include "local/rules/sql_pg16.h"

/* What the scanner knows while it reads one statement. */
struct statement {
    size_t start; /* of its first token */
    bool create_index, create_routine, create_table, alter_table;
    size_t body_depth;            /* inside BEGIN ATOMIC ... END: 1, plus one for each CASE */
    struct dsql_sql_token before; /* the token before the current one */
};

/* How deeply nested the tree is at the place the scanner has come to. Operators that follow each
 * other nest to the left until a comma or the like begins a new expression; joins and unions nest
 * on until their parenthesis or the statement ends. */
struct nesting {
    size_t levels; /* open parentheses */
    struct level {
        uint32_t floor; /* how deep its expressions begin */
        uint32_t depth;
    } here, outer[DSQL_SQL_DEPTH_MAX];
};

static enum dsql_rc add_mark(struct dsql_sql_scan *scan, struct dsql_sql_mark mark)
{
    if (!DSQL_GROW(scan->marks, scan->mark_cap, scan->mark_count + 1))
        return DSQL_NO_MEMORY;
    scan->marks[scan->mark_count++] = mark;
    return DSQL_OK;
}

static size_t offset_of(const struct dsql_sql_lexer *lx, struct dsql_sql_token token)
{
    return (size_t)(token.text.ptr - lx->text.ptr);
}

/* The text of which PostgreSQL sees another version than was sent. */
static enum dsql_rc own_text(struct dsql_sql_scan *scan, struct dsql_span text)
{
    if (scan->text)
        return DSQL_OK;
    scan->text = malloc(text.len + 1);
    if (!scan->text)
        return DSQL_NO_MEMORY;
    memcpy(scan->text, text.ptr, text.len);
    scan->text[text.len] = '\0';
    return DSQL_OK;
}

static enum dsql_rc blank(struct dsql_sql_scan *scan, struct dsql_span text, size_t offset,
                          size_t len)
{
    enum dsql_rc rc = own_text(scan, text);
    if (!rc)
        memset(scan->text + offset, ' ', len);
    return rc;
}

static bool take(struct dsql_sql_lexer *lx, const char *keyword)
{
    struct dsql_sql_lexer ahead = *lx;
    if (!dsql_sql_token_is(dsql_sql_lex(&ahead), keyword))
        return false;
    *lx = ahead;
    return true;
}

static bool take_name(struct dsql_sql_lexer *lx)
{
    for (;;) {
        if (!dsql_sql_token_is_name(dsql_sql_lex(lx)))
            return false;
        struct dsql_sql_lexer ahead = *lx;
        if (!dsql_sql_token_is_punct(dsql_sql_lex(&ahead), '.'))
            return true;
        *lx = ahead;
    }
}

static enum dsql_rc mark_async(struct dsql_sql_scan *scan, const struct dsql_sql_lexer *lx,
                               enum dsql_sql_mark_kind kind, struct dsql_sql_token async)
{
    struct dsql_sql_mark mark = {kind, offset_of(lx, async), async.text.len, {NULL, 0}, {NULL, 0}};
    enum dsql_rc rc = blank(scan, lx->text, mark.offset, mark.len);
    return rc ? rc : add_mark(scan, mark);
}

/* The lexer stands behind CREATE. */
static enum dsql_rc open_create(struct dsql_sql_scan *scan, struct dsql_sql_lexer lx,
                                struct statement *st)
{
    if (take(&lx, "or"))
        (void)take(&lx, "replace");
    st->create_routine = take(&lx, "function") || take(&lx, "procedure");
    (void)take(&lx, "unique");
    if (take(&lx, "index")) {
        st->create_index = true;
        struct dsql_sql_token async = dsql_sql_lex(&lx);
        if (dsql_sql_token_is(async, "async"))
            return mark_async(scan, &lx, DSQL_SQL_MARK_INDEX_ASYNC, async);
        return DSQL_OK;
    }
    static const char *const table_words[] = {"global", "local", "temporary", "temp", "unlogged"};
    for (size_t i = 0; i < DSQL_COUNT_OF(table_words); i++)
        (void)take(&lx, table_words[i]);
    st->create_table = take(&lx, "table");
    return DSQL_OK;
}

/* The lexer stands behind ALTER. A table may be called async, so the whole form is looked at. */
static enum dsql_rc open_alter(struct dsql_sql_scan *scan, struct dsql_sql_lexer lx,
                               struct statement *st)
{
    st->alter_table = take(&lx, "table");
    struct dsql_sql_token async = dsql_sql_lex(&lx);
    if (!st->alter_table || !dsql_sql_token_is(async, "async"))
        return DSQL_OK;
    if (take(&lx, "if"))
        (void)take(&lx, "exists");
    (void)take(&lx, "only");
    if (!take_name(&lx) || !take(&lx, "validate"))
        return DSQL_OK;
    return mark_async(scan, &lx, DSQL_SQL_MARK_VALIDATE_ASYNC, async);
}

/* The lexer stands behind AWS. What is no complete form is left for the parser to complain about.
 */
static enum dsql_rc open_aws(struct dsql_sql_scan *scan, struct dsql_sql_lexer lx,
                             const struct statement *st)
{
    if (!take(&lx, "iam"))
        return DSQL_OK;
    bool grant = take(&lx, "grant");
    if (!grant && !take(&lx, "revoke"))
        return DSQL_OK;
    struct dsql_sql_token role = dsql_sql_lex(&lx);
    if (!dsql_sql_token_is_name(role) || !take(&lx, grant ? "to" : "from"))
        return DSQL_OK;
    if (role.kind == DSQL_SQL_TOKEN_QUOTED && role.text.ptr[0] != '"') /* U&"" */
        return DSQL_OK;
    struct dsql_sql_token arn = dsql_sql_lex(&lx);
    if (arn.kind != DSQL_SQL_TOKEN_STRING || arn.text.ptr[0] != '\'')
        return DSQL_OK;
    size_t end = lx.at;
    struct dsql_sql_token next = dsql_sql_lex(&lx);
    if (next.kind != DSQL_SQL_TOKEN_END && !dsql_sql_token_is_punct(next, ';'))
        return DSQL_OK;
    enum dsql_rc rc = blank(scan, lx.text, st->start, end - st->start);
    if (rc)
        return rc;
    return add_mark(
        scan, (struct dsql_sql_mark){grant ? DSQL_SQL_MARK_IAM_GRANT : DSQL_SQL_MARK_IAM_REVOKE,
                                     st->start, end - st->start, role.text, arn.text});
}

static enum dsql_rc open_statement(struct dsql_sql_scan *scan, const struct dsql_sql_lexer *lx,
                                   struct dsql_sql_token first, struct statement *st)
{
    *st = (struct statement){.start = offset_of(lx, first), .before = first};
    scan->statements++;
    if (dsql_sql_token_is(first, "create"))
        return open_create(scan, *lx, st);
    if (dsql_sql_token_is(first, "alter"))
        return open_alter(scan, *lx, st);
    if (dsql_sql_token_is(first, "aws"))
        return open_aws(scan, *lx, st);
    return DSQL_OK;
}

static bool is_one_of(struct dsql_sql_token token, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (dsql_sql_token_is(token, words[i]))
            return true;
    return false;
}

static void measure_word(struct level *here, struct dsql_sql_token word)
{
    static const char *const joins[] = {"union", "except", "intersect", "join"};
    static const char *const operators[] = {"collate", "operator", "at"};
    static const char *const fresh[] = {"and", "or", "when", "then"};
    if (is_one_of(word, joins, DSQL_COUNT_OF(joins)))
        here->depth = ++here->floor;
    else if (is_one_of(word, operators, DSQL_COUNT_OF(operators)))
        here->depth++;
    else if (is_one_of(word, fresh, DSQL_COUNT_OF(fresh)))
        here->depth = here->floor;
}

static void measure_punct(struct nesting *nesting, char c)
{
    struct level *here = &nesting->here;
    if (c == '(' || c == '[') {
        nesting->outer[nesting->levels++] = *here;
        here->floor = ++here->depth;
    } else if ((c == ')' || c == ']') && nesting->levels > 0) {
        *here = nesting->outer[--nesting->levels];
    } else if (c == ',') {
        here->depth = here->floor;
    } else if (c == ';' && nesting->levels == 0) {
        *here = (struct level){0, 0};
    }
}

/* False when it became too deep. */
static bool measure(struct nesting *nesting, struct dsql_sql_token token)
{
    if (token.kind == DSQL_SQL_TOKEN_OP)
        nesting->here.depth++;
    else if (token.kind == DSQL_SQL_TOKEN_WORD)
        measure_word(&nesting->here, token);
    else if (token.kind == DSQL_SQL_TOKEN_PUNCT)
        measure_punct(nesting, token.text.ptr[0]);
    return nesting->levels < DSQL_SQL_DEPTH_MAX && nesting->here.depth < DSQL_SQL_DEPTH_MAX;
}

/* PostgreSQL 16 takes STORAGE in a column definition; 15 does not. Names of columns and LIKE
 * options that read the same are told apart by the word before. */
static enum dsql_rc strip_storage(struct dsql_sql_scan *scan, const struct dsql_sql_lexer *lx,
                                  const struct statement *st, struct dsql_sql_token token)
{
    static const char *const not_behind[] = {"add",       "column",    "set",
                                             "including", "excluding", "exists"};
    static const char *const kinds[] = {"plain", "external", "extended", "main", "default"};
    if (!dsql_sql_token_is(token, "storage") || dsql_sql_token_is_punct(st->before, '(') ||
        dsql_sql_token_is_punct(st->before, ','))
        return DSQL_OK;
    if (is_one_of(st->before, not_behind, DSQL_COUNT_OF(not_behind)))
        return DSQL_OK;
    struct dsql_sql_lexer ahead = *lx;
    if (!is_one_of(dsql_sql_lex(&ahead), kinds, DSQL_COUNT_OF(kinds)))
        return DSQL_OK;
    size_t offset = offset_of(lx, token);
    return blank(scan, lx->text, offset, ahead.at - offset);
}

/* ALTER COLUMN ... SET STORAGE DEFAULT is PostgreSQL 16's, too. The word becomes a name that the
 * module knows. */
static enum dsql_rc name_default_storage(struct dsql_sql_scan *scan,
                                         const struct dsql_sql_lexer *lx,
                                         const struct statement *st, struct dsql_sql_token token)
{
    struct dsql_sql_lexer ahead = *lx;
    if (!dsql_sql_token_is(token, "storage") || !dsql_sql_token_is(st->before, "set"))
        return DSQL_OK;
    struct dsql_sql_token kind = dsql_sql_lex(&ahead);
    static_assert(sizeof(DSQL_LOCAL_DEFAULT_STORAGE) == sizeof("default"), "replaced in place");
    if (!dsql_sql_token_is(kind, "default"))
        return DSQL_OK;
    enum dsql_rc rc = own_text(scan, lx->text);
    if (!rc)
        memcpy(scan->text + offset_of(lx, kind), DSQL_LOCAL_DEFAULT_STORAGE, kind.text.len);
    return rc;
}

/* BEGIN ATOMIC ... END bodies hold semicolons of their own. */
static void follow_body(struct statement *st, struct dsql_sql_token token)
{
    /* Any word may be a label or the name of a field. */
    if (dsql_sql_token_is(st->before, "as") || dsql_sql_token_is_punct(st->before, '.'))
        return;
    if (st->body_depth == 0) {
        if (dsql_sql_token_is(token, "atomic") && dsql_sql_token_is(st->before, "begin"))
            st->body_depth = 1;
    } else if (dsql_sql_token_is(token, "case")) {
        st->body_depth++;
    } else if (dsql_sql_token_is(token, "end")) {
        st->body_depth--;
    }
}

/* The service's own access method is the only one that may be named; it goes without saying. */
static enum dsql_rc read_using(struct dsql_sql_scan *scan, const struct dsql_sql_lexer *lx,
                               struct dsql_sql_token token)
{
    size_t offset = offset_of(lx, token);
    struct dsql_sql_lexer ahead = *lx;
    if (dsql_sql_token_is(dsql_sql_lex(&ahead), "btree_index"))
        return blank(scan, lx->text, offset, ahead.at - offset);
    return add_mark(scan,
                    (struct dsql_sql_mark){
                        DSQL_SQL_MARK_INDEX_USING, offset, token.text.len, {NULL, 0}, {NULL, 0}});
}

static enum dsql_rc read_token(struct dsql_sql_scan *scan, const struct dsql_sql_lexer *lx,
                               struct statement *st, size_t levels, struct dsql_sql_token token)
{
    enum dsql_rc rc = DSQL_OK;
    scan->new_words = scan->new_words || dsql_sql_pg16_is_word(token);
    if (st->create_routine)
        follow_body(st, token);
    if ((st->create_table && levels == 1) || (st->alter_table && levels == 0))
        rc = strip_storage(scan, lx, st, token);
    if (!rc && st->alter_table && levels == 0)
        rc = name_default_storage(scan, lx, st, token);
    if (st->create_index && levels == 0 && dsql_sql_token_is(token, "using"))
        rc = read_using(scan, lx, token);
    st->before = token;
    return rc;
}

enum dsql_rc dsql_sql_scan(struct dsql_span text, struct dsql_sql_scan *scan)
{
    *scan = (struct dsql_sql_scan){.text = NULL};
    struct dsql_sql_lexer lx = {text, 0};
    struct nesting nesting;
    nesting.levels = 0;
    nesting.here = (struct level){0, 0};
    struct statement st = {.start = 0};
    bool open = false;
    enum dsql_rc rc = DSQL_OK;
    for (;;) {
        struct dsql_sql_token token = dsql_sql_lex(&lx);
        if (token.kind == DSQL_SQL_TOKEN_END || rc || scan->too_deep)
            break;
        scan->too_deep = !measure(&nesting, token);
        /* The parentheses of CREATE RULE ... DO (a; b) hold semicolons too. */
        bool ends = dsql_sql_token_is_punct(token, ';') && nesting.levels == 0;
        if (!open && !ends) {
            rc = open_statement(scan, &lx, token, &st);
            open = true;
        } else if (open && ends && st.body_depth == 0) {
            open = false;
        } else if (open) {
            rc = read_token(scan, &lx, &st, nesting.levels, token);
        }
    }
    if (rc)
        dsql_sql_scan_fini(scan);
    return rc;
}

void dsql_sql_scan_fini(struct dsql_sql_scan *scan)
{
    free(scan->text);
    free(scan->marks);
    *scan = (struct dsql_sql_scan){.text = NULL};
}

char *dsql_sql_unquote(struct dsql_span token)
{
    char quote = token.len >= 2 && (token.ptr[0] == '"' || token.ptr[0] == '\'') ? token.ptr[0] : 0;
    char *out = malloc(token.len + 1);
    if (!out)
        return NULL;
    size_t len = 0, end = quote ? token.len - 1 : token.len;
    for (size_t i = quote ? 1 : 0; i < end; i++) {
        char c = token.ptr[i];
        if (quote && c == quote)
            i++; /* a doubled quote stands for one */
        if (!quote && c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        out[len++] = c;
    }
    out[len] = '\0';
    return out;
}

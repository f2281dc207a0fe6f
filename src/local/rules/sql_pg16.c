#include "local/rules/sql_pg16.h"

#include <stdio.h>
#include <stdlib.h>

#include "local/process/first_sql.h"
#include "local/rules/sql_lex.h"
#include "local/rules/sql_number.h"
#include "local/rules/sql_scan.h"
#include "local/rules/sql_stmt.h"

/* A text while its words are looked at. */
struct words {
    struct dsql_sql_pg16 *pg16;
    struct dsql_sql_lexer lexer;
    struct dsql_sql_token before;     /* the token before the current one; END before the first */
    struct dsql_sql_token earlier[2]; /* the two before that, the later one first */
    size_t levels;                    /* open parentheses */
    enum { OTHER, CREATE, GRANT } statement;
    enum dsql_rc rc;
};

void dsql_sql_pg16_fini(struct dsql_sql_pg16 *pg16)
{
    dsql_sql_edits_fini(&pg16->edits);
}

static size_t place_of(const struct words *words, struct dsql_sql_token token)
{
    return (size_t)(token.text.ptr - words->lexer.text.ptr);
}

/* What is changed already stays as it is. */
static void edit(struct words *words, size_t at, size_t len, const char *put)
{
    enum dsql_rc rc = dsql_sql_edits_add(&words->pg16->edits, at, len, put);
    if (rc == DSQL_NO_MEMORY)
        words->rc = rc;
}

static bool take(struct dsql_sql_lexer *lexer, const char *keyword)
{
    struct dsql_sql_lexer ahead = *lexer;
    if (!dsql_sql_token_is(dsql_sql_lex(&ahead), keyword))
        return false;
    *lexer = ahead;
    return true;
}

static struct dsql_sql_token peek(const struct dsql_sql_lexer *lexer)
{
    struct dsql_sql_lexer ahead = *lexer;
    return dsql_sql_lex(&ahead);
}

static bool is_end(struct dsql_sql_token token)
{
    return token.kind == DSQL_SQL_TOKEN_END || token.kind == DSQL_SQL_TOKEN_BROKEN;
}

static void read_number(struct words *words, struct dsql_sql_token token)
{
    char memory[2 * DSQL_SQL_DIGITS_MAX];
    struct dsql_strbuf decimal;
    size_t at = place_of(words, token), len;
    dsql_strbuf_init(&decimal, memory, sizeof(memory));
    if (!dsql_sql_number(dsql_span_from(words->lexer.text, at), &len, &decimal) || decimal.cut)
        return;
    edit(words, at, len, decimal.ptr);
    words->lexer.at = at + len;
}

/* As a label it may stand behind AS and behind a point. */
static void read_system_user(struct words *words, struct dsql_sql_token token)
{
    struct dsql_sql_token next = peek(&words->lexer);
    if (dsql_sql_token_is(words->before, "as") || dsql_sql_token_is_punct(words->before, '.') ||
        dsql_sql_token_is_punct(next, '.') || dsql_sql_token_is_punct(next, '('))
        return;
    edit(words, place_of(words, token), token.text.len, "pg_catalog.system_user()");
}

/* What 15's catalogue has in the place of a column: `instead`, and if it needs one, the column's
 * qualifier and what stands behind it. As a subquery it keeps the column's name. */
static const struct {
    const char *column, *catalogue, *instead, *behind;
} columns[] = {
    {"daticurules", "pg_database", "(SELECT NULL::text AS daticurules)", NULL},
    {"collicurules", "pg_collation", "(SELECT NULL::text AS collicurules)", NULL},
    {"inherit_option", "pg_auth_members",
     "(SELECT rolinherit AS inherit_option FROM pg_catalog.pg_roles WHERE oid = ", "member)"},
    {"set_option", "pg_auth_members", "(SELECT true AS set_option)", NULL},
};

bool dsql_sql_pg16_is_word(struct dsql_sql_token token)
{
    if (token.kind != DSQL_SQL_TOKEN_WORD)
        return false;
    for (size_t i = 0; i < DSQL_COUNT_OF(columns); i++)
        if (dsql_sql_token_is(token, columns[i].column))
            return true;
    return dsql_sql_token_is(token, "system_user");
}

/* Whether the text has the catalogue, under the name of the qualifier if there is one. */
static bool mentions(struct dsql_span text, const char *catalogue, struct dsql_span qualifier)
{
    struct dsql_sql_lexer lexer = {text, 0};
    for (;;) {
        struct dsql_sql_token token = dsql_sql_lex(&lexer);
        if (is_end(token))
            return false;
        if (!dsql_sql_token_is(token, catalogue))
            continue;
        if (qualifier.len == 0 || dsql_span_eq_nocase(qualifier, token.text))
            return true;
        (void)take(&lexer, "as");
        if (dsql_span_eq_nocase(qualifier, peek(&lexer).text))
            return true;
    }
}

/* Whether nothing stands between them: a comment would go with the edit. */
static bool are_together(struct dsql_sql_token a, struct dsql_sql_token point,
                         struct dsql_sql_token b)
{
    return a.text.ptr + a.text.len == point.text.ptr && point.text.ptr + 1 == b.text.ptr;
}

/* Not as a label, not as a function, and not behind two names. */
static void read_column(struct words *words, struct dsql_sql_token token, size_t which)
{
    struct dsql_sql_token next = peek(&words->lexer), first = token;
    bool qualified = dsql_sql_token_is_punct(words->before, '.');
    if (qualified)
        first = words->earlier[0];
    if (dsql_sql_token_is(words->before, "as") || dsql_sql_token_is_punct(next, '(') ||
        dsql_sql_token_is_punct(next, '.') || first.kind != DSQL_SQL_TOKEN_WORD ||
        (qualified && (dsql_sql_token_is_punct(words->earlier[1], '.') ||
                       !are_together(first, words->before, token))))
        return;
    struct dsql_span qualifier =
        qualified ? first.text : (struct dsql_span){words->lexer.text.ptr, 0};
    if (!mentions(words->lexer.text, columns[which].catalogue, qualifier))
        return;
    char memory[128 + DSQL_SQL_NAME_MAX];
    struct dsql_strbuf put;
    dsql_strbuf_init(&put, memory, sizeof(memory));
    dsql_strbuf_add_str(&put, columns[which].instead);
    if (columns[which].behind) {
        dsql_strbuf_add(&put, qualifier);
        dsql_strbuf_add_str(&put, qualified ? "." : "");
        dsql_strbuf_add_str(&put, columns[which].behind);
    }
    size_t at = place_of(words, first);
    if (!put.cut)
        edit(words, at, place_of(words, token) + token.text.len - at, memory);
}

static void read_statistics(struct words *words, struct dsql_sql_token token)
{
    struct dsql_sql_token next = peek(&words->lexer);
    if (dsql_sql_token_is(words->before, "create") &&
        (dsql_sql_token_is(next, "on") || dsql_sql_token_is_punct(next, '(')))
        edit(words, place_of(words, token) + token.text.len, 0, " " DSQL_LOCAL_UNNAMED_STATISTICS);
}

/* The lexer stands behind WITH of a GRANT. Privileges have GRANT OPTION there, which 15 knows. */
static void read_grant_options(struct words *words, struct dsql_sql_token with)
{
    struct dsql_sql_lexer lexer = words->lexer;
    bool admin = false;
    size_t end;
    do {
        bool is_admin = take(&lexer, "admin");
        if (!is_admin && !take(&lexer, "inherit") && !take(&lexer, "set"))
            return;
        bool holds = take(&lexer, "option") || take(&lexer, "true");
        if (!holds && (!is_admin || !take(&lexer, "false")))
            return;
        admin = admin || (is_admin && holds);
        end = lexer.at;
    } while (dsql_sql_token_is_punct(dsql_sql_lex(&lexer), ','));
    size_t at = place_of(words, with);
    edit(words, at, end - at, admin ? "WITH ADMIN OPTION" : "");
    words->lexer.at = end;
}

static void read_is_json(struct words *words, struct dsql_sql_token is)
{
    struct dsql_sql_lexer lexer = words->lexer;
    (void)take(&lexer, "not");
    if (!take(&lexer, "json") || words->pg16->is_json_count == DSQL_SQL_IS_JSON_MAX)
        return;
    static const char *const kinds[] = {"value", "array", "object", "scalar"};
    for (size_t i = 0; i < DSQL_COUNT_OF(kinds) && !take(&lexer, kinds[i]); i++)
        ;
    struct dsql_sql_lexer ahead = lexer;
    if (take(&ahead, "without") && take(&ahead, "unique")) {
        (void)take(&ahead, "keys");
        lexer = ahead;
    }
    size_t at = place_of(words, is);
    edit(words, at, lexer.at - at, "IS TRUE");
    words->pg16->is_json[words->pg16->is_json_count++] = at;
    words->lexer = lexer;
}

enum { PAIRS_MAX = 256 }; /* of a JSON_OBJECT */

/* What stands between the parentheses of JSON_OBJECT or JSON_ARRAY, the level's own words only. */
struct json_call {
    size_t separators[PAIRS_MAX], separator_lens[PAIRS_MAX]; /* : or VALUE */
    size_t count;
    struct dsql_span nulls; /* NULL ON NULL or ABSENT ON NULL */
    bool absent;
    struct dsql_sql_token returning;
    bool empty, understood;
};

/* The lexer stands behind a comma, a parenthesis or a value; [NULL|ABSENT] ON NULL follows. */
static bool take_nulls(struct dsql_sql_lexer *lexer, struct dsql_sql_token first,
                       struct json_call *call)
{
    struct dsql_sql_lexer ahead = *lexer;
    bool absent = dsql_sql_token_is(first, "absent");
    if ((!absent && !dsql_sql_token_is(first, "null")) || !take(&ahead, "on") ||
        !take(&ahead, "null"))
        return false;
    call->absent = absent;
    call->nulls =
        (struct dsql_span){first.text.ptr, (size_t)(ahead.text.ptr + ahead.at - first.text.ptr)};
    *lexer = ahead;
    return true;
}

/* Reads to behind the closing parenthesis; the lexer stands behind the opening one. */
static void read_json_call(struct dsql_sql_lexer *lexer, bool object, struct json_call *call)
{
    static const char *const unknown[] = {"format", "unique"};
    *call = (struct json_call){.empty = true, .understood = true};
    size_t levels = 1;
    bool in_value = false; /* behind a separator, in front of the next comma */
    struct dsql_sql_token token, before = {DSQL_SQL_TOKEN_END, {NULL, 0}};
    for (;; before = token) {
        token = dsql_sql_lex(lexer);
        if (is_end(token)) {
            call->understood = false;
            return;
        }
        levels += dsql_sql_token_is_punct(token, '(') || dsql_sql_token_is_punct(token, '[');
        levels -= dsql_sql_token_is_punct(token, ')') || dsql_sql_token_is_punct(token, ']');
        if (levels == 0)
            return;
        bool begins = call->empty || dsql_sql_token_is_punct(before, ',');
        bool first = call->empty;
        call->empty = false;
        if (levels > 1)
            continue;
        if (first && (dsql_sql_token_is(token, "select") || dsql_sql_token_is(token, "values") ||
                      dsql_sql_token_is(token, "with")))
            call->understood = false;
        if (dsql_sql_token_is_punct(token, ',')) {
            in_value = false;
            continue;
        }
        bool colon =
            token.kind == DSQL_SQL_TOKEN_OP && token.text.len == 1 && token.text.ptr[0] == ':';
        bool separates =
            colon || (dsql_sql_token_is(token, "value") && !dsql_sql_token_is_punct(before, '.'));
        if (object && !in_value && !begins && separates) {
            call->understood = call->understood && call->count < PAIRS_MAX;
            if (!call->understood)
                continue;
            call->separators[call->count] = (size_t)(token.text.ptr - lexer->text.ptr);
            call->separator_lens[call->count++] = token.text.len;
            in_value = true;
        } else if (!begins || first) {
            if (take_nulls(lexer, token, call))
                continue;
            if (dsql_sql_token_is(token, "returning") && !first)
                call->returning = token;
            for (size_t i = 0; i < DSQL_COUNT_OF(unknown); i++)
                if (dsql_sql_token_is(token, unknown[i]))
                    call->understood = false;
        }
    }
}

/* The functions are in a schema of their own: json_object() of other arguments is PostgreSQL's. */
static void read_json(struct words *words, struct dsql_sql_token name, bool object)
{
    struct dsql_sql_lexer lexer = words->lexer;
    struct json_call call;
    if (dsql_sql_token_is_punct(words->before, '.') ||
        !dsql_sql_token_is_punct(dsql_sql_lex(&lexer), '('))
        return;
    size_t behind = lexer.at;
    read_json_call(&lexer, object, &call);
    bool plain = !call.nulls.ptr && !call.returning.text.ptr && call.count == 0;
    if (!call.understood || plain)
        return;
    bool absent = call.nulls.ptr ? call.absent : !object;
    lexer.at = behind;
    bool has_values = dsql_sql_lex(&lexer).text.ptr != call.nulls.ptr;
    if (object && has_values && call.count == 0)
        return;
    char put[96];
    (void)snprintf(put, sizeof(put), "%s%s.%s(%s%s", call.returning.text.ptr ? "CAST(" : "",
                   DSQL_LOCAL_JSON_SCHEMA, object ? "json_object" : "json_array",
                   absent ? "true" : "false", has_values ? ", " : "");
    size_t at = place_of(words, name);
    edit(words, at, behind - at, put);
    for (size_t i = 0; i < call.count; i++)
        edit(words, call.separators[i], call.separator_lens[i], ",");
    if (call.nulls.ptr)
        edit(words, (size_t)(call.nulls.ptr - words->lexer.text.ptr), call.nulls.len, "");
    if (call.returning.text.ptr)
        edit(words, place_of(words, call.returning), call.returning.text.len, ") AS");
    words->lexer.at = behind;
    words->levels++;
}

static void read_word(struct words *words, struct dsql_sql_token token)
{
    bool begins = is_end(words->before) ||
                  (words->levels == 0 && dsql_sql_token_is_punct(words->before, ';'));
    if (begins)
        words->statement = dsql_sql_token_is(token, "create")  ? CREATE
                           : dsql_sql_token_is(token, "grant") ? GRANT
                                                               : OTHER;
    if (dsql_sql_token_is(token, "system_user"))
        read_system_user(words, token);
    else if (dsql_sql_token_is(token, "statistics") && words->statement == CREATE)
        read_statistics(words, token);
    else if (dsql_sql_token_is(token, "with") && words->statement == GRANT && words->levels == 0)
        read_grant_options(words, token);
    else if (dsql_sql_token_is(token, "is"))
        read_is_json(words, token);
    else if (dsql_sql_token_is(token, "json_object"))
        read_json(words, token, true);
    else if (dsql_sql_token_is(token, "json_array"))
        read_json(words, token, false);
    for (size_t i = 0; i < DSQL_COUNT_OF(columns); i++)
        if (dsql_sql_token_is(token, columns[i].column))
            read_column(words, token, i);
}

static enum dsql_rc read_words(struct dsql_sql_pg16 *pg16, struct dsql_span sent)
{
    const struct dsql_sql_token none = {DSQL_SQL_TOKEN_END, sent};
    struct words words = {
        .pg16 = pg16, .lexer = {sent, 0}, .before = none, .earlier = {none, none}};
    pg16->read = true;
    for (;;) {
        struct dsql_sql_token token = dsql_sql_lex(&words.lexer);
        if (is_end(token) || words.rc)
            return words.rc;
        if (dsql_sql_token_is_punct(token, '('))
            words.levels++;
        else if (dsql_sql_token_is_punct(token, ')') && words.levels > 0)
            words.levels--;
        else if (token.kind == DSQL_SQL_TOKEN_NUMBER)
            read_number(&words, token);
        else if (token.kind == DSQL_SQL_TOKEN_WORD)
            read_word(&words, token);
        words.earlier[1] = words.earlier[0];
        words.earlier[0] = words.before;
        words.before = token;
    }
}

/* Behind the parenthesis that closes the one at `open`; 0 if none does. */
static size_t behind_closing(struct dsql_span sent, size_t open)
{
    struct dsql_sql_lexer lexer = {sent, open};
    size_t levels = 0;
    for (;;) {
        struct dsql_sql_token token = dsql_sql_lex(&lexer);
        if (is_end(token))
            return 0;
        if (dsql_sql_token_is_punct(token, '('))
            levels++;
        else if (dsql_sql_token_is_punct(token, ')') && --levels == 0)
            return lexer.at;
        if (levels == 0)
            return 0;
    }
}

/* 16 has the same name for all of them; no client can name it. */
static enum dsql_rc add_alias(struct dsql_sql_pg16 *pg16, struct dsql_span sent, size_t open,
                              bool *added)
{
    char alias[64];
    size_t at = behind_closing(sent, open);
    if (at == 0 || pg16->aliases == DSQL_SQL_ALIASES_MAX)
        return DSQL_OK;
    if (pg16->aliases++ == 0)
        (void)snprintf(alias, sizeof(alias), " unnamed_subquery ");
    else
        (void)snprintf(alias, sizeof(alias), " unnamed_subquery_%zu ", pg16->aliases - 1);
    enum dsql_rc rc = dsql_sql_edits_add(&pg16->edits, at, 0, alias);
    *added = !rc;
    return rc == DSQL_NO_MEMORY ? rc : DSQL_OK;
}

enum dsql_rc dsql_sql_pg16_refused(struct dsql_sql_pg16 *pg16, struct dsql_span sent,
                                   const char *message, size_t place, bool *added)
{
    *added = false;
    if (!pg16->read) {
        enum dsql_rc rc = read_words(pg16, sent);
        *added = pg16->edits.count > 0;
        if (rc || *added)
            return rc;
    }
    if (strstr(message, "in FROM must have an alias") && place < sent.len)
        return add_alias(pg16, sent, place, added);
    return DSQL_OK;
}

/* The first place of an expression; its outermost parentheses are not in it. */
static size_t first_place(struct dsql_tree expression)
{
    size_t first = SIZE_MAX;
    for (struct dsql_tree_walk w = dsql_tree_walk(expression); dsql_tree_step(&w);) {
        int64_t location;
        if (dsql_span_eq(w.key, DSQL_SPAN("location")) && dsql_tree_int(w.value, &location) &&
            location >= 0 && (size_t)location < first)
            first = (size_t)location;
    }
    return first;
}

/* The place of the first parenthesis that an expression from `first` to `end` begins with. */
static size_t with_parentheses(struct dsql_span sent, size_t first, size_t end)
{
    struct dsql_sql_lexer lexer = {dsql_span_first(sent, end), 0};
    size_t open[DSQL_SQL_DEPTH_MAX], levels = 0;
    for (;;) {
        struct dsql_sql_token token = dsql_sql_lex(&lexer);
        if (is_end(token))
            return first;
        if (dsql_sql_token_is_punct(token, '(') && levels < DSQL_COUNT_OF(open))
            open[levels++] = (size_t)(token.text.ptr - sent.ptr);
        else if (dsql_sql_token_is_punct(token, ')') && levels > 0 && open[--levels] < first &&
                 (size_t)(token.text.ptr - sent.ptr) > first)
            first = open[levels];
    }
}

/* Puts the call of a function in the place of an operand and its IS JSON. */
static enum dsql_rc call_is_json(struct dsql_sql_pg16 *pg16, struct dsql_span sent, size_t first,
                                 size_t is)
{
    struct dsql_sql_edit *clause = dsql_sql_edits_find(&pg16->edits, is);
    struct dsql_sql_lexer lexer = {sent, is};
    (void)dsql_sql_lex(&lexer); /* IS */
    bool negated = take(&lexer, "not");
    (void)take(&lexer, "json");
    const char *kind = take(&lexer, "array")    ? "array"
                       : take(&lexer, "object") ? "object"
                       : take(&lexer, "scalar") ? "scalar"
                                                : "value";
    char put[64];
    (void)snprintf(put, sizeof(put), ", '%s', %s))", kind, negated ? "true" : "false");
    char *copy = clause ? strdup(put) : NULL;
    if (!copy)
        return DSQL_NO_MEMORY;
    free(clause->put);
    clause->put = copy;
    /* NOT, so that the column of a result has no name. */
    enum dsql_rc rc = dsql_sql_edits_add(&pg16->edits, first, 0, "(NOT pg_catalog.dsql_not_json(");
    return rc == DSQL_NO_MEMORY ? rc : DSQL_OK;
}

static bool take_pending(struct dsql_sql_pg16 *pg16, size_t is)
{
    for (size_t i = 0; i < pg16->is_json_count; i++) {
        if (pg16->is_json[i] != is)
            continue;
        pg16->is_json[i] = pg16->is_json[--pg16->is_json_count];
        return true;
    }
    return false;
}

enum dsql_rc dsql_sql_pg16_parsed(struct dsql_sql_pg16 *pg16, struct dsql_span sent, bool words,
                                  const struct dsql_sql_short *shortened,
                                  struct dsql_tree statements, bool *added)
{
    *added = false;
    if (words && !pg16->read) {
        enum dsql_rc rc = read_words(pg16, sent);
        *added = pg16->edits.count > 0;
        return rc;
    }
    if (pg16->is_json_count == 0)
        return DSQL_OK;
    /* The places are those of the text with the edits so far, so all are found before one is
     * added. */
    size_t found[DSQL_SQL_IS_JSON_MAX][2], count = 0;
    for (struct dsql_tree_walk w = dsql_tree_walk(statements); dsql_tree_step(&w);) {
        int64_t location;
        if (!dsql_span_eq(w.key, DSQL_SPAN("BooleanTest")) ||
            !dsql_tree_int(dsql_tree_get(w.value, "location"), &location))
            continue;
        size_t is = dsql_sql_edits_place(&pg16->edits,
                                         dsql_sql_short_place(shortened, (size_t)location), NULL);
        size_t first = first_place(dsql_tree_get(w.value, "arg"));
        if (first == SIZE_MAX || !take_pending(pg16, is))
            continue;
        first = dsql_sql_edits_place(&pg16->edits, dsql_sql_short_place(shortened, first), NULL);
        found[count][0] = with_parentheses(sent, first, is);
        found[count++][1] = is;
    }
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < count && !rc; i++)
        rc = call_is_json(pg16, sent, found[i][0], found[i][1]);
    pg16->is_json_count = 0;
    *added = count > 0;
    return rc;
}

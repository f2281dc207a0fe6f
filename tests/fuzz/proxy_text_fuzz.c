/*
 * What `dsql proxy` reads as text. The first byte of an input chooses: statements (sql_words,
 * compat), a value of a setting, the users file with an exchange of SCRAM behind it. libpg_query
 * judges what the proxy writes: a replaced text has as many statements as the one it replaces, and
 * settings are put in place by one statement, whatever their values are.
 */
#include "local/rules/sql_stmt.h"
#include "proxy/compat.h"
#include "proxy/settings.h"
#include "proxy/sql_names.h"
#include "proxy/sql_words.h"
#include "proxy/users.h"
#include "support/fuzz.h"

enum { TEXT_MAX = 4096, OUT_MAX = 1 << 20 };

enum { NOT_SQL = -1 };

/* How many statements a text has, or NOT_SQL. */
static int count_statements(struct dsql_span text)
{
    struct dsql_sql_script *script;
    if (dsql_sql_script_new(text, &script))
        return NOT_SQL;
    int count = script->refusal ? NOT_SQL : (int)script->count;
    dsql_sql_script_unref(script);
    return count;
}

static void check_words(struct dsql_span text)
{
    char name[16];
    struct dsql_span rest = text;
    struct dsql_span behind = dsql_sql_skip_blanks(text);
    assert(behind.len <= text.len && behind.ptr + behind.len == text.ptr + text.len);
    if (dsql_sql_take_name(&rest, name, sizeof(name)))
        assert(strlen(name) < sizeof(name) && rest.len < text.len);
    if (dsql_sql_is_end(text))
        assert(!dsql_sql_begins(text, "select", &rest));
    if (dsql_sql_is_deallocate_all(text) || dsql_sql_is_reset_all(text))
        assert(dsql_sql_may_commit(text));
    struct dsql_sql_names names = {.text = text};
    struct dsql_sql_name at;
    size_t end = 0;
    while ((at = dsql_sql_names_next(&names)).use != DSQL_SQL_NAMES_END) {
        if (at.use == DSQL_SQL_LISTS || at.use == DSQL_SQL_DEALLOCATES_ALL)
            continue;
        assert(at.at >= end && at.len > 0 && at.at + at.len <= text.len);
        end = at.at + at.len;
    }
}

static void check_compat(struct dsql_span text, bool simple)
{
    struct dsql_compat compat;
    struct dsql_strbuf out;
    unsigned sum = 0;
    dsql_strbuf_init_heap(&out, OUT_MAX);
    unsigned replaced = dsql_compat_replace(text, simple, &out, &compat);
    for (size_t i = 0; i < DSQL_COMPAT_KINDS; i++)
        sum += compat.kinds[i];
    if (replaced > 0) {
        assert(replaced == compat.replaced && sum == replaced);
        int before = count_statements(text);
        if (before != NOT_SQL)
            assert(count_statements(dsql_strbuf_span(&out)) == before);
    }
    dsql_strbuf_fini(&out);
}

/* A value that a client's startup packet may have. */
static void check_setting(struct dsql_span value)
{
    struct dsql_settings empty = {.refs = 1};
    struct dsql_strbuf sql;
    char none[] = "";
    for (size_t i = 0; i < DSQL_PARAMETERS; i++)
        empty.values[i] = none;
    struct dsql_settings *with = dsql_settings_with(&empty, value.len % DSQL_PARAMETERS, value);
    assert(with != NULL && dsql_settings_eq(with, &empty) == (value.len == 0));
    dsql_strbuf_init_heap(&sql, OUT_MAX);
    dsql_settings_put_change(&sql, &empty, with);
    assert((sql.len == 0) == (value.len == 0));
    if (sql.len > 0)
        assert(count_statements(dsql_strbuf_span(&sql)) == 1);
    dsql_strbuf_fini(&sql);
    dsql_settings_unref(with);
}

static void check_scram(const struct dsql_scram_verifier *verifier, struct dsql_span messages)
{
    struct dsql_span first, last;
    struct dsql_scram scram;
    struct dsql_strbuf reply;
    (void)dsql_span_cut(messages, '\n', &first, &last);
    dsql_strbuf_init_heap(&reply, OUT_MAX);
    dsql_scram_init(&scram, verifier);
    if (dsql_scram_first(&scram, first, &reply)) {
        assert(reply.len > 0);
        bool proven = dsql_scram_final(&scram, last, &reply);
        assert(!proven); /* the server's nonce is random */
    }
    dsql_scram_fini(&scram);
    dsql_strbuf_fini(&reply);
}

/* The file, and behind its first empty line what a client says. */
static void check_users(struct dsql_span text)
{
    struct dsql_users users = {0};
    struct dsql_scram_verifier verifier;
    struct dsql_err err = {0};
    const char *gap = text.len > 1 ? memmem(text.ptr, text.len, "\n\n", 2) : NULL;
    size_t file_len = gap ? (size_t)(gap - text.ptr) + 1 : text.len;
    struct dsql_span said = dsql_span_from(text, gap ? file_len + 1 : text.len);
    if (dsql_users_parse(dsql_span_first(text, file_len), &users, &err)) {
        assert(err.message[0]);
        return;
    }
    for (size_t i = 1; i < users.count; i++)
        assert(strcmp(users.users[i - 1].name, users.users[i].name) <= 0);
    if (users.count < 8 && dsql_users_verifier(&users, DSQL_SPAN("app"), &verifier))
        check_scram(&verifier, said);
    dsql_users_fini(&users);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t len = strnlen((const char *)data + 1, size - 1 < TEXT_MAX ? size - 1 : TEXT_MAX);
    struct dsql_span text = {(const char *)data + 1, len};
    if (data[0] % 4 == 3) {
        check_users(text);
    } else if (data[0] % 4 == 2) {
        check_setting(text);
    } else {
        check_words(text);
        check_compat(text, data[0] % 4 == 1);
    }
    return 0;
}

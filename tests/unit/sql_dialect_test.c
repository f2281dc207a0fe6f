/* The service as it was on a day: each thing that it learned is refused on the day before, in these
 * words, and passes on the day itself. */
#include <stdio.h>

#include "local/rules/sql_dialect.h"
#include "local/rules/sql_stmt.h"
#include "support/test.h"

#define ON_KEY                                                                                     \
    "locking clause such as FOR UPDATE can be applied only on tables with equality predicates on " \
    "the key"
#define ON_ONE "locking clause such as FOR UPDATE can be applied on a single table"

static const struct {
    enum dsql_sql_feature feature;
    const char *sql, *refusal;
} cases[] = {
    {DSQL_SQL_NUMERIC_KEY_SINCE, "create table t (a numeric(9,2) primary key)",
     "datatype numeric is not supported in a key"},
    {DSQL_SQL_NUMERIC_KEY_SINCE, "create table t (a int, b numeric, primary key (a, b))",
     "datatype numeric is not supported in a key"},
    {DSQL_SQL_RESET_ALL_SINCE, "reset all",
     "setting configuration parameter \"ALL\" not supported"},
    {DSQL_SQL_SEQUENCE_SINCE, "create sequence s cache 1", "unsupported statement: CreateSeq"},
    {DSQL_SQL_SEQUENCE_SINCE, "alter sequence s restart", "unsupported statement: AlterSeq"},
    {DSQL_SQL_SEQUENCE_SINCE,
     "create table t (id bigint generated always as identity (cache 1) primary key)",
     "identity column not supported"},
    {DSQL_SQL_UNIQUE_USING_INDEX_SINCE, "alter table t add constraint u unique using index i",
     "unsupported ALTER TABLE ADD CONSTRAINT statement"},
    {DSQL_SQL_PRIVILEGES_SINCE, "alter default privileges grant select on tables to r",
     "unsupported statement: AlterDefaultPrivileges"},
    {DSQL_SQL_PRIVILEGES_SINCE, "alter role a rename to b",
     "unsupported object in RENAME statement"},
    {DSQL_SQL_PRIVILEGES_SINCE, "create schema s create table t (id int primary key)",
     "CREATE SCHEMA with schema elements not supported"},
    {DSQL_SQL_STORAGE_SINCE, "alter table t alter a set storage main",
     "unsupported ALTER TABLE ALTER COLUMN ... SET STORAGE statement"},
    {DSQL_SQL_JSON_SINCE, "create table t (id int primary key, a json)",
     "datatype json not supported"},
    {DSQL_SQL_JSON_SINCE, "alter table t add column a json", "datatype json not supported"},
    {DSQL_SQL_JSONB_SINCE, "create table t (id int primary key, a jsonb)",
     "datatype jsonb not supported"},
    {DSQL_SQL_ALTER_COLUMN_SINCE, "alter table t alter a set default 1",
     "unsupported ALTER TABLE ALTER COLUMN ... SET DEFAULT statement"},
    {DSQL_SQL_ALTER_COLUMN_SINCE, "alter table t alter a drop not null",
     "unsupported ALTER TABLE ALTER COLUMN ... DROP NOT NULL statement"},
    {DSQL_SQL_ALTER_COLUMN_SINCE, "alter table t drop constraint c",
     "unsupported ALTER TABLE DROP CONSTRAINT statement"},
    {DSQL_SQL_DROP_COLUMN_SINCE, "alter table t drop column a",
     "unsupported ALTER TABLE DROP COLUMN statement"},
    {DSQL_SQL_NOT_VALID_SINCE, "alter table t add constraint c check (a > 0) not valid",
     "unsupported ALTER TABLE ADD CONSTRAINT statement"},
    {DSQL_SQL_NOT_VALID_SINCE, "alter table async t validate constraint c",
     "unsupported ALTER TABLE VALIDATE CONSTRAINT statement"},
    {DSQL_SQL_INDEX_EXPRESSION_SINCE, "create index async i on t (lower(a))",
     "expressions not supported for index keys"},
    {DSQL_SQL_KEY_SHARE_SINCE, "select 1 from t where id = 1 for key share",
     "locking clauses other than FOR UPDATE are not supported"},
    {DSQL_SQL_FOREIGN_KEY_SINCE, "create table t (id int primary key references u)",
     "FOREIGN KEY constraint not supported"},
    {DSQL_SQL_FOREIGN_KEY_SINCE,
     "create table t (id int primary key, foreign key (id) references u)",
     "FOREIGN KEY constraint not supported"},
    {DSQL_SQL_FOREIGN_KEY_SINCE,
     "alter table t add constraint c foreign key (a) references u not valid",
     "unsupported ALTER TABLE ADD CONSTRAINT statement"},
    {DSQL_SQL_STATISTICS_SINCE, "create statistics s on a, b from t",
     "unsupported statement: CreateStats"},
    {DSQL_SQL_FOR_UPDATE_SINCE, "select 1 from t for update", ON_KEY},
    {DSQL_SQL_FOR_UPDATE_SINCE, "select 1 from t where id > 1 for update", ON_KEY},
    {DSQL_SQL_FOR_UPDATE_SINCE, "select 1 from t where id = 1 or id = 2 for update", ON_KEY},
    {DSQL_SQL_FOR_UPDATE_SINCE, "select 1 from t where id in (1, 2) for update", ON_KEY},
    {DSQL_SQL_FOR_UPDATE_SINCE, "select 1 from t, u where t.id = 1 for update", ON_ONE},
    {DSQL_SQL_FOR_UPDATE_SINCE, "select 1 from t join u using (id) where t.id = 1 for update",
     ON_ONE},
    {DSQL_SQL_FOR_UPDATE_SINCE, "update u set a = 1 where id in (select id from t for update)",
     ON_KEY},
    {DSQL_SQL_PARTIAL_INDEX_SINCE, "create index async i on t (a) where a > 0",
     "WHERE not supported for CREATE INDEX"},
};

/* What is refused on that day, or NULL. */
static const char *refusal_on(const char *sql, int32_t day)
{
    static char memory[256];
    static const struct dsql_sql_session outside = {.in_block = false};
    struct dsql_sql_script *script;
    assert_int_equal(
        dsql_sql_script_new_as(dsql_span_of(sql), (struct dsql_sql_dialect){day}, &script),
        DSQL_OK);
    if (script->count != 1)
        fail_msg("no statement: %s", sql);
    const struct dsql_sql_refusal *why = dsql_sql_stmt_refusal(&script->stmts[0], &outside);
    if (why)
        (void)snprintf(memory, sizeof(memory), "%s", why->message);
    dsql_sql_script_unref(script);
    return why ? memory : NULL;
}

TEST(each_is_refused_until_its_day)
{
    bool seen[DSQL_SQL_FEATURE_COUNT] = {false};
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        int32_t since = dsql_sql_features[cases[i].feature].since;
        const char *before = refusal_on(cases[i].sql, since - 1);
        if (!before || strcmp(before, cases[i].refusal) != 0)
            fail_msg("before %d: %s: %s", since, cases[i].sql, before ? before : "passes");
        if (refusal_on(cases[i].sql, since))
            fail_msg("on %d: %s is refused", since, cases[i].sql);
        if (refusal_on(cases[i].sql, 0))
            fail_msg("today: %s is refused", cases[i].sql);
        seen[cases[i].feature] = true;
    }
    for (size_t i = 0; i < DSQL_SQL_FEATURE_COUNT; i++)
        if (!seen[i])
            fail_msg("no case for: %s", dsql_sql_features[i].doc);
}

/* What the service always had does not depend on the day. */
TEST(the_rest_is_the_same)
{
    static const char *const passes[] = {
        "select 1 from t where id = $1 for update",
        "select 1 from t where id = 1 and k = 'a' for update",
        "create table t (id uuid primary key, a text)",
        "create unique index async i on t (a)",
        "create view v as select 1",
        "alter table t add column a int",
        "grant select on t to r",
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(passes); i++)
        if (refusal_on(passes[i], 20260101))
            fail_msg("%s: %s", passes[i], refusal_on(passes[i], 20260101));
    assert_string_equal(refusal_on("truncate t", 20260101), "unsupported statement: Truncate");
    assert_string_equal(refusal_on("select 1 from t for share", 20260101),
                        "locking clauses other than FOR UPDATE are not supported");
}

TEST(days_are_read)
{
    static const struct {
        const char *text;
        int32_t day;
    } days[] = {
        {"2026-08", 20260831}, {"2026-08-25", 20260825}, {"2027-01", 20270131}, {"2025-12", 0},
        {"2026", 0},           {"2026-13", 0},           {"2026-00", 0},        {"2026-8", 0},
        {"2026-08-32", 0},     {"2026-08-", 0},          {"2026-08-1", 0},      {"", 0},
        {"2026-08-25x", 0},    {" 2026-08", 0},          {"+026-08", 0},        {"2026-08-25-1", 0},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(days); i++) {
        struct dsql_sql_dialect dialect = {0};
        bool read = dsql_sql_dialect_read(dsql_span_of(days[i].text), &dialect);
        if (read != (days[i].day != 0) || dialect.day != days[i].day)
            fail_msg("%s is %d", days[i].text, (int)dialect.day);
    }
}

/* Oldest first, as the manual prints them. */
TEST(features_are_in_order)
{
    for (size_t i = 1; i < DSQL_SQL_FEATURE_COUNT; i++)
        assert_true(dsql_sql_features[i - 1].since <= dsql_sql_features[i].since);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_refused_until_its_day),
        cmocka_unit_test(the_rest_is_the_same),
        cmocka_unit_test(days_are_read),
        cmocka_unit_test(features_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The Nth allocation fails while query strings of every kind are read, judged and kept. */
#include "local/rules/sql_cache.h"
#include "support/alloc_fault.h"
#include "support/test.h"

static const char text[] =
    "CREATE INDEX i ON s.t USING btree (a DESC); AWS IAM GRANT r TO 'a'; SET LOCAL role = 'x'; "
    "CREATE TABLE t (a text STORAGE MAIN, b money); SELECT * FROM a, b, c; "
    "PREPARE p AS INSERT INTO t VALUES (1); ALTER TABLE ASYNC t VALIDATE CONSTRAINT c; "
    "CREATE INDEX ASYNC i on t (a); TRUNCATE t; "
    "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'LOAD ''x''; SELECT 1'";

static bool get(struct dsql_sql_cache *cache, struct dsql_span sql, size_t count)
{
    struct dsql_sql_script *script;
    if (dsql_sql_cache_get(cache, sql, &script))
        return false;
    assert_int_equal(script->count, count);
    dsql_sql_script_unref(script);
    return true;
}

static bool read_and_keep(void)
{
    struct dsql_sql_cache cache;
    if (dsql_sql_cache_init(&cache, 2, 1 << 20))
        return false;
    bool ok = get(&cache, dsql_span_of(text), 10) && get(&cache, DSQL_SPAN("SELEC"), 0) &&
              get(&cache, DSQL_SPAN("SELECT 1; SELECT 2"), 2) &&
              get(&cache, DSQL_SPAN("SELECT 0x1F FROM (SELECT system_user) WHERE a IS JSON"), 1);
    dsql_sql_cache_fini(&cache);
    return ok;
}

TEST(reading_survives)
{
    assert_true(alloc_fault_run("scripts", read_and_keep, false) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reading_survives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

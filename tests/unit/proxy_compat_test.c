/* Which refused statements are answered as done, and which stay refused. */
#include "proxy/compat.h"

#include "support/test.h"

static const struct {
    const char *text;
    const char *sent; /* NULL: as it is */
    const char *tag;
} cases[] = {
    {"SET statement_timeout = 0", "SET client_encoding TO 'UTF8';", NULL},
    {"/* x */ set session lock_timeout to '5s';", "SET client_encoding TO 'UTF8';", NULL},
    {"set bytea_output = 'hex'", "SET client_encoding TO 'UTF8';", NULL},
    {"set bytea_output = 'escape'", NULL, NULL},
    {"set standard_conforming_strings to off", NULL, NULL},
    {"set statement_timeout to 1, 2", NULL, NULL},
    {"set datestyle to iso", NULL, NULL},
    {"set default_transaction_read_only to on", NULL, NULL},
    {"reset jit", "RESET client_encoding;", NULL},
    {"reset role", NULL, NULL},
    {"set datestyle=iso; set jit=off", "set datestyle=iso;SET client_encoding TO 'UTF8';", NULL},
    {"set jit=off; select ';'", "SET client_encoding TO 'UTF8';select ';'", NULL},
    {"set jit=off; select $$;$$", NULL, NULL},
    {"select set_config('bytea_output','hex',false)", "SELECT 'hex'::text AS set_config;", NULL},
    {"select set_config('search_path','',false)", NULL, NULL},
    {"select set_config('jit', 'o''ff', false)", NULL, NULL},
    {"lock table a, b in access share mode", "SET client_encoding TO 'UTF8'", "LOCK TABLE"},
    {"lock table a in share mode", NULL, NULL},
    {"lock table a", NULL, NULL},
    {"set transaction isolation level repeatable read, read only", "BEGIN READ ONLY", "SET"},
    {"set transaction isolation level repeatable read", "SET client_encoding TO 'UTF8'", NULL},
    {"set transaction isolation level serializable, read only", NULL, NULL},
    {"set transaction read only; delete from t", NULL, NULL},
    {"begin; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",
     "begin;SET client_encoding TO 'UTF8';", NULL},
    {"start transaction; set transaction read only", NULL, NULL},
    {"begin; set transaction isolation level serializable", NULL, NULL},
    {"begin", NULL, NULL},
    {"unlisten *", "SET client_encoding TO 'UTF8'", "UNLISTEN"},
    {"listen x", NULL, NULL},
    {"close all", "SET client_encoding TO 'UTF8'", "CLOSE CURSOR ALL"},
    {"close c", NULL, NULL},
    {"select pg_advisory_unlock_all();\nclose all;\nunlisten *;\nreset all;",
     "SELECT ''::text AS pg_advisory_unlock_all;SET client_encoding TO 'UTF8';"
     "SET client_encoding TO 'UTF8';reset all;",
     NULL},
    {"select pg_advisory_unlock_all(), 1", NULL, NULL},
    {"select pg_advisory_unlock(1)", NULL, NULL},
    {"set default_transaction_isolation to default", "SET client_encoding TO 'UTF8';", NULL},
    {"set role to default", NULL, NULL},
    {"select 1", NULL, NULL},
    {"", NULL, NULL},
};

static void only_what_changes_no_result(void **state)
{
    (void)state;
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_strbuf out;
        struct dsql_compat compat;
        dsql_strbuf_init_heap(&out, 4096);
        unsigned n = dsql_compat_replace(dsql_span_of(cases[i].text), true, &out, &compat);
        if ((n > 0) != (cases[i].sent != NULL))
            fail_msg("%s: %u replaced", cases[i].text, n);
        if (n > 0) {
            assert_string_equal(out.ptr, cases[i].sent);
            assert_true((compat.tag != NULL) == (cases[i].tag != NULL));
            if (compat.tag)
                assert_string_equal(compat.tag, cases[i].tag);
        }
        dsql_strbuf_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_what_changes_no_result)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

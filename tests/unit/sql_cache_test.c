#include "local/rules/sql_cache.h"

#include "support/test.h"

static struct dsql_sql_script *get(struct dsql_sql_cache *cache, const char *text)
{
    struct dsql_sql_script *script;
    assert_int_equal(dsql_sql_cache_get(cache, dsql_span_of(text), &script), DSQL_OK);
    assert_string_equal(script->sent, text);
    return script;
}

static void look(struct dsql_sql_cache *cache, const char *text)
{
    dsql_sql_script_unref(get(cache, text));
}

TEST(the_same_text_is_read_once)
{
    struct dsql_sql_cache cache;
    assert_int_equal(dsql_sql_cache_init(&cache, 8, 1 << 20), DSQL_OK);
    struct dsql_sql_script *first = get(&cache, "SELECT 1");
    struct dsql_sql_script *again = get(&cache, "SELECT 1");
    assert_ptr_equal(first, again);
    assert_int_equal(cache.hits, 1);
    assert_int_equal(cache.misses, 1);
    look(&cache, "SELECT 1 "); /* another text */
    look(&cache, "");
    look(&cache, "SELEC"); /* errors are kept too */
    look(&cache, "SELEC");
    assert_int_equal(cache.hits, 2);
    assert_int_equal(cache.misses, 4);
    dsql_sql_script_unref(first);
    dsql_sql_script_unref(again);
    dsql_sql_cache_fini(&cache);
}

/* ASYNC is blanked out in the text for PostgreSQL; the key is the text as sent. */
TEST(the_key_is_what_was_sent)
{
    struct dsql_sql_cache cache;
    assert_int_equal(dsql_sql_cache_init(&cache, 8, 1 << 20), DSQL_OK);
    look(&cache, "CREATE INDEX ASYNC i ON t (a)");
    look(&cache, "CREATE INDEX       i ON t (a)");
    assert_int_equal(cache.hits, 0);
    look(&cache, "CREATE INDEX ASYNC i ON t (a)");
    assert_int_equal(cache.hits, 1);
    dsql_sql_cache_fini(&cache);
}

TEST(what_is_asked_for_stays)
{
    struct dsql_sql_cache cache;
    assert_int_equal(dsql_sql_cache_init(&cache, 4, 1 << 20), DSQL_OK);
    for (int i = 0; i < 100; i++) {
        STRBUF(text, 32);
        dsql_strbuf_addf(&text, "SELECT %d", i);
        look(&cache, "SELECT 'hot'");
        look(&cache, text.ptr);
    }
    assert_int_equal(cache.hits, 99);
    assert_int_equal(cache.misses, 101);
    assert_int_equal(cache.evictions, 97);
    dsql_sql_cache_fini(&cache);
}

TEST(a_script_in_use_survives_its_eviction)
{
    struct dsql_sql_cache cache;
    assert_int_equal(dsql_sql_cache_init(&cache, 1, 1 << 20), DSQL_OK);
    struct dsql_sql_script *held = get(&cache, "SELECT 1");
    look(&cache, "SELECT 2");
    assert_int_equal(cache.evictions, 1);
    assert_int_equal(held->count, 1);
    assert_string_equal(held->sent, "SELECT 1");
    dsql_sql_script_unref(held);
    dsql_sql_cache_fini(&cache);
}

TEST(memory_is_bounded)
{
    enum { BYTES = 64 << 10 };
    struct dsql_sql_cache cache;
    assert_int_equal(dsql_sql_cache_init(&cache, 1000, BYTES), DSQL_OK);
    char large[BYTES];
    memset(large, ' ', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    look(&cache, large); /* too large to keep */
    look(&cache, large);
    assert_int_equal(cache.hits, 0);
    assert_int_equal(cache.bytes, 0);
    for (int i = 0; i < 1000; i++) {
        STRBUF(text, 512);
        dsql_strbuf_addf(&text, "SELECT %d FROM t -- %400d", i, i);
        look(&cache, text.ptr);
        assert_true(cache.bytes <= BYTES);
    }
    assert_true(cache.evictions > 800);
    assert_true(cache.bytes > BYTES / 2);
    dsql_sql_cache_fini(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_text_is_read_once),
        cmocka_unit_test(the_key_is_what_was_sent),
        cmocka_unit_test(what_is_asked_for_stays),
        cmocka_unit_test(a_script_in_use_survives_its_eviction),
        cmocka_unit_test(memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Percent-encoding and the canonical forms of paths and queries. */
#include "aws/uri.h"
#include "base/rng.h"
#include "support/test.h"

static char memory[8192];
static struct dsql_strbuf sb;

static void start(void)
{
    dsql_strbuf_init(&sb, memory, sizeof(memory));
}

TEST(encodes)
{
    start();
    dsql_uri_add_encoded(&sb, DSQL_SPAN("AZaz09-._~ /+%=&;:\x01\xe1\x88\xb4"));
    assert_string_equal(memory, "AZaz09-._~%20%2F%2B%25%3D%26%3B%3A%01%E1%88%B4");
}

TEST(decodes)
{
    static const struct {
        const char *text, *decoded; /* NULL if it is refused */
    } cases[] = {
        {"", ""},        {"a%2Fb%2fc", "a/b/c"},
        {"a+b", "a+b"},  {"%e1%88%B4", "\xe1\x88\xb4"},
        {"%25", "%"},    {"%", NULL},
        {"a%2", NULL},   {"%2G", NULL},
        {"%G2ab", NULL}, {"%%25", NULL},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        start();
        bool ok = dsql_uri_add_decoded(&sb, dsql_span_of(cases[i].text));
        assert_int_equal(ok, cases[i].decoded != NULL);
        if (ok)
            assert_string_equal(memory, cases[i].decoded);
    }
}

TEST(decode_undoes_encode)
{
    struct dsql_rng rng = dsql_rng_seeded(7);
    for (int round = 0; round < 5000; round++) {
        char raw[64], encoded[256], decoded[256];
        size_t len = dsql_rng_below(&rng, sizeof(raw) + 1);
        for (size_t i = 0; i < len; i++)
            raw[i] = (char)dsql_rng_below(&rng, 256);
        struct dsql_strbuf a, b;
        dsql_strbuf_init(&a, encoded, sizeof(encoded));
        dsql_strbuf_init(&b, decoded, sizeof(decoded));
        dsql_uri_add_encoded(&a, (struct dsql_span){raw, len});
        assert_true(dsql_uri_add_decoded(&b, dsql_strbuf_span(&a)));
        assert_true(dsql_span_eq(dsql_strbuf_span(&b), (struct dsql_span){raw, len}));
    }
}

TEST(paths)
{
    static const struct {
        const char *path, *kept, *normalized;
    } cases[] = {
        {"/", "/", "/"},
        {"", "/", "/"},
        {"//", "//", "/"},
        {"/a", "/a", "/a"},
        {"/a/", "/a/", "/a/"},
        {"/a//b", "/a//b", "/a/b"},
        {"/a/./b/.", "/a/./b/.", "/a/b/"},
        {"/a/b/..", "/a/b/..", "/a/"},
        {"/a/b/../c", "/a/b/../c", "/a/c"},
        {"/a/../../b", "/a/../../b", "/b"},
        {"/..", "/..", "/"},
        {"/../..", "/../..", "/"},
        {"/...", "/...", "/..."},
        {"/a%2Fb", "/a%252Fb", "/a%252Fb"},
        {"/a b/..c", "/a%20b/..c", "/a%20b/..c"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        start();
        dsql_uri_add_canonical_path(&sb, dsql_span_of(cases[i].path), false);
        assert_string_equal(memory, cases[i].kept);
        start();
        dsql_strbuf_add_str(&sb, "x/y"); /* what was there before is not the path's */
        dsql_uri_add_canonical_path(&sb, dsql_span_of(cases[i].path), true);
        assert_string_equal(memory + 3, cases[i].normalized);
        assert_memory_equal(memory, "x/y", 3);
    }
}

TEST(path_in_a_small_buffer)
{
    for (size_t cap = 1; cap < 12; cap++) {
        dsql_strbuf_init(&sb, memory, cap);
        dsql_uri_add_canonical_path(&sb, DSQL_SPAN("/abc/../def/../../ghi/jkl"), true);
        assert_int_equal(sb.cut, cap < sizeof("/ghi/jkl"));
        assert_true(sb.len < cap);
        assert_int_equal(memory[sb.len], 0);
    }
}

TEST(queries)
{
    static const struct {
        const char *query, *canonical; /* NULL if it is refused */
    } cases[] = {
        {"", ""},
        {"&&", ""},
        {"a", "a="},
        {"a&b&a", "a=&a=&b="},
        {"=v", "=v"},
        {"b=2&a=1", "a=1&b=2"},
        {"a=2&a=1&a=10&a=", "a=&a=1&a=10&a=2"},
        {"ab=1&a=2", "a=2&ab=1"},
        {"a=x=y", "a=x%3Dy"},
        {"a=x+y%20z", "a=x%2By%20z"},
        {"b=1&B=1&_=1&~=1&-=1&.=1&0=1", "-=1&.=1&0=1&B=1&_=1&b=1&~=1"},
        {"a=1&%7e=2&\xe1=3", "%E1=3&a=1&~=2"}, /* sorted as encoded: '%' before letters */
        {"a-=1&a=2&a%2D%2d=3", "a=2&a-=1&a--=3"},
        {"skip=1&a=2&skip=3", "a=2"},
        {"skipped=1", "skipped=1"},
        {"a=%zz", NULL},
        {"%=1", NULL},
    };
    static const struct dsql_span skip[] = {{"other", 5}, {"skip", 4}};
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        start();
        enum dsql_rc rc =
            dsql_uri_add_canonical_query(&sb, dsql_span_of(cases[i].query), skip, 2, NULL);
        assert_int_equal(rc, cases[i].canonical ? DSQL_OK : DSQL_INVALID);
        if (!rc)
            assert_string_equal(memory, cases[i].canonical);
    }
}

TEST(too_many_parameters)
{
    char query[DSQL_URI_PARAMS_MAX * 8];
    struct dsql_strbuf many;
    struct dsql_err err;
    dsql_strbuf_init(&many, query, sizeof(query));
    for (int i = 0; i < DSQL_URI_PARAMS_MAX; i++)
        dsql_strbuf_addf(&many, "p%d=&", i);
    start();
    assert_int_equal(dsql_uri_add_canonical_query(&sb, dsql_strbuf_span(&many), NULL, 0, &err),
                     DSQL_OK);
    dsql_strbuf_add_char(&many, 'x');
    assert_int_equal(dsql_uri_add_canonical_query(&sb, dsql_strbuf_span(&many), NULL, 0, &err),
                     DSQL_LIMIT);
    assert_string_equal(err.message, "more than 64 query parameters");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes),
        cmocka_unit_test(decodes),
        cmocka_unit_test(decode_undoes_encode),
        cmocka_unit_test(paths),
        cmocka_unit_test(path_in_a_small_buffer),
        cmocka_unit_test(queries),
        cmocka_unit_test(too_many_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

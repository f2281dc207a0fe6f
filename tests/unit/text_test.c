/* Spans, bounded strings and UTF-8. */
#include <locale.h>
#include <math.h>
#include <wchar.h>

#include "base/utf8.h"
#include "support/test.h"

static struct dsql_span S(const char *text) {
    return dsql_span_of(text);
}

TEST(spans_compare)
{
    assert_true(dsql_span_eq(S("abc"), S("abc")));
    assert_false(dsql_span_eq(S("abc"), S("abd")));
    assert_false(dsql_span_eq(S("abc"), S("ab")));
    assert_true(dsql_span_eq((struct dsql_span){NULL, 0}, S("")));
    assert_true(dsql_span_eq_nocase(S("DSQL_x"), S("dsql_X")));
    assert_false(dsql_span_eq_nocase(S("a"), S("b")));
    assert_true(dsql_span_starts(S("DSQL_USER"), S("DSQL_")));
    assert_false(dsql_span_starts(S("DSQ"), S("DSQL_")));
}

TEST(spans_trim_and_cut)
{
    struct dsql_span head, tail;
    assert_true(dsql_span_eq(dsql_span_trim(S(" \t a b\r\n")), S("a b")));
    assert_int_equal(dsql_span_trim(S("  ")).len, 0);
    assert_true(dsql_span_cut(S("k=v=w"), '=', &head, &tail));
    assert_true(dsql_span_eq(head, S("k")));
    assert_true(dsql_span_eq(tail, S("v=w")));
    assert_false(dsql_span_cut(S("none"), '=', &head, &tail));
    assert_true(dsql_span_eq(head, S("none")));
    assert_int_equal(tail.len, 0);
    /* Nothing at all: no arithmetic on a null pointer (UBSan looks). */
    struct dsql_span nothing = {NULL, 0};
    assert_null(dsql_span_from(nothing, 0).ptr);
    assert_false(dsql_span_cut(nothing, '=', &head, &tail));
    assert_int_equal(dsql_span_trim(nothing).len, 0);
}

TEST(numbers)
{
    static const struct {
        const char *text;
        bool ok;
        int64_t value;
    } cases[] = {
        {"0", true, 0},
        {"-1", true, -1},
        {"+7", true, 7},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"1 ", false, 0},
        {"0x1", false, 0},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        int64_t value = 42;
        assert_int_equal(dsql_span_to_i64(S(cases[i].text), &value), cases[i].ok);
        assert_int_equal(value, cases[i].ok ? cases[i].value : 42);
    }
}

TEST(fractions)
{
    double value = 42;
    assert_true(dsql_span_to_f64(S("0.25"), &value));
    assert_true(value == 0.25);
    assert_true(dsql_span_to_f64(S("-1"), &value));
    assert_true(value == -1);
    assert_true(dsql_span_to_f64(S(".5"), &value));
    assert_true(value == 0.5);
    assert_true(dsql_span_to_f64(S("000000000000000000000000000001.5"), &value));
    assert_true(value == 1.5);
    assert_true(dsql_span_to_f64(S("0.0000000000000000000015"), &value));
    assert_true(value == 1.5e-21);
    assert_true(dsql_span_to_f64(S(".5"), &value));
    static const char *const bad[] = {"",     ".",   "-",   "1.2.3",
                                      "1e3",  "nan", "0,5", "1234567890123456",
                                      "0x10", "1 ",  " 1",  "0.00000000000000000000001"};
    for (size_t i = 0; i < DSQL_COUNT_OF(bad); i++)
        assert_false(dsql_span_to_f64(S(bad[i]), &value));
    assert_true(value == 0.5);
}

TEST(distances)
{
    assert_int_equal(dsql_span_distance(S("config"), S("config")), 0);
    assert_int_equal(dsql_span_distance(S("CONFIG"), S("config")), 0);
    assert_int_equal(dsql_span_distance(S("confg"), S("config")), 1);
    assert_int_equal(dsql_span_distance(S("cnofig"), S("config")), 1); /* neighbours swapped */
    assert_int_equal(dsql_span_distance(S(""), S("abc")), 3);
    assert_int_equal(dsql_span_distance(S("kitten"), S("sitting")), 3);
    char longer[66];
    memset(longer, 'a', 65);
    longer[65] = '\0';
    assert_true(dsql_span_distance(S(longer), S("a")) == SIZE_MAX);
    assert_true(dsql_span_is_near(S("confg"), 1));
    assert_false(dsql_span_is_near(S("x"), 3));
}

TEST(fixed_strbuf_cuts_and_remembers)
{
    STRBUF(sb, 8);
    dsql_strbuf_add_str(&sb, "abcd");
    assert_false(sb.cut);
    dsql_strbuf_addf(&sb, "%d", 12345);
    assert_true(sb.cut);
    assert_string_equal(sb.ptr, "abcd123");
    dsql_strbuf_add_char(&sb, 'x'); /* nothing after a cut: a hole would be worse */
    assert_string_equal(sb.ptr, "abcd123");
    dsql_strbuf_clear(&sb);
    assert_false(sb.cut);
    dsql_strbuf_add_str(&sb, "1234567");
    assert_false(sb.cut);
    dsql_strbuf_add_char(&sb, '8');
    assert_true(sb.cut);
}

TEST(after_a_cut_nothing_is_added_even_if_it_would_fit)
{
    STRBUF(sb, 64);
    dsql_strbuf_add_str(&sb, "kept");
    dsql_strbuf_addf(&sb, "%lc", (wint_t)0xd800); /* no character: the format fails */
    assert_true(sb.cut);
    dsql_strbuf_add_char(&sb, 'x');
    dsql_strbuf_add_str(&sb, "x");
    dsql_strbuf_addf(&sb, "%d", 1);
    dsql_strbuf_addf(&sb, "%s", "");
    dsql_strbuf_add_u64(&sb, 1);
    dsql_strbuf_add_f64(&sb, 1);
    dsql_strbuf_add_json(&sb, S("x"));
    assert_true(sb.cut);
    assert_string_equal(sb.ptr, "kept");
    assert_int_equal(sb.len, 4);
}

TEST(strbuf_numbers)
{
    STRBUF(sb, 64);
    dsql_strbuf_add_u64(&sb, UINT64_MAX);
    dsql_strbuf_add_char(&sb, ' ');
    dsql_strbuf_add_i64(&sb, INT64_MIN);
    dsql_strbuf_add_char(&sb, ' ');
    dsql_strbuf_add_i64(&sb, 0);
    assert_string_equal(sb.ptr, "18446744073709551615 -9223372036854775808 0");
}

static const struct {
    double value;
    const char *text;
} doubles[] = {
    {0, "0"},
    {-0.0, "0"},
    {1, "1"},
    {-1, "-1"},
    {10, "10"},
    {100, "100"},
    {0.25, "0.25"},
    {-2.5, "-2.5"},
    {0.1, "0.1"},
    {0.00001, "0.00001"},
    {0.0001, "0.0001"},
    {1002.00006, "1002.00006"},
    {123456.789, "123456.789"},
    {0.1 + 0.2, "0.30000000000000004"},
    {1.0 / 3, "0.3333333333333333"},
    {9007199254740993.0, "9007199254740992"},
    {1e15, "1000000000000000"},
    {1e21, "1000000000000000000000"},
    {1.5e21, "1500000000000000000000"},
    {1e22, "1e22"},
    {1e-22, "0.0000000000000000000001"},
    {1e-23, "1e-23"},
    {-1.25e-300, "-1.25e-300"},
    {1.7976931348623157e308, "1.7976931348623157e308"},
    {5e-324, "5e-324"},
    {INFINITY, "+Inf"},
    {-INFINITY, "-Inf"},
    {NAN, "NaN"},
};

static void assert_doubles(void)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(doubles); i++) {
        STRBUF(sb, 64);
        dsql_strbuf_add_f64(&sb, doubles[i].value);
        assert_string_equal(sb.ptr, doubles[i].text);
    }
}

/* What can be read comes out in a form that reads back as the same, through 15 digits at any place.
 */
TEST(doubles_are_short_and_read_back)
{
    assert_doubles();
    for (int64_t digits = 1; digits < INT64_C(1000000000000000); digits = digits * 7 + 3) {
        for (size_t decimals = 0; decimals <= 22; decimals++) {
            STRBUF(text, 64);
            dsql_strbuf_addf(&text, "%0*lld", (int)decimals + 1, (long long)digits);
            STRBUF(typed, 64);
            dsql_strbuf_add(&typed, dsql_span_first(dsql_strbuf_span(&text), text.len - decimals));
            dsql_strbuf_add_char(&typed, '.');
            dsql_strbuf_add(&typed, dsql_span_from(dsql_strbuf_span(&text), text.len - decimals));
            double value, again;
            assert_true(dsql_span_to_f64(dsql_strbuf_span(&typed), &value));
            assert_true(value == strtod(typed.ptr, NULL));
            STRBUF(shown, 64);
            dsql_strbuf_add_f64(&shown, value);
            assert_true(shown.len <= typed.len);
            assert_true(dsql_span_to_f64(dsql_strbuf_span(&shown), &again));
            assert_true(value == again);
        }
    }
}

/* A comma, and a point of two bytes. tests/integ/operation/promtool.sh makes these locales where
 * the machine has none, and runs this with them. */
TEST(doubles_do_not_follow_the_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "ps_AF.UTF-8"};
    size_t seen = 0;
    for (size_t i = 0; i < DSQL_COUNT_OF(names); i++) {
        if (!setlocale(LC_ALL, names[i]))
            continue;
        assert_string_not_equal(localeconv()->decimal_point, ".");
        assert_doubles();
        seen++;
    }
    assert_non_null(setlocale(LC_ALL, "C"));
    if (seen == 0)
        skip();
}

TEST(heap_strbuf_grows_to_its_limit)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init_heap(&sb, 1000);
    assert_string_equal(sb.ptr, "");
    for (int i = 0; i < 999; i++)
        dsql_strbuf_add_char(&sb, 'x');
    assert_false(sb.cut);
    char *text = dsql_strbuf_take(&sb);
    assert_int_equal(strlen(text), 999);
    free(text);
    for (int i = 0; i < 1000; i++)
        dsql_strbuf_addf(&sb, "%c", 'y');
    assert_true(sb.cut);
    assert_int_equal(sb.len, 999);
    assert_null(dsql_strbuf_take(&sb));
    text = dsql_strbuf_take(&sb); /* empty, and still the caller's */
    assert_string_equal(text, "");
    free(text);
    dsql_strbuf_fini(&sb);
}

TEST(a_small_limit_holds)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init_heap(&sb, 10);
    dsql_strbuf_add_str(&sb, "123456789");
    assert_false(sb.cut);
    assert_int_equal(sb.cap, 10);
    dsql_strbuf_add_char(&sb, 'x');
    assert_true(sb.cut);
    assert_string_equal(sb.ptr, "123456789");
    dsql_strbuf_fini(&sb);
    dsql_strbuf_addf(&sb, "%s", "1234567890");
    assert_true(sb.cut);
    assert_string_equal(sb.ptr, "123456789");
    dsql_strbuf_fini(&sb);
    dsql_strbuf_init_heap(&sb, 1); /* the terminator fits, and nothing else */
    dsql_strbuf_add_char(&sb, 'x');
    assert_true(sb.cut);
    assert_string_equal(sb.ptr, "");
    dsql_strbuf_fini(&sb);
}

TEST(json_strings)
{
    STRBUF(sb, 128);
    dsql_strbuf_add_json(&sb, S("a\"b\\c\nd\x01\x1f \x7f~\xc3\xa9\xff"));
    assert_string_equal(sb.ptr, "\"a\\\"b\\\\c\\nd\\u0001\\u001f \\u007f~\xc3\xa9\\ufffd\"");
}

TEST(utf8)
{
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {
        {"a", 1},
        {"\xc3\xa9", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\x80", 0},
        {"\xc0\xaf", 0},
        {"\xe0\x80\x80", 0},
        {"\xf0\x80\x80\x80", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\xed\xa0\x80", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xe2\x82", 0},
        {"", 0},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++)
        assert_int_equal(dsql_utf8_len(S(cases[i].text)), cases[i].len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_compare),
        cmocka_unit_test(spans_trim_and_cut),
        cmocka_unit_test(numbers),
        cmocka_unit_test(fractions),
        cmocka_unit_test(distances),
        cmocka_unit_test(fixed_strbuf_cuts_and_remembers),
        cmocka_unit_test(after_a_cut_nothing_is_added_even_if_it_would_fit),
        cmocka_unit_test(a_small_limit_holds),
        cmocka_unit_test(doubles_are_short_and_read_back),
        cmocka_unit_test(doubles_do_not_follow_the_locale),
        cmocka_unit_test(strbuf_numbers),
        cmocka_unit_test(heap_strbuf_grows_to_its_limit),
        cmocka_unit_test(json_strings),
        cmocka_unit_test(utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

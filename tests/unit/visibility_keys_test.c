/* What stands in the keys of visibility, and the forms of a record's search attributes. */
#include <math.h>
#include <stdio.h>

#include "support/test.h"
#include "visibility/attributes.h"
#include "visibility/keys.h"

static struct dsql_span span(const char *text)
{
    return dsql_span_of(text);
}

TEST(buckets_are_in_range_and_all_used)
{
    int used[DSQL_VISIBILITY_BUCKETS] = {0};
    char id[40];
    for (int i = 0; i < 4000; i++) {
        (void)snprintf(id, sizeof(id), "%08x-0000-4000-8000-000000000000", i);
        int16_t bucket = dsql_visibility_bucket(span(id));
        assert_in_range(bucket, 0, DSQL_VISIBILITY_BUCKETS - 1);
        used[bucket]++;
    }
    for (int i = 0; i < DSQL_VISIBILITY_BUCKETS; i++)
        assert_in_range(used[i], 4000 / DSQL_VISIBILITY_BUCKETS / 2, 4000);
    /* Rows in clusters have it: it may never change. */
    assert_int_equal(dsql_visibility_bucket(span("")), 1);
    assert_int_equal(dsql_visibility_bucket(span("a")), 0);
    assert_int_equal(dsql_visibility_bucket(span("6ba7b810-9dad-11d1-80b4-00c04fd430c8")), 0);
}

TEST(a_cut_falls_between_characters)
{
    char text[300];
    memset(text, 'a', sizeof(text));
    assert_int_equal(dsql_visibility_cut((struct dsql_span){text, 240}).len, 240);
    assert_int_equal(dsql_visibility_cut((struct dsql_span){text, 241}).len, 240);
    for (size_t at = 236; at <= 240; at++) { /* a character of 4 bytes that begins there */
        memset(text, 'a', sizeof(text));
        memcpy(text + at, "\xf0\x9f\x90\x9f", 4);
        size_t len = dsql_visibility_cut((struct dsql_span){text, sizeof(text)}).len;
        assert_int_equal(len, at == 236 ? 240 : at);
        assert_in_range(len, DSQL_VISIBILITY_VALUE_WHOLE, DSQL_VISIBILITY_VALUE_MAX);
    }
}

TEST(numbers_sort_as_texts)
{
    static const int64_t ints[] = {INT64_MIN, INT64_MIN + 1, -2, -1, 0, 1, 2, 255, INT64_MAX};
    static const double doubles[] = {-HUGE_VAL, -1e300, -2.5, -1,  -1e-300, 0,
                                     5e-324,    1e-300, 0.1,  0.5, 1,       1e300};
    char one[16], other[16];
    for (size_t i = 1; i < DSQL_COUNT_OF(ints); i++) {
        dsql_visibility_key_i64(ints[i - 1], one);
        dsql_visibility_key_i64(ints[i], other);
        assert_true(memcmp(one, other, 16) < 0);
    }
    for (size_t i = 1; i < DSQL_COUNT_OF(doubles); i++) {
        dsql_visibility_key_f64(doubles[i - 1], one);
        dsql_visibility_key_f64(doubles[i], other);
        assert_true(memcmp(one, other, 16) < 0);
    }
    dsql_visibility_key_i64(0, one);
    assert_memory_equal(one, "8000000000000000", 16);
    dsql_visibility_key_f64(-0.0, one);
    assert_memory_equal(one, "8000000000000000", 16);
    dsql_visibility_key_f64(-1, one);
    assert_memory_equal(one, "400fffffffffffff", 16);
}

TEST(numbers_are_read_whole)
{
    static const char *const wrong[] = {"",    " 1",    "1 ",       "1x", "0x10", "nan",
                                        "inf", "1e999", "infinity", "-",  "e5",   "1e"};
    double value;
    for (size_t i = 0; i < DSQL_COUNT_OF(wrong); i++)
        if (dsql_visibility_parse_f64(span(wrong[i]), &value))
            fail_msg("'%s'", wrong[i]);
    assert_true(dsql_visibility_parse_f64(span("-1.5e+06"), &value) && value == -1500000.0);
    assert_true(dsql_visibility_parse_f64(span("1e-07"), &value) && value == 1e-07);
}

TEST(a_time_has_one_shape)
{
    assert_true(dsql_visibility_is_datetime(span("2026-11-18T02:30:00.000000001Z")));
    assert_false(dsql_visibility_is_datetime(span("2026-11-18T02:30:00.00000001Z")));
    assert_false(dsql_visibility_is_datetime(span("2026-11-18T02:30:00.000000001+")));
    assert_false(dsql_visibility_is_datetime(span("2026-11-18 02:30:00.000000001Z")));
}

TEST(words_stand_between_white_space)
{
    struct dsql_span rest = span(" one\ttwo\n\xc3\xa4\xc2\xa0z  "), word;
    assert_true(dsql_visibility_next_word(&rest, &word) && dsql_span_eq(word, span("one")));
    assert_true(dsql_visibility_next_word(&rest, &word) && dsql_span_eq(word, span("two")));
    assert_true(dsql_visibility_next_word(&rest, &word) &&
                dsql_span_eq(word, span("\xc3\xa4\xc2\xa0z")));
    assert_false(dsql_visibility_next_word(&rest, &word));
}

/* An array in PostgreSQL's binary form, its members with '|' between them. */
static void shown(const struct dsql_strbuf *array, char *out, size_t cap)
{
    const unsigned char *at = (const unsigned char *)array->ptr, *end = at + array->len;
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, out, cap);
    assert_true(array->len >= 12 && at[11] == 25);
    at += at[3] ? 20 : 12;
    for (; at < end; at += 4 + at[3]) {
        if (text.len > 0)
            dsql_strbuf_add_char(&text, '|');
        dsql_strbuf_add(&text, (struct dsql_span){(const char *)at + 4, at[3]});
    }
    assert_true(at == end);
}

#define ATTRIBUTE(name, kind, ...)                                                                 \
    {                                                                                              \
        {name, strlen(name)}, kind, (const struct dsql_slice[]){__VA_ARGS__},                      \
            sizeof((const struct dsql_slice[]){__VA_ARGS__}) / sizeof(struct dsql_slice)           \
    }
#define TEXT_OF(text) dsql_slice_str(text)

TEST(attributes_have_three_forms)
{
    const struct dsql_visibility_attribute attributes[] = {
        ATTRIBUTE("Text01", DSQL_VISIBILITY_TEXT, TEXT_OF("to be or not to be")),
        ATTRIBUTE("Int01", DSQL_VISIBILITY_INT, TEXT_OF("-5")),
        ATTRIBUTE("Double01", DSQL_VISIBILITY_DOUBLE, TEXT_OF("1e+06")),
        ATTRIBUTE("Bool01", DSQL_VISIBILITY_BOOL, TEXT_OF("true")),
        ATTRIBUTE("BuildIds", DSQL_VISIBILITY_KEYWORD_LIST, TEXT_OF("b\"1"), TEXT_OF("a"),
                  TEXT_OF("a")),
        ATTRIBUTE("TemporalNamespaceDivision", DSQL_VISIBILITY_KEYWORD, TEXT_OF("Scheduler")),
        ATTRIBUTE("TemporalLowCardinalityKeyword01", DSQL_VISIBILITY_KEYWORD, TEXT_OF("low")),
        ATTRIBUTE("Datetime01", DSQL_VISIBILITY_DATETIME,
                  TEXT_OF("2026-11-18T02:30:00.000000001Z")),
        ATTRIBUTE("Keyword01", DSQL_VISIBILITY_KEYWORD, {NULL, 0}),
    };
    struct dsql_visibility_attributes made;
    char text[600];
    assert_int_equal(
        dsql_visibility_attributes_init(&made, attributes, DSQL_COUNT_OF(attributes), NULL, NULL),
        DSQL_OK);
    assert_string_equal(
        made.json.ptr,
        "{\"Text01\":\"to be or not to be\",\"Int01\":-5,\"Double01\":1000000,\"Bool01\":true,"
        "\"BuildIds\":[\"b\\\"1\",\"a\",\"a\"],\"TemporalNamespaceDivision\":\"Scheduler\","
        "\"TemporalLowCardinalityKeyword01\":\"low\","
        "\"Datetime01\":\"2026-11-18T02:30:00.000000001Z\",\"Keyword01\":\"\"}");
    shown(&made.names, text, sizeof(text));
    assert_string_equal(text, "Bool01|BuildIds|BuildIds|Datetime01|Double01|Int01|Keyword01|"
                              "TemporalLowCardinalityKeyword01|Text01|Text01|Text01|Text01");
    shown(&made.values, text, sizeof(text));
    assert_string_equal(text, "1|a|b\"1|2026-11-18T02:30:00.000000001Z|c12e848000000000|"
                              "7ffffffffffffffb||low|be|not|or|to");
    assert_int_equal(made.postings, 12);
    assert_true(dsql_span_eq(made.division, span("Scheduler")));
    assert_true(dsql_span_eq(made.count_keyword, span("low")));
    dsql_visibility_attributes_fini(&made);

    assert_int_equal(dsql_visibility_attributes_init(&made, NULL, 0, NULL, NULL), DSQL_OK);
    assert_int_equal(made.json.len, 0);
    assert_int_equal(made.names.len, 12);
    assert_int_equal(made.division.len + made.count_keyword.len, 0);
    dsql_visibility_attributes_fini(&made);
}

/* What stands in keys is cut, whoever may have chosen it. */
TEST(long_values_in_keys_are_cut)
{
    static char bytes[3000];
    memset(bytes, 'k', sizeof(bytes));
    const struct dsql_visibility_attribute attributes[] = {
        ATTRIBUTE("TemporalNamespaceDivision", DSQL_VISIBILITY_KEYWORD, {bytes, sizeof(bytes)}),
        ATTRIBUTE("TemporalLowCardinalityKeyword01", DSQL_VISIBILITY_KEYWORD,
                  {bytes, sizeof(bytes)}),
    };
    struct dsql_visibility_attributes made;
    assert_int_equal(
        dsql_visibility_attributes_init(&made, attributes, DSQL_COUNT_OF(attributes), false, NULL),
        DSQL_OK);
    assert_int_equal(made.division.len, DSQL_VISIBILITY_VALUE_MAX);
    assert_int_equal(made.count_keyword.len, DSQL_VISIBILITY_VALUE_MAX);
    assert_true(made.json.len > 2 * sizeof(bytes)); /* where all of it stands */
    dsql_visibility_attributes_fini(&made);
}

TEST(values_of_another_type_are_refused)
{
    const struct dsql_visibility_attribute wrong[] = {
        ATTRIBUTE("Int01", DSQL_VISIBILITY_INT, TEXT_OF("1.5")),
        ATTRIBUTE("Int01", DSQL_VISIBILITY_INT, TEXT_OF("9223372036854775808")),
        ATTRIBUTE("Double01", DSQL_VISIBILITY_DOUBLE, TEXT_OF("NaN")),
        ATTRIBUTE("Bool01", DSQL_VISIBILITY_BOOL, TEXT_OF("1")),
        ATTRIBUTE("Datetime01", DSQL_VISIBILITY_DATETIME, TEXT_OF("today")),
        ATTRIBUTE("Keyword01", DSQL_VISIBILITY_KEYWORD, TEXT_OF("\xff")),
        ATTRIBUTE("Keyword01", DSQL_VISIBILITY_KEYWORD, {"a\0b", 3}),
        ATTRIBUTE("Keyword01", DSQL_VISIBILITY_KEYWORD, TEXT_OF("a"), TEXT_OF("b")),
        ATTRIBUTE("", DSQL_VISIBILITY_KEYWORD, TEXT_OF("a")),
        ATTRIBUTE("Keyword01", (enum dsql_visibility_type)8, TEXT_OF("a")),
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(wrong); i++) {
        struct dsql_visibility_attributes made;
        struct dsql_err err = {0};
        if (dsql_visibility_attributes_init(&made, &wrong[i], 1, NULL, &err) != DSQL_INVALID)
            fail_msg("row %zu", i);
        assert_true(err.message[0]);
        dsql_visibility_attributes_fini(&made);
    }
}

TEST(more_values_than_a_transaction_takes_are_one_posting)
{
    struct dsql_strbuf words;
    struct dsql_visibility_attributes made;
    dsql_strbuf_init_heap(&words, 1 << 20);
    for (int i = 0; i <= DSQL_VISIBILITY_POSTINGS_MAX; i++)
        dsql_strbuf_addf(&words, "w%d ", i);
    const struct dsql_visibility_attribute text =
        ATTRIBUTE("Text01", DSQL_VISIBILITY_TEXT, {words.ptr, words.len});
    assert_int_equal(dsql_visibility_attributes_init(&made, &text, 1, DSQL_VISIBILITY_SKEW, NULL),
                     DSQL_OK);
    assert_int_equal(made.postings, 2);
    assert_memory_equal(made.names.ptr + 20, "\0\0\0\5!many\0\0\0\5!skew", 18);
    assert_true(made.json.len > words.len);
    dsql_visibility_attributes_fini(&made);
    dsql_strbuf_fini(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_are_in_range_and_all_used),
        cmocka_unit_test(a_cut_falls_between_characters),
        cmocka_unit_test(numbers_sort_as_texts),
        cmocka_unit_test(numbers_are_read_whole),
        cmocka_unit_test(a_time_has_one_shape),
        cmocka_unit_test(words_stand_between_white_space),
        cmocka_unit_test(attributes_have_three_forms),
        cmocka_unit_test(long_values_in_keys_are_cut),
        cmocka_unit_test(values_of_another_type_are_refused),
        cmocka_unit_test(more_values_than_a_transaction_takes_are_one_posting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

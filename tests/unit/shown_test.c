#include "base/shown.h"

#include "support/test.h"

TEST(printable_text_stays)
{
    assert_string_equal(dsql_shown_str("").text, "");
    assert_string_equal(dsql_shown_str(" plain ~ text ").text, " plain ~ text ");
    assert_string_equal(dsql_shown(DSQL_SPAN("a\0b")).text, "a?b");
}

TEST(what_steers_a_terminal_does_not_pass)
{
    for (int c = 1; c < 256; c++) {
        char text[] = {'<', (char)c, '>', '\0'};
        char wanted[] = {'<', c >= 0x20 && c <= 0x7e ? (char)c : '?', '>', '\0'};
        assert_string_equal(dsql_shown_str(text).text, wanted);
    }
    assert_string_equal(dsql_shown_str("a\nb\x1b[31m").text, "a?b?[31m");
}

TEST(long_text_is_cut_and_says_so)
{
    char text[DSQL_SHOWN_MAX + 8], wanted[DSQL_SHOWN_MAX + 8];
    memset(text, 'x', sizeof(text));
    text[DSQL_SHOWN_MAX] = '\0';
    assert_string_equal(dsql_shown_str(text).text, text);
    text[DSQL_SHOWN_MAX] = 'x';
    text[DSQL_SHOWN_MAX + 1] = '\0';
    memset(wanted, 'x', DSQL_SHOWN_MAX);
    memcpy(wanted + DSQL_SHOWN_MAX, "...", sizeof("..."));
    assert_string_equal(dsql_shown_str(text).text, wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(printable_text_stays),
        cmocka_unit_test(what_steers_a_terminal_does_not_pass),
        cmocka_unit_test(long_text_is_cut_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "cli/command.h"

#include "cli/help.h"
#include "cli/reference.h"
#include "support/test.h"

static const struct dsql_option options[] = {
    {"json", 'j', NULL, "a switch"},
    {"port", 'p', "N", "a value"},
};

static const struct dsql_command command = {
    .name = "try",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 2,
    DSQL_COMMAND_OPTIONS(options),
};

static struct dsql_args args;
static struct dsql_err err;

#define PARSE(...)                                                                                 \
    dsql_args_parse(&command, (int)DSQL_COUNT_OF(((const char *const[]){__VA_ARGS__})),            \
                    (const char *const[]){__VA_ARGS__}, &args, &err)

TEST(options_and_operands_mix)
{
    assert_int_equal(PARSE("--json", "a", "--port=7", "b"), DSQL_OK);
    assert_true(dsql_args_has(&args, "json"));
    assert_string_equal(dsql_args_get(&args, "port"), "7");
    assert_int_equal(args.operand_count, 2);
    assert_string_equal(args.operands[0], "a");
    assert_int_equal(PARSE("-p", "9", "a", "-j"), DSQL_OK);
    assert_string_equal(dsql_args_get(&args, "port"), "9");
    assert_int_equal(PARSE("a"), DSQL_OK);
    assert_false(dsql_args_has(&args, "json"));
    assert_null(dsql_args_get(&args, "port"));
    assert_int_equal(PARSE("--port=", "-"),
                     DSQL_OK); /* an empty value; a lone dash is an operand */
    assert_string_equal(dsql_args_get(&args, "port"), "");
    assert_string_equal(args.operands[0], "-");
    assert_int_equal(PARSE("--", "--json"), DSQL_OK);
    assert_string_equal(args.operands[0], "--json");
    assert_int_equal(PARSE("a", "--", "-p"), DSQL_OK); /* nothing behind it is an option */
    assert_null(dsql_args_get(&args, "port"));
    assert_string_equal(args.operands[1], "-p");
    assert_int_equal(PARSE("--port", "-5", "a"), DSQL_OK); /* a value may begin with a dash */
    assert_string_equal(dsql_args_get(&args, "port"), "-5");
    assert_int_equal(PARSE("-p", "--json", "a"), DSQL_OK);
    assert_string_equal(dsql_args_get(&args, "port"), "--json");
    assert_false(dsql_args_has(&args, "json"));
    assert_int_equal(PARSE("--port=-5", "a"), DSQL_OK);
    assert_string_equal(dsql_args_get(&args, "port"), "-5");
}

TEST(mistakes_are_one_clear_line)
{
    assert_int_equal(PARSE("--jsn", "a"), DSQL_INVALID);
    assert_string_equal(err.message, "'dsql try' has no option --jsn; did you mean --json?");
    assert_int_equal(PARSE("--teapot", "a"), DSQL_INVALID);
    assert_string_equal(err.message, "'dsql try' has no option --teapot; see 'dsql help try'");
    assert_int_equal(PARSE("-x", "a"), DSQL_INVALID);
    assert_string_equal(err.message, "'dsql try' has no option -x; see 'dsql help try'");
    assert_int_equal(PARSE("-jx", "a"), DSQL_INVALID);
    assert_int_equal(PARSE("a", "--port"), DSQL_INVALID);
    assert_string_equal(err.message, "--port needs a value: --port=N");
    assert_int_equal(PARSE("a", "--json=yes"), DSQL_INVALID);
    assert_string_equal(err.message, "--json takes no value");
    assert_int_equal(PARSE("a", "b", "c"), DSQL_INVALID);
    assert_string_equal(err.message, "'dsql try' does not expect 'c'; see 'dsql help try'");
    assert_int_equal(PARSE("--json"), DSQL_INVALID);
    assert_string_equal(err.message, "'dsql try' needs FILE; see 'dsql help try'");
    assert_int_equal(PARSE("--"), DSQL_INVALID);
}

TEST(a_value_is_given_once)
{
    assert_int_equal(PARSE("--port=1", "--port", "2", "a"), DSQL_INVALID);
    assert_string_equal(err.message, "--port is given twice");
}

TEST(a_text_fits_or_is_refused)
{
    char text[4] = "old";
    assert_int_equal(PARSE("a"), DSQL_OK);
    assert_int_equal(dsql_args_text(&args, "port", text, sizeof(text), &err), DSQL_OK);
    assert_string_equal(text, "old");
    assert_int_equal(PARSE("--port=123", "a"), DSQL_OK);
    assert_int_equal(dsql_args_text(&args, "port", text, sizeof(text), &err), DSQL_OK);
    assert_string_equal(text, "123");
    static const char *const refused[] = {"--port=1234", "--port="};
    for (size_t i = 0; i < DSQL_COUNT_OF(refused); i++) {
        assert_int_equal(PARSE(refused[i], "a"), DSQL_OK);
        assert_int_equal(dsql_args_text(&args, "port", text, sizeof(text), &err), DSQL_INVALID);
        assert_string_equal(err.message, "--port is empty or too long");
        assert_string_equal(text, "123");
    }
}

TEST(mistakes_leave_the_result_alone)
{
    assert_int_equal(PARSE("--port=7", "a"), DSQL_OK);
    assert_int_equal(PARSE("--port=8", "b", "c", "d"), DSQL_INVALID);
    assert_string_equal(dsql_args_get(&args, "port"), "7");
    assert_string_equal(args.operands[0], "a");
}

TEST(mistakes_are_shown_printable_and_cut)
{
    assert_int_equal(PARSE("--j\nn\x1b[31m"), DSQL_INVALID);
    assert_string_equal(err.message, "'dsql try' has no option --j?n?[31m; see 'dsql help try'");
    assert_int_equal(PARSE("--js\nn"), DSQL_INVALID);
    assert_string_equal(err.message, "'dsql try' has no option --js?n; did you mean --json?");
    assert_int_equal(PARSE("-\n"), DSQL_INVALID);
    assert_string_equal(err.message, "'dsql try' has no option -?; see 'dsql help try'");
    assert_int_equal(PARSE("a", "b", "c\nd"), DSQL_INVALID);
    assert_string_equal(err.message, "'dsql try' does not expect 'c?d'; see 'dsql help try'");
    char word[1000];
    memset(word, 'x', sizeof(word));
    word[sizeof(word) - 1] = '\0';
    assert_int_equal(PARSE("a", "b", word), DSQL_INVALID);
    assert_non_null(strstr(err.message, "xxx...'; see 'dsql help try'"));
    int words;
    const char *const steering[] = {"a\nb\x1b[31m"};
    assert_null(dsql_command_find(dsql_commands, dsql_command_count, 1, steering, &words, &err));
    assert_string_equal(err.message, "'a?b?[31m' is no command; 'dsql help' lists them");
    const char *const near[] = {"confi\n"};
    assert_null(dsql_command_find(dsql_commands, dsql_command_count, 1, near, &words, &err));
    assert_string_equal(err.message, "'confi?' is no command; did you mean 'dsql config'?");
}

TEST(commands_are_found)
{
    int words = 0;
    const char *const config[] = {"config", "--json"};
    const struct dsql_command *found =
        dsql_command_find(dsql_commands, dsql_command_count, 2, config, &words, &err);
    assert_non_null(found);
    assert_string_equal(found->name, "config");
    assert_int_equal(words, 1);
    const char *const misspelt[] = {"confg"};
    assert_null(dsql_command_find(dsql_commands, dsql_command_count, 1, misspelt, &words, &err));
    assert_string_equal(err.message, "'confg' is no command; did you mean 'dsql config'?");
    const char *const odd[] = {"teapots"};
    assert_null(dsql_command_find(dsql_commands, dsql_command_count, 1, odd, &words, &err));
    assert_string_equal(err.message, "'teapots' is no command; 'dsql help' lists them");
    assert_null(dsql_command_find(dsql_commands, dsql_command_count, 0, NULL, &words, &err));
}

TEST(the_longest_name_wins)
{
    static const struct dsql_command local = {.name = "local"}, exec = {.name = "local exec"},
                                     log = {.name = "log"}, only = {.name = "only two"};
    /* Both orders: neither the first nor the last of the table is special. */
    static const struct dsql_command *const tables[][4] = {{&local, &exec, &log, &only},
                                                           {&only, &log, &exec, &local}};
    static const struct {
        const char *argv[3];
        int argc;
        const struct dsql_command *found;
        int words;
    } cases[] = {
        {{"local"}, 1, &local, 1},
        {{"local", "exec"}, 2, &exec, 2},
        {{"local", "exec", "local"}, 3, &exec, 2},
        {{"local", "exe"}, 2, &local, 1},
        {{"local", "--", "exec"}, 3, &local, 1},
        {{"log", "exec"}, 2, &log, 1},
        {{"only", "two"}, 2, &only, 2},
        {{"only"}, 1, NULL, 0},
        {{"local exec"}, 1, NULL, 0},
        {{"lo"}, 1, NULL, 0},
    };
    for (size_t t = 0; t < DSQL_COUNT_OF(tables); t++) {
        for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
            int words = -1;
            assert_ptr_equal(
                dsql_command_find(tables[t], 4, cases[i].argc, cases[i].argv, &words, NULL),
                cases[i].found);
            assert_int_equal(words, cases[i].words);
        }
    }
}

TEST(the_table_is_sound)
{
    for (size_t i = 0; i < dsql_command_count; i++) {
        const struct dsql_command *c = dsql_commands[i];
        struct dsql_span first, second;
        if (dsql_span_cut(dsql_span_of(c->name), ' ', &first, &second)) {
            size_t group = 0; /* its first word stands in the table too */
            while (group < dsql_command_count &&
                   dsql_command_under(dsql_commands[group], c).len == 0)
                group++;
            assert_true(group < dsql_command_count);
        }
        if (!c->run) { /* a group has commands and nothing else */
            size_t under = 0;
            for (size_t k = 0; k < dsql_command_count; k++)
                under += dsql_command_under(c, dsql_commands[k]).len > 0;
            assert_true(under > 0 && c->option_count == 0 && c->operands_max == 0);
        }
        assert_int_equal(c->operands != NULL, c->operands_max > 0);
        assert_true(strlen(c->summary) > 5 && strlen(c->text) > 5);
        assert_true(c->option_count <= DSQL_COMMAND_OPTIONS_MAX);
        for (size_t a = 0; a < c->option_count; a++) {
            assert_true(strlen(c->options[a].doc) > 5);
            for (size_t b = 0; b < a; b++) {
                assert_string_not_equal(c->options[a].name, c->options[b].name);
                assert_true(!c->options[a].letter || c->options[a].letter != c->options[b].letter);
            }
        }
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(c->name, dsql_commands[k]->name);
    }
}

/* What is printed into a stream, in static memory. */
static char printed[4096];

static FILE *open_printed(void)
{
    FILE *out = fmemopen(printed, sizeof(printed), "w");
    assert_non_null(out);
    return out;
}

static void assert_fills(int indent, const char *text, const char *wanted)
{
    FILE *out = open_printed();
    dsql_help_fill(out, indent, text);
    assert_int_equal(fclose(out), 0);
    assert_string_equal(printed, wanted);
}

#define TEN     "123456789 "
#define SEVENTY TEN TEN TEN TEN TEN TEN TEN

TEST(text_fills_80_columns)
{
    assert_fills(0, SEVENTY "1234567890", SEVENTY "1234567890\n"); /* just fits */
    assert_fills(0, SEVENTY "12345678901", TEN TEN TEN TEN TEN TEN "123456789\n12345678901\n");
    assert_fills(10, TEN TEN TEN TEN TEN TEN "1234567890",
                 "          " TEN TEN TEN TEN TEN TEN "1234567890\n");
    assert_fills(10, TEN TEN TEN TEN TEN TEN "12345678901",
                 "          " TEN TEN TEN TEN TEN "123456789\n          12345678901\n");
    assert_fills(2, "a\nb\n\nc\n    as  it   is\nd", "  a b\n\n  c\n    as  it   is\n  d\n");
}

TEST(cells_do_not_end_early)
{
    FILE *out = open_printed();
    dsql_reference_cell(out, "a | b|");
    assert_int_equal(fclose(out), 0);
    assert_string_equal(printed, "a \\| b\\|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_operands_mix),
        cmocka_unit_test(mistakes_are_one_clear_line),
        cmocka_unit_test(a_value_is_given_once),
        cmocka_unit_test(a_text_fits_or_is_refused),
        cmocka_unit_test(mistakes_leave_the_result_alone),
        cmocka_unit_test(mistakes_are_shown_printable_and_cut),
        cmocka_unit_test(commands_are_found),
        cmocka_unit_test(the_longest_name_wins),
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(text_fills_80_columns),
        cmocka_unit_test(cells_do_not_end_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

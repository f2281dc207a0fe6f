#include "cli/command.h"

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
    .options = options,
    .option_count = DSQL_COUNT_OF(options),
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

TEST(commands_are_found)
{
    int words = 0;
    const char *const config[] = {"config", "--json"};
    const struct dsql_command *found = dsql_command_find(2, config, &words, &err);
    assert_non_null(found);
    assert_string_equal(found->name, "config");
    assert_int_equal(words, 1);
    const char *const misspelt[] = {"confg"};
    assert_null(dsql_command_find(1, misspelt, &words, &err));
    assert_string_equal(err.message, "'confg' is no command; did you mean 'dsql config'?");
    const char *const odd[] = {"teapots"};
    assert_null(dsql_command_find(1, odd, &words, &err));
    assert_string_equal(err.message, "'teapots' is no command; 'dsql help' lists them");
    assert_null(dsql_command_find(0, NULL, &words, &err));
}

TEST(the_table_is_sound)
{
    for (size_t i = 0; i < dsql_command_count; i++) {
        const struct dsql_command *c = dsql_commands[i];
        assert_non_null(c->run);
        assert_non_null(c->operands);
        assert_true(strlen(c->summary) > 5 && strlen(c->text) > 5);
        assert_true(c->option_count <= DSQL_OPTIONS_MAX);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_operands_mix),
        cmocka_unit_test(mistakes_are_one_clear_line),
        cmocka_unit_test(commands_are_found),
        cmocka_unit_test(the_table_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

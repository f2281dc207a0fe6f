/* Finds the command, reads its options, runs it. */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/help.h"

static bool is_word(const char *word, const char *a, const char *b)
{
    return dsql_span_eq(dsql_span_of(word), dsql_span_of(a)) ||
           dsql_span_eq(dsql_span_of(word), dsql_span_of(b));
}

static bool wants_help(int argc, const char *const *argv)
{
    for (int i = 0; i < argc && !is_word(argv[i], "--", "--"); i++)
        if (is_word(argv[i], "--help", "-h"))
            return true;
    return false;
}

static void write_nothing(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

/* A command that says what it has to say does not say it a second time in log lines. */
static void set_log(const struct dsql_command *command)
{
    const char *wanted = getenv("DSQL_LOG_LEVEL");
    enum dsql_log_level level;
    if ((wanted && dsql_log_level_parse(dsql_span_of(wanted), &level)) ||
        (command->log_level && dsql_log_level_parse(dsql_span_of(command->log_level), &level)))
        dsql_log_set_level(level);
    else
        dsql_log_set_sink(write_nothing, NULL);
}

static int dispatch(int argc, const char *const *argv)
{
    struct dsql_err err;
    struct dsql_args args;
    int words = 0;
    const struct dsql_command *command =
        dsql_command_find(dsql_commands, dsql_command_count, argc, argv, &words, &err);
    if (command && wants_help(argc - words, argv + words)) {
        dsql_help_command(stdout, command);
        return DSQL_EXIT_OK;
    }
    if (!command || dsql_args_parse(command, argc - words, argv + words, &args, &err))
        return dsql_complain(&err);
    if (!command->run) {
        dsql_help_command(stderr, command);
        return DSQL_EXIT_USAGE;
    }
    set_log(command);
    return command->run(&args);
}

int main(int argc, char **argv)
{
    static const char *const help[] = {"help"}, *const version[] = {"version"};
    int status;
    if (argc < 2) {
        dsql_help_overview(stderr);
        status = DSQL_EXIT_USAGE;
    } else if (is_word(argv[1], "--help", "-h")) {
        status = dispatch(1, help);
    } else if (is_word(argv[1], "--version", "-V")) {
        status = dispatch(1, version);
    } else {
        status = dispatch(argc - 1, (const char *const *)argv + 1);
    }
    /* A full disk must not look like success. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        if (errno != EPIPE) /* a reader that stopped reading knows it */
            fprintf(stderr, "dsql: can't write the output: %s\n", strerror(errno));
        return DSQL_EXIT_FAILED;
    }
    return status;
}

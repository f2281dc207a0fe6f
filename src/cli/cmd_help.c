#include "cli/commands.h"
#include "cli/manual.h"
#include "cli/reference.h"

static int complain(const struct dsql_err *err)
{
    fprintf(stderr, "dsql: %s\n", err->message);
    return err->rc == DSQL_INVALID ? DSQL_EXIT_USAGE : DSQL_EXIT_FAILED;
}

static const struct dsql_topic *find_topic(const char *name)
{
    for (size_t i = 0; i < dsql_topic_count; i++)
        if (dsql_span_eq(dsql_span_of(name), dsql_span_of(dsql_topics[i].name)))
            return &dsql_topics[i];
    return NULL;
}

static int run(const struct dsql_args *args)
{
    struct dsql_err err;
    const char *folder = dsql_args_get(args, "man-pages");
    if (folder)
        return dsql_manual_write_pages(folder, &err) ? complain(&err) : DSQL_EXIT_OK;
    if (args->operand_count == 0) {
        dsql_manual_overview(stdout);
        return DSQL_EXIT_OK;
    }
    const struct dsql_topic *topic = find_topic(args->operands[0]);
    if (dsql_args_has(args, "markdown")) {
        if (!topic) {
            (void)dsql_err_set(&err, DSQL_INVALID,
                               "--markdown goes with config, metrics or events");
            return complain(&err);
        }
        topic->markdown(stdout);
        return DSQL_EXIT_OK;
    }
    int words;
    const struct dsql_command *command =
        dsql_command_find((int)args->operand_count, args->operands, &words, &err);
    if (command)
        dsql_manual_command(stdout, command);
    else if (topic)
        topic->plain(stdout);
    else
        return complain(&err);
    return DSQL_EXIT_OK;
}

static const struct dsql_option options[] = {
    {"markdown", 0, NULL, "print the reference config, metrics or events as Markdown"},
    {"man-pages", 0, "DIR", "write the man pages of all commands into DIR"},
};

const struct dsql_command dsql_cmd_help = {
    .name = "help",
    .operands = "[COMMAND | config | metrics | events]",
    .summary = "show the commands, one of them, or a reference",
    .text =
        "Without an operand, lists the commands. With the name of a command, explains it. The\n"
        "references are: config, every setting; metrics, every metric; events, every line that\n"
        "can appear in the log.",
    .operands_max = 2,
    .operand_words = "config metrics events version completion",
    .options = options,
    .option_count = DSQL_COUNT_OF(options),
    .run = run,
};

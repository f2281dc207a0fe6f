#include "base/shown.h"
#include "cli/commands.h"
#include "cli/help.h"

static int run(const struct dsql_args *args)
{
    if (!dsql_span_eq(dsql_span_of(args->operands[0]), DSQL_SPAN("bash"))) {
        fprintf(stderr, "dsql: no completion for '%s'; there is one for bash\n",
                dsql_shown_str(args->operands[0]).text);
        return DSQL_EXIT_USAGE;
    }
    dsql_help_bash(stdout);
    return DSQL_EXIT_OK;
}

const struct dsql_command dsql_cmd_completion = {
    .name = "completion",
    .operands = "bash",
    .summary = "print the shell completion script",
    .text = "Prints a script that completes commands and options. Load it in a shell with\n"
            "\n"
            "    source <(dsql completion bash)\n"
            "\n"
            "'make install' puts it where bash finds it by itself.",
    .operands_min = 1,
    .operands_max = 1,
    .operand_words = "bash",
    .run = run,
};

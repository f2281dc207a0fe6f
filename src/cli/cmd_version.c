#include "cli/commands.h"
#include "dsql/version.h"

static int run(const struct dsql_args *args)
{
    (void)args;
    printf("dsql %s\n", dsql_version());
    return DSQL_EXIT_OK;
}

const struct dsql_command dsql_cmd_version = {
    .name = "version",
    .summary = "print the version",
    .text = "Prints the version of this program and of the library inside it.",
    .run = run,
};

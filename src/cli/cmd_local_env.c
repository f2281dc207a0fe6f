/* `dsql local env`: what a client of a running endpoint needs. */
#include "cli/commands.h"
#include "cli/local_run.h"

static void print(struct dsql_span answer)
{
    static char memory[DSQL_LOCAL_ENV_MAX];
    struct dsql_strbuf out;
    dsql_strbuf_init(&out, memory, sizeof(memory));
    dsql_local_add_exports(&out, answer);
    if (out.cut) /* half a line is none that a shell may see */
        fprintf(stderr, "dsql: the environment is longer than %d bytes\n", DSQL_LOCAL_ENV_MAX);
    else
        (void)fwrite(out.ptr, 1, out.len, stdout);
    (void)fflush(stdout);
    explicit_bzero(memory, sizeof(memory));
}

static int run_env(const struct dsql_args *args)
{
    return dsql_local_ask(args, DSQL_SPAN("env"), print);
}

static const struct dsql_option options[] = {DSQL_LOCAL_ASK_OPTIONS};

const struct dsql_command dsql_cmd_local_env = {
    .name = "local env",
    .operands = "",
    .summary = "print the environment for clients of a local endpoint",
    .text = "Prints what a client needs, with a fresh token, as lines for a shell:\n"
            "\n"
            "    eval \"$(dsql local env --data DIR)\"",
    .options = options,
    .option_count = DSQL_COUNT_OF(options),
    .run = run_env,
};

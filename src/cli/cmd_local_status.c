/* `dsql local status`: what a running endpoint saw. */
#include "cli/commands.h"
#include "cli/local_run.h"

static void print(struct dsql_span answer)
{
    (void)fwrite(answer.ptr, 1, answer.len, stdout);
}

static int run_status(const struct dsql_args *args)
{
    bool admissions = dsql_args_has(args, "admissions");
    return dsql_local_ask(args, admissions ? DSQL_SPAN("admissions") : DSQL_SPAN("counts"), print);
}

static const struct dsql_option options[] = {
    DSQL_LOCAL_ASK_OPTIONS,
    {"admissions", 0, NULL,
     "when connections were let in instead: nanoseconds of the endpoint's clock, the last 16384"},
};

const struct dsql_command dsql_cmd_local_status = {
    .name = "local status",
    .operands = "",
    .summary = "print what a local endpoint saw",
    .text =
        "Prints the numbers of the log line local.seen, one a line, and how many sessions at "
        "PostgreSQL there are. conflicts_oc000 and conflicts_oc001 count the 40001 that clients "
        "were told, those on request included; faults counts what struck on request.",
    .options = options,
    .option_count = DSQL_COUNT_OF(options),
    .run = run_status,
};

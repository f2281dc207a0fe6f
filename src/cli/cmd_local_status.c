/* `dsql local status`: what a running endpoint saw. */
#include "cli/commands.h"
#include "cli/local_run.h"

static void print(struct dsql_span answer)
{
    (void)fwrite(answer.ptr, 1, answer.len, stdout);
}

static void print_value(struct dsql_span value)
{
    int64_t number;
    if (dsql_span_to_i64(value, &number))
        printf("%lld", (long long)number);
    else
        dsql_print_json(value);
}

/* Prints the lines as a JSON object, with numbers as numbers. */
static void print_json_object(struct dsql_span answer)
{
    struct dsql_span line, name, value;
    const char *between = "{";
    while (answer.len > 0) {
        dsql_span_cut(answer, '\n', &line, &answer);
        if (!dsql_span_cut(line, '=', &name, &value))
            continue;
        printf("%s\"%.*s\": ", between, (int)name.len, name.ptr);
        print_value(value);
        between = ", ";
    }
    puts("}");
}

static void print_json_list(struct dsql_span answer)
{
    struct dsql_span line;
    const char *between = "[";
    while (answer.len > 0) {
        dsql_span_cut(answer, '\n', &line, &answer);
        fputs(between, stdout);
        print_value(line);
        between = ", ";
    }
    puts(between[0] == '[' ? "[]" : "]");
}

static int run_status(const struct dsql_args *args)
{
    bool json = dsql_args_has(args, "json");
    if (dsql_args_has(args, "admissions"))
        return dsql_local_ask(args, DSQL_SPAN("admissions"), json ? print_json_list : print);
    return dsql_local_ask(args, DSQL_SPAN("counts"), json ? print_json_object : print);
}

static const struct dsql_option options[] = {
    DSQL_LOCAL_ASK_OPTIONS,
    {"admissions", 0, NULL,
     "when connections were let in instead: nanoseconds of the endpoint's clock, the last 16384"},
    {"json", 0, NULL, "print JSON for machines"},
};

const struct dsql_command dsql_cmd_local_status = {
    .name = "local status",
    .summary = "print what a local endpoint saw",
    .text =
        "Prints the numbers of the log line local.seen, one a line, and how many sessions at "
        "PostgreSQL there are. conflicts_oc000 and conflicts_oc001 count the 40001 that clients "
        "were told, those on request included; faults counts what struck on request.",
    DSQL_COMMAND_OPTIONS(options),
    .run = run_status,
};

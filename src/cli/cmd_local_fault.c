/* `dsql local fault`: faults on request, while the endpoint runs. */
#include "cli/commands.h"
#include "cli/local_run.h"

static void print(struct dsql_span answer)
{
    (void)fwrite(answer.ptr, 1, answer.len, stdout);
}

static void print_list(struct dsql_span answer)
{
    if (answer.len == 0)
        printf("none\n");
    print(answer);
}

static bool is(const char *word, const char *other)
{
    return dsql_span_eq(dsql_span_of(word), dsql_span_of(other));
}

static int run_fault(const struct dsql_args *args)
{
    char memory[DSQL_CONTROL_REQUEST_MAX];
    struct dsql_strbuf question;
    struct dsql_err err;
    bool list = is(args->operands[0], "list"), clear = is(args->operands[0], "clear");
    if (list && args->operand_count > 1) {
        (void)dsql_err_set(&err, DSQL_INVALID, "'list' stands alone");
        return dsql_complain(&err);
    }
    dsql_strbuf_init(&question, memory, sizeof(memory));
    dsql_strbuf_add_str(&question, list ? "faults" : clear ? "clear" : "fault");
    for (size_t i = list || clear; i < args->operand_count; i++)
        dsql_strbuf_addf(&question, " %s", args->operands[i]);
    if (question.cut || memchr(question.ptr, '\n', question.len)) {
        (void)dsql_err_set(&err, DSQL_INVALID, "these are no faults");
        return dsql_complain(&err);
    }
    return dsql_local_ask(args, dsql_strbuf_span(&question), list ? print_list : print);
}

/* All names with their values' form, for the manual. */
static void print_reference(FILE *out)
{
    static const char *const values[] = {[DSQL_FAULT_CHANCE] = "0.1|10%|3x",
                                         [DSQL_FAULT_LASTING] = "20ms",
                                         [DSQL_FAULT_NOW] = "now"};
    fprintf(out, "Faults:\n");
    for (size_t i = 0; i < DSQL_FAULT_COUNT; i++) {
        const struct dsql_fault_info *info = &dsql_fault_infos[i];
        const char *value = i == DSQL_FAULT_DROP    ? "50%"
                            : i == DSQL_FAULT_STALL ? "5s"
                                                    : values[info->kind];
        fprintf(out, "  %s=%s\n      %s\n", info->name, value, info->doc);
    }
}

static void list_operands(FILE *out)
{
    fprintf(out, "list clear ");
    for (size_t i = 0; i < DSQL_FAULT_COUNT; i++)
        fprintf(out, "%s= ", dsql_fault_infos[i].name);
}

static const struct dsql_option options[] = {DSQL_LOCAL_ASK_OPTIONS};

const struct dsql_command dsql_cmd_local_fault = {
    .name = "local fault",
    .operands = "list | clear [NAME...] | NAME=VALUE...",
    .summary = "have the local endpoint fail, as asked",
    .text =
        "Puts faults in force at an endpoint that runs, shows which are, or ends them. A chance is "
        "0.1 or 10%, or 3x for the next three times; seed=N makes the same strike again. At COMMIT, "
        "a statement outside a transaction that writes or locks counts as one too.\n"
        "\n"
        "    dsql local fault conflict-commit=10% seed=7\n"
        "    dsql local fault drop=50%\n"
        "    dsql local fault clear",
    .operands_min = 1,
    .operands_max = DSQL_COMMAND_ARGS_MAX,
    .list_operands = list_operands,
    DSQL_COMMAND_OPTIONS(options),
    .reference = print_reference,
    .run = run_fault,
};

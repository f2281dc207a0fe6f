/* `dsql local env`: what a client of a running endpoint needs. */
#include "base/shown.h"
#include "cli/commands.h"
#include "cli/local_run.h"

static enum dsql_rc print(struct dsql_span answer, enum dsql_env_format format,
                          struct dsql_err *err)
{
    static char memory[DSQL_LOCAL_ENV_MAX];
    struct dsql_strbuf out;
    dsql_strbuf_init(&out, memory, sizeof(memory));
    dsql_local_env_write_here(&out, answer, format);
    enum dsql_rc rc = DSQL_OK;
    if (out.cut) /* half a line is none that a shell may see */
        rc = dsql_err_set(err, DSQL_INVALID, "the environment is longer than %d bytes",
                          DSQL_LOCAL_ENV_MAX);
    else
        (void)fwrite(out.ptr, 1, out.len, stdout);
    (void)fflush(stdout);
    explicit_bzero(memory, sizeof(memory));
    return rc;
}

static int run_env(const struct dsql_args *args)
{
    const char *name = dsql_args_get(args, "format");
    enum dsql_env_format format = DSQL_ENV_SHELL;
    struct dsql_strbuf answer;
    struct dsql_err err;
    if (name && !dsql_env_format_of(dsql_span_of(name), &format)) {
        (void)dsql_err_set(&err, DSQL_INVALID, "--format=%s is none of shell, json and dotenv",
                           dsql_shown_str(name).text);
        return dsql_complain(&err);
    }
    dsql_strbuf_init_heap(&answer, DSQL_CONTROL_ANSWER_MAX);
    enum dsql_rc rc = dsql_local_ask_for(args, DSQL_SPAN("env"), &answer, &err);
    if (!rc)
        rc = print(dsql_strbuf_span(&answer), format, &err);
    if (answer.ptr)
        explicit_bzero(answer.ptr, answer.len); /* the answer holds keys */
    dsql_strbuf_fini(&answer);
    return rc ? dsql_complain(&err) : DSQL_EXIT_OK;
}

static const struct dsql_option options[] = {
    DSQL_LOCAL_ASK_OPTIONS,
    {"format", 0, "FORMAT",
     "shell, json or dotenv (shell: lines for eval, quoted, whatever is in them)"},
};

const struct dsql_command dsql_cmd_local_env = {
    .name = "local env",
    .summary = "print the environment for clients of a local endpoint",
    .text =
        "Prints what a client needs, with a fresh token: PG* for PostgreSQL's own, CLUSTER_ENDPOINT, CLUSTER_USER and "
        "REGION for AWS's examples and connectors, AWS_* for its SDKs, and the endpoint's authority for OpenSSL, "
        "Node.js and the JVM. The host is the endpoint's own name if the file of hosts has it at 127.0.0.1, "
        "else localhost.\n"
        "\n"
        "    eval \"$(dsql local env --data DIR)\"\n"
        "    dsql local env --format dotenv >.env",
    DSQL_COMMAND_OPTIONS(options),
    .run = run_env,
};

/* `dsql local exec`: a command against an endpoint made for it. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/local_run.h"

/* In the child: the command with the endpoint's environment. */
__attribute__((noreturn)) static void become_command(const struct dsql_args *args, char *env)
{
    char *rest = NULL, *argv[DSQL_COMMAND_ARGS_MAX + 1];
    for (char *line = strtok_r(env, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        (void)putenv(line);
    /* A delay at the start is for fleets; no other process uses this endpoint. */
    (void)setenv("DSQL_STAGGERED_STARTUP", "false", 0);
    size_t n = 0;
    while (n < args->operand_count && (argv[n] = strdup(args->operands[n])))
        n++;
    argv[n] = NULL;
    if (n < args->operand_count || !argv[0])
        _exit(DSQL_EXIT_FAILED); /* out of memory */
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGINT, SIG_DFL);
    execvp(argv[0], argv);
    fprintf(stderr, "dsql: can't run %.100s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

static int run_exec(const struct dsql_args *args)
{
    static char memory[DSQL_LOCAL_ENV_MAX], told[DSQL_LOCAL_ENV_MAX];
    struct dsql_local_options options = {0};
    struct dsql_local local;
    struct dsql_err err;
    struct dsql_strbuf env, lines;
    int child_status = 0;
    enum dsql_rc rc = dsql_local_read_options(args, 0, &options, &err);
    if (rc) {
        dsql_local_options_fini(&options);
        return dsql_complain(&err);
    }
    dsql_local_prepare();
    (void)signal(SIGINT, SIG_IGN); /* Ctrl-C is for the command; we end when it does */
    rc = dsql_local_start(&local, &options, NULL, dsql_log_default(), &err);
    if (rc)
        return dsql_complain(&err);
    dsql_strbuf_init(&lines, told, sizeof(told));
    dsql_strbuf_init(&env, memory, sizeof(memory));
    rc = dsql_local_env(&local, &lines, &err);
    if (!rc)
        dsql_local_env_write_here(&env, dsql_strbuf_span(&lines), DSQL_ENV_PLAIN);
    if (!rc && env.cut)
        rc = dsql_err_set(&err, DSQL_INVALID, "the environment is longer than %d bytes",
                          DSQL_LOCAL_ENV_MAX);
    explicit_bzero(told, sizeof(told));
    pid_t child = rc ? -1 : fork();
    if (child == 0)
        become_command(args, memory);
    if (!rc)
        rc = child > 0 ? dsql_local_serve(&local, dsql_args_get(args, "metrics"), child,
                                          &child_status, &err)
                       : dsql_err_set(&err, DSQL_IO, "can't start a process: %s", strerror(errno));
    explicit_bzero(memory, sizeof(memory));
    dsql_local_stop(&local);
    if (rc)
        return dsql_complain(&err);
    return WIFEXITED(child_status) ? WEXITSTATUS(child_status) : 128 + WTERMSIG(child_status);
}

static const struct dsql_option exec_options[] = {
    DSQL_LOCAL_OPTIONS("port on 127.0.0.1 (0, which is any)"),
};

const struct dsql_command dsql_cmd_local_exec = {
    .name = "local exec",
    .operands = "-- COMMAND [ARGUMENT...]",
    .summary = "run a command against an endpoint made for it",
    .text =
        "Starts an endpoint as 'dsql local' does, runs the command with the environment that a "
        "PostgreSQL and AWS user expects (PGHOST, PGHOSTADDR, PGPORT, PGUSER, PGDATABASE, PGPASSWORD, PGSSLMODE, "
        "PGSSLROOTCERT, CLUSTER_ENDPOINT, AWS_REGION, AWS_ACCESS_KEY_ID and so on: all that 'dsql local env' prints), and "
        "ends with the command's status. Nothing is left behind. Unless it is set, DSQL_STAGGERED_STARTUP "
        "is false: a pool fills at once.\n"
        "\n"
        "    dsql local exec -- psql -c 'select 1'",
    .operands_min = 1,
    .operands_max = DSQL_COMMAND_ARGS_MAX,
    DSQL_COMMAND_OPTIONS(exec_options),
    .log_level = "error", /* the command's output is what the user wants to see */
    .run = run_exec,
};

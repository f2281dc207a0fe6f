/* `dsql doctor`: is everything in place to reach the cluster, and if not, what to do. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/shown.h"
#include "cli/commands.h"
#include "cli/doctor.h"

static void print_json_member(const char *name, const char *text, const char *after)
{
    printf("\"%s\": ", name);
    dsql_print_json(dsql_span_of(text));
    fputs(after, stdout);
}

static void say(struct dsql_doctor *doctor, enum dsql_diagnosis finding, const char *what,
                const char *todo)
{
    enum dsql_doctor_state state = dsql_diagnoses[finding].state;
    const char *check = dsql_diagnoses[finding].check, *name = dsql_doctor_state_name(state);
    size_t said = 0;
    for (size_t i = 0; i < DSQL_DOCTOR_STATES; i++)
        said += doctor->count[i];
    doctor->count[state]++;
    if (doctor->json) {
        fputs(said ? ",\n    {" : "\n    {", stdout);
        print_json_member("check", check, ", ");
        print_json_member("state", name, ", ");
        print_json_member("found", what, ", ");
        print_json_member("todo", todo, "}");
    } else {
        printf("%-4s  %-11s  %s\n", name, check, what);
        if (todo[0])
            printf("%-19s-> %s\n", "", todo);
    }
    (void)fflush(stdout); /* a step may take its time; what is known is on the screen */
}

void dsql_doctor_say(struct dsql_doctor *doctor, enum dsql_diagnosis finding, const char *fmt, ...)
{
    char what[DSQL_DOCTOR_TEXT_MAX];
    struct dsql_strbuf sb;
    va_list args;
    dsql_strbuf_init(&sb, what, sizeof(what));
    va_start(args, fmt);
    dsql_strbuf_vaddf(&sb, fmt, args);
    va_end(args);
    say(doctor, finding, what, dsql_diagnoses[finding].todo);
}

void dsql_doctor_say_error(struct dsql_doctor *doctor, enum dsql_diagnosis finding,
                           const struct dsql_err *err)
{
    say(doctor, finding, err->message, err->hint[0] ? err->hint : dsql_diagnoses[finding].todo);
}

/* An option stands for the setting of the same meaning, with all its rules. */
static enum dsql_rc take_options(const struct dsql_args *args, struct dsql_doctor *doctor,
                                 struct dsql_err *err)
{
    static const struct {
        const char *option, *variable;
    } rows[] = {{"endpoint", "DSQL_ENDPOINT"}, {"region", "DSQL_REGION"}, {"user", "DSQL_USER"}};
    for (size_t i = 0; i < DSQL_COUNT_OF(rows); i++) {
        const char *given = dsql_args_get(args, rows[i].option);
        if (given && setenv(rows[i].variable, given, 1) != 0)
            return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    }
    return dsql_args_duration(args, "timeout", DSQL_MS, DSQL_H, &doctor->timeout_ns, err);
}

static int run(const struct dsql_args *args)
{
    struct dsql_err err;
    struct dsql_doctor *doctor = calloc(1, sizeof(*doctor));
    if (!doctor) {
        (void)dsql_err_set(&err, DSQL_NO_MEMORY, "out of memory");
        return dsql_complain(&err);
    }
    doctor->timeout_ns = 10 * DSQL_S;
    doctor->json = dsql_args_has(args, "json");
    if (take_options(args, doctor, &err)) {
        free(doctor);
        return dsql_complain(&err);
    }
    (void)signal(SIGPIPE, SIG_IGN); /* of sockets; a closed standard output is seen at the end */
    dsql_config_load(&doctor->config, &doctor->report, (const char *const *)environ);
    doctor->ca_file = doctor->config.ca_file[0] ? doctor->config.ca_file : NULL;

    if (doctor->json)
        fputs("{\n  \"checks\": [", stdout);
    dsql_doctor_settings(doctor);
    dsql_doctor_limits(doctor);
    dsql_doctor_endpoint(doctor);
    dsql_doctor_network(doctor);
    dsql_doctor_login(doctor);
    dsql_doctor_budget(doctor);
    size_t failed = doctor->count[DSQL_DOCTOR_FAIL];
    size_t fine = doctor->count[DSQL_DOCTOR_OK], warned = doctor->count[DSQL_DOCTOR_WARN];
    if (doctor->json)
        printf("\n  ],\n  \"ok\": %zu, \"warnings\": %zu, \"failed\": %zu\n}\n", fine, warned,
               failed);
    else
        printf("%zu ok, %zu warnings, %zu failed\n", fine, warned, failed);
    free(doctor);
    return failed ? DSQL_EXIT_FAILED : DSQL_EXIT_OK;
}

static const struct dsql_option options[] = {
    {"endpoint", 0, "HOST", "the cluster's host name or 26-character id (DSQL_ENDPOINT)"},
    {"region", 0, "REGION", "AWS region, if the host name does not tell it (DSQL_REGION)"},
    {"user", 0, "ROLE", "the database role to connect as (DSQL_USER)"},
    {"timeout", 0, "DURATION", "how long each step may take (10s)"},
    {"json", 0, NULL, "print one JSON object for machines"},
};

const struct dsql_command dsql_cmd_doctor = {
    .name = "doctor",
    .summary = "check everything that a connection to the cluster needs",
    .text =
        "Checks settings and limits, the endpoint's name, DNS, TLS and its certificate, the AWS "
        "credentials and where they come from, the token, a real connection, this machine's "
        "clock, and the fleet's budget if there is one. One line each, ok, warn, FAIL or skip, "
        "with what to do about it.\n"
        "\n"
        "It opens two connections and changes nothing. Ends with 1 if a check failed. To see it at "
        "work without a cluster:\n"
        "\n"
        "    dsql local exec -- dsql doctor",
    DSQL_COMMAND_OPTIONS(options),
    .run = run,
};

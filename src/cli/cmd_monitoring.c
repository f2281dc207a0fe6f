/* `dsql monitoring`: what Grafana and Prometheus are given to watch processes with libdsql. */
#include <string.h>

#include "cli/commands.h"
#include "cli/monitoring.h"

#define RUNBOOK "docs/operations.md"

const struct dsql_command dsql_cmd_monitoring = {
    .name = "monitoring",
    .summary = "what Grafana and Prometheus are given to watch processes",
    .text = "Both are printed from the table of metrics, so they fit the version that prints them. "
            "docs/monitoring.md says how to set them up.",
};

static int run_dashboard(const struct dsql_args *args)
{
    struct dsql_err err;
    (void)args;
    return dsql_dashboard_print(stdout, &err) ? dsql_complain(&err) : DSQL_EXIT_OK;
}

const struct dsql_command dsql_cmd_monitoring_dashboard = {
    .name = "monitoring dashboard",
    .summary = "print a Grafana dashboard for its metrics",
    .text = "JSON to import into Grafana, or to put where it looks for dashboards. It asks for a "
            "Prometheus that scrapes /metrics of the processes.",
    .operand_words = "",
    .run = run_dashboard,
};

static int run_alerts(const struct dsql_args *args)
{
    struct dsql_err err;
    const char *runbook = dsql_args_get(args, "runbook");
    if (runbook && (runbook[0] == '\0' || strpbrk(runbook, " \t\n"))) {
        (void)dsql_err_set(&err, DSQL_INVALID, "--runbook is no URL and no path");
        return dsql_complain(&err);
    }
    return dsql_alerts_print(stdout, runbook ? runbook : RUNBOOK, &err) ? dsql_complain(&err)
                                                                        : DSQL_EXIT_OK;
}

static const struct dsql_option alert_options[] = {
    {"runbook", 0, "URL", "where the runbook is that alerts point to (" RUNBOOK ")"},
};

const struct dsql_command dsql_cmd_monitoring_alerts = {
    .name = "monitoring alerts",
    .summary = "print Prometheus alerts for its metrics",
    .text =
        "A file of rules for Prometheus. Each alert says what to do and names the section of the "
        "runbook that says more. The job that scrapes the processes is expected to be called "
        "'dsql'.",
    .operand_words = "",
    DSQL_COMMAND_OPTIONS(alert_options),
    .run = run_alerts,
};

/*
 * What an operator's monitoring is fed with, generated from tables (dashboard.def, alerts.def)
 * whose queries name metrics by their symbols.
 */
#ifndef DSQL_CLI_MONITORING_H
#define DSQL_CLI_MONITORING_H

#include <stdio.h>

#include "base/defs.h"

/* A Grafana dashboard, as JSON to import or to provision. */
DSQL_MUST_USE enum dsql_rc dsql_dashboard_print(FILE *out, struct dsql_err *err);

/* Prometheus alerting rules, as YAML. runbook: where docs/operations.md is for the reader. */
DSQL_MUST_USE enum dsql_rc dsql_alerts_print(FILE *out, const char *runbook, struct dsql_err *err);

#endif

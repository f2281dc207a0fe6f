/* The commands, one per file cmd_*.c. */
#ifndef DSQL_CLI_COMMANDS_H
#define DSQL_CLI_COMMANDS_H

#include "cli/command.h"

extern const struct dsql_command dsql_cmd_budget;
extern const struct dsql_command dsql_cmd_budget_release;
extern const struct dsql_command dsql_cmd_budget_repair;
extern const struct dsql_command dsql_cmd_budget_setup;
extern const struct dsql_command dsql_cmd_budget_status;
extern const struct dsql_command dsql_cmd_completion;
extern const struct dsql_command dsql_cmd_config;
extern const struct dsql_command dsql_cmd_doctor;
extern const struct dsql_command dsql_cmd_help;
extern const struct dsql_command dsql_cmd_local;
extern const struct dsql_command dsql_cmd_local_env;
extern const struct dsql_command dsql_cmd_local_exec;
extern const struct dsql_command dsql_cmd_local_fault;
extern const struct dsql_command dsql_cmd_local_record;
extern const struct dsql_command dsql_cmd_local_status;
extern const struct dsql_command dsql_cmd_monitoring;
extern const struct dsql_command dsql_cmd_monitoring_alerts;
extern const struct dsql_command dsql_cmd_monitoring_dashboard;
extern const struct dsql_command dsql_cmd_schema;
extern const struct dsql_command dsql_cmd_schema_apply;
extern const struct dsql_command dsql_cmd_schema_drop;
extern const struct dsql_command dsql_cmd_visibility;
extern const struct dsql_command dsql_cmd_visibility_check;
extern const struct dsql_command dsql_cmd_visibility_repair;
extern const struct dsql_command dsql_cmd_visibility_compact;
extern const struct dsql_command dsql_cmd_schema_verify;
extern const struct dsql_command dsql_cmd_schema_version;
extern const struct dsql_command dsql_cmd_sim;
extern const struct dsql_command dsql_cmd_sim_fuzz;
extern const struct dsql_command dsql_cmd_sim_list;
extern const struct dsql_command dsql_cmd_sim_plan;
extern const struct dsql_command dsql_cmd_sim_replay;
extern const struct dsql_command dsql_cmd_sim_run;
extern const struct dsql_command dsql_cmd_token;
extern const struct dsql_command dsql_cmd_proxy;
extern const struct dsql_command dsql_cmd_up;
extern const struct dsql_command dsql_cmd_version;

#endif

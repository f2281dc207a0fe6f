#include "cli/commands.h"

/* In the order of `dsql help`, one a line. */
/* clang-format off */
const struct dsql_command *const dsql_commands[] = {
    &dsql_cmd_up,
    &dsql_cmd_doctor,
    &dsql_cmd_local,
    &dsql_cmd_local_exec,
    &dsql_cmd_local_fault,
    &dsql_cmd_local_env,
    &dsql_cmd_local_status,
    &dsql_cmd_local_record,
    &dsql_cmd_schema,
    &dsql_cmd_schema_apply,
    &dsql_cmd_schema_verify,
    &dsql_cmd_schema_version,
    &dsql_cmd_schema_drop,
    &dsql_cmd_visibility,
    &dsql_cmd_visibility_check,
    &dsql_cmd_visibility_repair,
    &dsql_cmd_visibility_compact,
    &dsql_cmd_sim,
    &dsql_cmd_sim_run,
    &dsql_cmd_sim_list,
    &dsql_cmd_sim_plan,
    &dsql_cmd_sim_replay,
    &dsql_cmd_sim_fuzz,
    &dsql_cmd_budget,
    &dsql_cmd_budget_setup,
    &dsql_cmd_budget_status,
    &dsql_cmd_budget_release,
    &dsql_cmd_budget_repair,
    &dsql_cmd_monitoring,
    &dsql_cmd_monitoring_dashboard,
    &dsql_cmd_monitoring_alerts,
    &dsql_cmd_token,
    &dsql_cmd_config,
    &dsql_cmd_help,
    &dsql_cmd_version,
    &dsql_cmd_completion,
};
/* clang-format on */
const size_t dsql_command_count = DSQL_COUNT_OF(dsql_commands);

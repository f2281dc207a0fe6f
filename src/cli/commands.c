#include "cli/commands.h"

const struct dsql_command *const dsql_commands[] = {
    &dsql_cmd_local,        &dsql_cmd_local_exec, &dsql_cmd_local_fault, &dsql_cmd_local_env,
    &dsql_cmd_local_status, &dsql_cmd_token,      &dsql_cmd_config,      &dsql_cmd_help,
    &dsql_cmd_version,      &dsql_cmd_completion,
};
const size_t dsql_command_count = DSQL_COUNT_OF(dsql_commands);

/* `dsql sim`: the fleet on paper, as a group of commands. */
#include "cli/commands.h"

const struct dsql_command dsql_cmd_sim = {
    .name = "sim",
    .summary = "the fleet on paper",
    .text =
        "Runs whole fleets in virtual time, with the code of the pool and of the budget, before "
        "they are deployed. docs/capacity.md tells how to read the results.\n"
        "\n"
        "    dsql sim plan --services 44 --conns 100\n"
        "    dsql sim run mass-drop --html report.html\n"
        "    dsql sim list --show mass-drop > my.yaml\n"
        "    dsql sim replay pool.trace\n"
        "    dsql sim fuzz --seconds 60",
};

/* `dsql sim list`: the scenarios that come with the program, and the fields of one. */
#include "base/shown.h"
#include "cli/commands.h"
#include "sim/library.h"
#include "sim/scenario.h"

static const struct dsql_option options[] = {
    {"fields", 0, NULL, "the fields of a scenario instead: types, ranges, what they mean"},
    {"show", 0, "NAME", "the text of one, to begin an own one with"},
};

static int run(const struct dsql_args *args)
{
    struct dsql_err err;
    const char *name = dsql_args_get(args, "show");
    if (dsql_args_has(args, "fields")) {
        dsql_shape_describe(&dsql_sim_scenario_shape, stdout);
        return DSQL_EXIT_OK;
    }
    if (!name) {
        dsql_sim_library_about(stdout);
        return DSQL_EXIT_OK;
    }
    const char *text = dsql_sim_library_find(name);
    if (!text) {
        (void)dsql_err_set(&err, DSQL_NOT_FOUND, "no scenario '%s' comes with this program",
                           dsql_shown_str(name).text);
        dsql_sim_library_hint(name, &err);
        return dsql_complain(&err);
    }
    fputs(text, stdout);
    return DSQL_EXIT_OK;
}

const struct dsql_command dsql_cmd_sim_list = {
    .name = "sim list",
    .summary = "the scenarios that come with this program",
    .text =
        "Lists them with what each shows. An own one begins best with the text of one of these: "
        "'dsql sim list --show mass-drop > my.yaml'.",
    .operand_words = "",
    DSQL_COMMAND_OPTIONS(options),
    .run = run,
};

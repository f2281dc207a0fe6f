#include "sim/library.h"

#include "base/nearest.h"
#include "sim/library_files.h"
#include "sim/scenario.h"

const char *dsql_sim_library_find(const char *name)
{
    for (const struct dsql_sim_library_file *file = dsql_sim_library_files; file->name; file++) {
        if (strcmp(file->name, name) == 0)
            return (const char *)file->text;
    }
    return NULL;
}

void dsql_sim_library_hint(const char *typed, struct dsql_err *err)
{
    struct dsql_nearest nearest = {.typed = dsql_span_of(typed)};
    for (const struct dsql_sim_library_file *file = dsql_sim_library_files; file->name; file++)
        dsql_nearest_see(&nearest, file->name);
    if (nearest.name)
        dsql_err_hint(err, "did you mean '%s'?", nearest.name);
    else
        dsql_err_hint(err, "'dsql sim list' names those that come with this program");
}

void dsql_sim_library_list(FILE *out)
{
    for (const struct dsql_sim_library_file *file = dsql_sim_library_files; file->name; file++)
        fprintf(out, "%s ", file->name);
}

void dsql_sim_library_about(FILE *out)
{
    for (const struct dsql_sim_library_file *file = dsql_sim_library_files; file->name; file++) {
        struct dsql_sim_scenario scenario;
        struct dsql_err err;
        if (dsql_sim_scenario_read(dsql_span_of((const char *)file->text), file->name, &scenario,
                                   &err) != DSQL_OK) {
            fprintf(out, "%-18s %s\n", file->name, err.message);
            continue;
        }
        fprintf(out, "%-18s %s\n", file->name, scenario.about);
        dsql_sim_scenario_fini(&scenario);
    }
}

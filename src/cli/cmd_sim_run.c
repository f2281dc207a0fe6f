/* `dsql sim run`: scenarios, one after the other; what held and what did not. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/shown.h"
#include "cli/commands.h"
#include "cli/trace_file.h"
#include "sim/library.h"
#include "sim/origin.h"
#include "sim/report.h"

enum { SCENARIO_MAX = 1 << 20 };

static const struct dsql_option options[] = {
    {"seed", 's', "N", "where randomness begins; default: the scenario's own"},
    {"seeds", 0, "N", "run each scenario with so many seeds, one after the other; default: 1"},
    {"csv", 0, "FILE", "write a row for each sample of the last run"},
    {"html", 0, "FILE", "write a page with charts of the last run"},
    {"json", 0, NULL, "one JSON object a run instead of the summary"},
    {"from-trace", 0, "FILE", "begin where a recorded pool was, instead of a scenario"},
    {"at", 0, "TIME", "so long after the recording began; default: at its last snapshot"},
};

/* The text of a file, to be freed. */
static enum dsql_rc read_file(const char *path, char **text, struct dsql_err *err)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        (void)dsql_err_set(err, DSQL_NOT_FOUND, "no scenario '%s': %s", dsql_shown_str(path).text,
                           strerror(errno));
        dsql_sim_library_hint(path, err);
        return DSQL_NOT_FOUND;
    }
    char *memory = malloc(SCENARIO_MAX + 1);
    size_t len = memory ? fread(memory, 1, SCENARIO_MAX + 1, file) : 0;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (!memory)
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory for %s", path);
    if (failed || len > SCENARIO_MAX) {
        free(memory);
        return dsql_err_set(err, DSQL_INVALID, "%s: %s", dsql_shown_str(path).text,
                            failed ? "can't be read" : "larger than 1 MiB: this is no scenario");
    }
    memory[len] = '\0';
    *text = memory;
    return DSQL_OK;
}

static enum dsql_rc load(const char *name, struct dsql_sim_scenario *scenario, struct dsql_err *err)
{
    const char *shipped = dsql_sim_library_find(name);
    char *text = NULL;
    if (shipped)
        return dsql_sim_scenario_read(dsql_span_of(shipped), name, scenario, err);
    enum dsql_rc rc = read_file(name, &text, err);
    if (rc)
        return rc;
    assert(text); /* read_file() succeeded */
    rc = dsql_sim_scenario_read(dsql_span_of(text), name, scenario, err);
    free(text);
    if (!rc && !scenario->name[0])
        (void)snprintf(scenario->name, sizeof(scenario->name), "%s", name);
    return rc;
}

static enum dsql_rc write_file(const char *path, const struct dsql_sim_world *world,
                               void (*print)(const struct dsql_sim_world *world, FILE *out),
                               struct dsql_err *err)
{
    FILE *file = fopen(path, "we");
    if (file)
        print(world, file);
    if (!file || ferror(file) || fclose(file) != 0)
        return dsql_err_set(err, DSQL_IO, "%s: %s", path, strerror(errno));
    return DSQL_OK;
}

static void show_progress(const struct dsql_sim_world *world, bool on_terminal)
{
    if (on_terminal) {
        fprintf(stderr, "\r%s: %3lld %% of %lld minutes", world->scenario->name,
                (long long)(world->kernel.now.ns * 100 / world->scenario->duration_ns),
                (long long)(world->scenario->duration_ns / DSQL_M));
    }
}

/* Found out before the run, not after it. */
static enum dsql_rc try_file(const char *path, struct dsql_err *err)
{
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (path && !file)
        return dsql_err_set(err, DSQL_IO, "%s: %s", dsql_shown_str(path).text, strerror(errno));
    if (file)
        (void)fclose(file);
    return DSQL_OK;
}

static enum dsql_rc run_one(const struct dsql_args *args, const struct dsql_sim_scenario *scenario,
                            uint64_t seed, bool *passed, struct dsql_err *err)
{
    bool on_terminal = isatty(STDERR_FILENO) == 1;
    struct dsql_sim_world world;
    enum dsql_rc rc = dsql_sim_world_init(&world, scenario, seed, err);
    if (rc)
        return rc;
    while (dsql_sim_world_advance(&world, scenario->duration_ns / 50 + 1))
        show_progress(&world, on_terminal);
    if (on_terminal)
        fputs("\r\033[K", stderr);
    *passed = world.checks.failure_count == 0;
    if (world.kernel.no_memory)
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "no memory for '%s'", scenario->name);
    else if (dsql_args_has(args, "json"))
        dsql_sim_summary_json(&world, stdout);
    else
        dsql_sim_summary(&world, stdout);
    const char *csv = dsql_args_get(args, "csv"), *html = dsql_args_get(args, "html");
    if (!rc && csv)
        rc = write_file(csv, &world, dsql_sim_csv, err);
    if (!rc && html)
        rc = write_file(html, &world, dsql_sim_html, err);
    dsql_sim_world_fini(&world);
    return rc;
}

/* Words and points before a '=': a setting. What else may be a file's name. */
static bool is_setting(const char *operand)
{
    size_t len = strspn(operand, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.");
    return len > 0 && operand[0] != '.' && operand[len] == '=';
}

static enum dsql_rc change(const struct dsql_args *args, struct dsql_sim_scenario *scenario,
                           const char *name, struct dsql_err *err)
{
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < args->operand_count && !rc; i++)
        if (is_setting(args->operands[i]))
            rc = dsql_sim_scenario_set(scenario, args->operands[i], err);
    return rc ? rc : dsql_sim_scenario_check(scenario, name, err);
}

struct seeds {
    int64_t first, count; /* first -1: the scenario's own */
    bool passed;          /* all of them so far */
};

static enum dsql_rc run_changed(const struct dsql_args *args, const char *name,
                                struct dsql_sim_scenario *scenario, struct seeds *seeds,
                                struct dsql_err *err)
{
    enum dsql_rc rc = change(args, scenario, name, err);
    int64_t first = seeds->first >= 0 ? seeds->first : scenario->seed;
    for (int64_t i = 0; i < seeds->count && !rc; i++) {
        bool passed = false;
        rc = run_one(args, scenario, (uint64_t)(first + i), &passed, err);
        seeds->passed = seeds->passed && passed;
    }
    return rc;
}

static enum dsql_rc run_scenario(const struct dsql_args *args, const char *name,
                                 struct seeds *seeds, struct dsql_err *err)
{
    struct dsql_sim_scenario scenario;
    enum dsql_rc rc = load(name, &scenario, err);
    if (rc)
        return rc;
    rc = run_changed(args, name, &scenario, seeds, err);
    dsql_sim_scenario_fini(&scenario);
    return rc;
}

static enum dsql_rc run_trace(const struct dsql_args *args, const char *path, struct seeds *seeds,
                              struct dsql_err *err)
{
    struct dsql_sim_scenario scenario;
    struct dsql_sim_origin origin;
    struct dsql_span file;
    int64_t at_ns = -1;
    enum dsql_rc rc = dsql_args_duration(args, "at", 0, INT64_C(365) * 24 * DSQL_H, &at_ns, err);
    if (!rc)
        rc = dsql_trace_file_map(path, &file, err);
    if (rc)
        return rc;
    rc = dsql_sim_origin_read(file, path, at_ns, &origin, &scenario, err);
    dsql_trace_file_unmap(file);
    if (rc) {
        dsql_trace_file_blame(path, err);
        return rc;
    }
    rc = run_changed(args, path, &scenario, seeds, err);
    dsql_sim_scenario_fini(&scenario);
    dsql_sim_origin_fini(&origin);
    return rc;
}

static enum dsql_rc run_all(const struct dsql_args *args, struct seeds *seeds, struct dsql_err *err)
{
    const char *trace = dsql_args_get(args, "from-trace");
    size_t scenarios = 0;
    for (size_t i = 0; i < args->operand_count; i++)
        scenarios += !is_setting(args->operands[i]);
    if (trace && scenarios > 0)
        return dsql_err_set(err, DSQL_INVALID, "a recording or scenarios, not both");
    if (!trace && scenarios == 0)
        return dsql_err_set(err, DSQL_INVALID,
                            "no scenario: 'dsql sim list' names those there are");
    if (!trace && dsql_args_has(args, "at"))
        return dsql_err_set(err, DSQL_INVALID,
                            "--at is a moment of a recording: --from-trace FILE");
    if (trace)
        return run_trace(args, trace, seeds, err);
    enum dsql_rc rc = DSQL_OK;
    for (size_t i = 0; i < args->operand_count && !rc; i++)
        if (!is_setting(args->operands[i]))
            rc = run_scenario(args, args->operands[i], seeds, err);
    return rc;
}

static int run(const struct dsql_args *args)
{
    struct dsql_err err;
    struct seeds seeds = {-1, 1, true};
    if (dsql_args_number(args, "seed", 0, INT64_MAX, &seeds.first, &err) ||
        dsql_args_number(args, "seeds", 1, INT64_MAX, &seeds.count, &err))
        return dsql_complain(&err);
    if (try_file(dsql_args_get(args, "csv"), &err) || try_file(dsql_args_get(args, "html"), &err))
        return dsql_complain(&err);
    if (run_all(args, &seeds, &err))
        return dsql_complain(&err);
    return seeds.passed ? DSQL_EXIT_OK : DSQL_EXIT_FAILED;
}

const struct dsql_command dsql_cmd_sim_run = {
    .name = "sim run",
    .operands = "[SCENARIO...] [FIELD=VALUE...]",
    .summary = "run a fleet on paper and check what must hold",
    .text = "Runs scenarios in virtual time: every process of the fleet runs the code of the "
            "production pool and budget, against a model of the cluster and of DynamoDB. SCENARIO "
            "is a YAML file, or the name of one that comes with this program ('dsql sim list'). "
            "FIELD=VALUE changes a field of all of them, as in pool.targetReady=80 or "
            "services.workload.hold=20ms, which is changed in each service ('dsql sim list "
            "--fields').\n\n"
            "With --from-trace the fleet is one process that begins where a pool was that recorded "
            "with DSQL_TRACE: with the same connections, at the same age, and with connects, rate "
            "and callers as far as the recording tells. It runs for as long as the recording went "
            "on from there, and shows what was recorded beside what it did; with FIELD=VALUE it "
            "answers what another setting would have done. That is a simulation, and it says so; "
            "'dsql sim replay' shows what the pool itself decided. A recording that is damaged, or "
            "made by a program that decides otherwise, is refused.\n\n"
            "Ends with 1 if an assertion failed, and says which, when, and with which seed. The "
            "same seed gives the same run, to the byte.",
    .operands_min = 0,
    .operands_max = DSQL_COMMAND_ARGS_MAX,
    .list_operands = dsql_sim_library_list,
    DSQL_COMMAND_OPTIONS(options),
    .run = run,
};

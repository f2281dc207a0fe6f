/* `dsql sim fuzz`: random worlds, and what must hold in every one of them. */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/shown.h"
#include "cli/commands.h"
#include "sim/draw.h"
#include "sim/report.h"

enum { DAY_S = 86400 };

static const struct dsql_option options[] = {
    {"seconds", 0, "N", "for how long; default: 10"},
    {"worlds", 0, "N", "so many worlds instead, however long that takes"},
    {"seed", 's', "N", "where the drawing begins; default: another one each time"},
    {"case", 0, "SEED", "this world alone"},
    {"show", 0, NULL, "with --case: print it as a scenario instead of running it"},
};

struct tally {
    uint64_t worlds, events, connects;
};

/* Runs one; *passed tells whether all held. A violation is reported on standard output. */
static enum dsql_rc run_case(uint64_t seed, bool summary, bool *passed, struct tally *tally,
                             struct dsql_err *err)
{
    struct dsql_sim_scenario scenario;
    struct dsql_sim_world world;
    struct dsql_sim_counts counts;
    enum dsql_rc rc = dsql_sim_draw(seed, &scenario, err);
    if (rc)
        return rc;
    rc = dsql_sim_world_init(&world, &scenario, (uint64_t)scenario.seed, err);
    if (rc) {
        dsql_sim_scenario_fini(&scenario);
        return rc;
    }
    while (dsql_sim_world_advance(&world, DSQL_H))
        continue;
    if (world.kernel.no_memory)
        rc =
            dsql_err_set(err, DSQL_NO_MEMORY, "no memory for world %llu", (unsigned long long)seed);
    const struct dsql_sim_checks *checks = &world.checks;
    *passed = checks->failure_count == 0;
    if (!rc && summary)
        dsql_sim_summary(&world, stdout);
    for (size_t i = 0; i < checks->failure_count && i < DSQL_SIM_FAILURES_MAX && !rc && !summary;
         i++)
        printf("FAILED %s at %.3f s: %s\n", checks->failures[i].check,
               (double)checks->failures[i].at.ns / (double)DSQL_S, checks->failures[i].text);
    if (!*passed && !rc)
        printf("again: dsql sim fuzz --case %llu\n", (unsigned long long)seed);
    dsql_sim_world_counts(&world, &counts);
    tally->worlds++;
    tally->events += world.kernel.happened;
    tally->connects += counts.attempts;
    dsql_sim_world_fini(&world);
    dsql_sim_scenario_fini(&scenario);
    return rc;
}

static enum dsql_rc show_case(uint64_t seed, struct dsql_err *err)
{
    struct dsql_sim_scenario scenario;
    enum dsql_rc rc = dsql_sim_draw(seed, &scenario, err);
    if (rc)
        return rc;
    dsql_shape_print(&dsql_sim_scenario_shape, &scenario, stdout);
    dsql_sim_scenario_fini(&scenario);
    return DSQL_OK;
}

static enum dsql_rc search(uint64_t seed, int64_t seconds, int64_t worlds, bool *passed,
                           struct dsql_err *err)
{
    bool on_terminal = isatty(STDERR_FILENO) == 1;
    struct dsql_mono end = dsql_mono_add(dsql_clock_mono(&dsql_clock_system), seconds * DSQL_S);
    struct dsql_rng rng = dsql_rng_seeded(seed);
    struct tally tally = {0};
    enum dsql_rc rc = DSQL_OK;
    *passed = true;
    while (*passed && !rc &&
           (worlds > 0 ? tally.worlds < (uint64_t)worlds
                       : dsql_mono_before(dsql_clock_mono(&dsql_clock_system), end))) {
        /* Halved: it has to be one that --case can read. */
        rc = run_case(dsql_rng_next(&rng) >> 1, false, passed, &tally, err);
        if (on_terminal && tally.worlds % 10 == 0)
            fprintf(stderr, "\r%llu worlds", (unsigned long long)tally.worlds);
    }
    if (on_terminal)
        fputs("\r\033[K", stderr);
    if (!rc)
        printf("%llu worlds from seed %llu: %llu events, %llu connects; %s\n",
               (unsigned long long)tally.worlds, (unsigned long long)seed,
               (unsigned long long)tally.events, (unsigned long long)tally.connects,
               *passed ? "everything held" : "the last one broke a rule");
    return rc;
}

static int run(const struct dsql_args *args)
{
    struct dsql_err err;
    struct dsql_rng os = dsql_rng_from_os();
    struct tally tally = {0};
    int64_t seconds = 10, worlds = 0, seed = (int64_t)(dsql_rng_next(&os) >> 32), only = -1;
    bool passed = true;
    enum dsql_rc rc = dsql_args_number(args, "seconds", 0, DAY_S, &seconds, &err);
    if (!rc)
        rc = dsql_args_number(args, "worlds", 0, INT64_MAX, &worlds, &err);
    if (!rc)
        rc = dsql_args_number(args, "seed", 0, INT64_MAX, &seed, &err);
    if (!rc)
        rc = dsql_args_number(args, "case", 0, INT64_MAX, &only, &err);
    if (!rc && dsql_args_has(args, "show") && only < 0)
        rc = dsql_err_set(&err, DSQL_INVALID, "--show goes with --case");
    if (!rc) {
        if (dsql_args_has(args, "show"))
            rc = show_case((uint64_t)only, &err);
        else if (only >= 0)
            rc = run_case((uint64_t)only, true, &passed, &tally, &err);
        else
            rc = search((uint64_t)seed, seconds, worlds, &passed, &err);
    }
    if (rc)
        return dsql_complain(&err);
    return passed ? DSQL_EXIT_OK : DSQL_EXIT_FAILED;
}

const struct dsql_command dsql_cmd_sim_fuzz = {
    .name = "sim fuzz",
    .summary = "random fleets in random trouble: what must always hold",
    .text = "Draws worlds: fleets, budgets, clocks, and trouble of every kind, many at once. In "
            "each, the fleet keeps its cap and its rate, connections their guard window, callers "
            "their order, and, if it fits, it is whole again when the trouble is over.\n\n"
            "At the first world in which something does not hold it ends with 1 and prints what, "
            "when, and the command that runs this one world again.",
    .operand_words = "",
    DSQL_COMMAND_OPTIONS(options),
    .run = run,
};

/* What a run says about itself: a summary for people, JSON and CSV for machines. */
#ifndef DSQL_SIM_REPORT_H
#define DSQL_SIM_REPORT_H

#include <stdio.h>

#include "sim/world.h"

/* Per service and in all, then each assertion that failed, or that all held. */
void dsql_sim_summary(const struct dsql_sim_world *world, FILE *out);
void dsql_sim_summary_json(const struct dsql_sim_world *world, FILE *out);

/* A row for each sample. */
void dsql_sim_csv(const struct dsql_sim_world *world, FILE *out);

/* One page with charts, complete in itself. */
void dsql_sim_html(const struct dsql_sim_world *world, FILE *out);

/* What a run that begins with a recording says of that; the scenario has an origin. */
void dsql_sim_origin_summary(const struct dsql_sim_world *world, FILE *out);
void dsql_sim_origin_json(const struct dsql_sim_world *world, struct dsql_strbuf *sb);
void dsql_sim_origin_html(const struct dsql_sim_world *world, FILE *out);

/* A service as a whole, at the end. */
struct dsql_sim_service_sum {
    int64_t processes, running, target, open;
    uint64_t opens, checkouts, empties, late_empties; /* late: after the first filling */
    int64_t slowest_ns; /* of a process from start to target; -1: one never got there */
};
void dsql_sim_service_add_up(const struct dsql_sim_world *world, size_t service,
                             struct dsql_sim_service_sum *sum);

/* What an assertion of the scenario demands, in a person's words, and what the run showed of it. */
struct dsql_sim_assertion {
    const char *check; /* "assertZeroEmptyEvents" */
    bool held;
    char text[300];
};
enum { DSQL_SIM_ASSERTIONS_MAX = 9 };
/* The assertions that the scenario makes, in its order; returns how many. */
size_t dsql_sim_assertions(const struct dsql_sim_world *world,
                           struct dsql_sim_assertion list[DSQL_SIM_ASSERTIONS_MAX]);

/* Why this fleet cannot fit whatever the pools do, and what would; empty if it can. */
void dsql_sim_misfit(const struct dsql_sim_scenario *scenario, struct dsql_strbuf *sb);

#endif

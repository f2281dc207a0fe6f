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

/* Why this fleet cannot fit whatever the pools do, and what would; empty if it can. */
void dsql_sim_misfit(const struct dsql_sim_scenario *scenario, struct dsql_strbuf *sb);

#endif

/* A replayed recording as one page with charts. */
#ifndef DSQL_SIM_REPLAY_PAGE_H
#define DSQL_SIM_REPLAY_PAGE_H

#include <stdio.h>

#include "sim/replay.h"

/* `replay` is what dsql_sim_replay() said of the file, up to its end, its damage or its difference.
 */
DSQL_MUST_USE enum dsql_rc dsql_sim_replay_page(struct dsql_span file, const char *title,
                                                const struct dsql_sim_replay *replay, FILE *out,
                                                struct dsql_err *err);

#endif

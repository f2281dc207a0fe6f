/* Random worlds, for `dsql sim fuzz`: a fleet, its budget, its clocks, and trouble of every kind.
 */
#ifndef DSQL_SIM_DRAW_H
#define DSQL_SIM_DRAW_H

#include "sim/scenario.h"

/*
 * The same seed draws the same scenario. It asserts what must hold in every world: the cap, the
 * rate, the guard window, the order of those who wait; and, if the fleet fits its budget, that it
 * is whole again some time after the last trouble. To be freed with dsql_sim_scenario_fini().
 */
DSQL_MUST_USE enum dsql_rc dsql_sim_draw(uint64_t seed, struct dsql_sim_scenario *scenario,
                                         struct dsql_err *err);

#endif

/* The scenarios that come with the program: the files of scenarios/, carried in the binary. */
#ifndef DSQL_SIM_LIBRARY_H
#define DSQL_SIM_LIBRARY_H

#include <stdio.h>

#include "dsql/err.h"

/* The text of one, or NULL. */
const char *dsql_sim_library_find(const char *name);

/* For a name that is none of them, the hint which one may be meant or where they are listed. */
void dsql_sim_library_hint(const char *typed, struct dsql_err *err);

/* Lists the scenarios: list() their names, each with a blank behind it, about() also what they
 * show. */
void dsql_sim_library_list(FILE *out);
void dsql_sim_library_about(FILE *out);

#endif

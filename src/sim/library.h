/* The scenarios that come with the program: the files of scenarios/, carried in the binary. */
#ifndef DSQL_SIM_LIBRARY_H
#define DSQL_SIM_LIBRARY_H

#include <stdio.h>

/* The text of one, or NULL. */
const char *dsql_sim_library_find(const char *name);

/* Their names, each with a blank behind it; their names and what they show. */
void dsql_sim_library_list(FILE *out);
void dsql_sim_library_about(FILE *out);

#endif

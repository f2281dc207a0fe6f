/* The table that the build makes of scenarios/ (cmake/scenarios.cmake). */
#ifndef DSQL_SIM_LIBRARY_FILES_H
#define DSQL_SIM_LIBRARY_FILES_H

struct dsql_sim_library_file {
    const char *name;
    const unsigned char *text; /* terminated */
};

extern const struct dsql_sim_library_file dsql_sim_library_files[]; /* ends with a NULL name */

#endif

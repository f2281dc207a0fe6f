/*
 * The version of libdsql. These three numbers are the one place it is written: the build reads them
 * from here for the SONAME, the pkg-config file, the CMake package and `dsql version`.
 */
#ifndef DSQL_VERSION_H
#define DSQL_VERSION_H

#include "dsql/defs.h"

#define DSQL_VERSION_MAJOR 0
#define DSQL_VERSION_MINOR 1
#define DSQL_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library linked at run time, as "major.minor.patch". Static storage. */
DSQL_API const char *dsql_version(void);

#ifdef __cplusplus
}
#endif
#endif

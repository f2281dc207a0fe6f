/* What makes a configuration valid, in one place for the property test and the fuzz target. */
#ifndef DSQL_TESTS_CONFIG_CHECK_H
#define DSQL_TESTS_CONFIG_CHECK_H

#include "config/config.h"

/* NULL if the configuration keeps every promise of settings.def and rules.c; else which it breaks.
 */
const char *config_check(const struct dsql_config *config, const struct dsql_config_report *report);

#endif

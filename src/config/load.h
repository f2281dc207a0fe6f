/* Between the files of this folder: how a rule changes a value and says so. */
#ifndef DSQL_CONFIG_LOAD_H
#define DSQL_CONFIG_LOAD_H

#include "config/config.h"

struct dsql_config_loading {
    struct dsql_config *config;
    struct dsql_config_report *report;
};

/* Adds a finding; the message starts with the variable's name. */
void dsql_config_find(struct dsql_config_loading *loading, enum dsql_finding_kind kind,
                      struct dsql_span variable, const char *fmt, ...) DSQL_PRINTF(4, 5);

/* Whether the user chose the value, so that changing it is worth a word. */
bool dsql_config_is_chosen(const struct dsql_config_loading *loading, enum dsql_setting setting);

/* Everything that depends on more than one setting. */
void dsql_config_apply_rules(struct dsql_config_loading *loading);

#endif

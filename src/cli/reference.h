/* The references that `dsql help` prints: settings, metrics, log events; plain or as Markdown. */
#ifndef DSQL_CLI_REFERENCE_H
#define DSQL_CLI_REFERENCE_H

#include "cli/command.h"

struct dsql_topic {
    const char *name;
    const char *summary; /* "every setting" */
    void (*plain)(FILE *out);
    void (*markdown)(FILE *out);
};

extern const struct dsql_topic dsql_topics[];
extern const size_t dsql_topic_count;

void dsql_reference_config(FILE *out);

/* Prints text as it must stand in a cell of a Markdown table. */
void dsql_reference_cell(FILE *out, const char *text);

#endif

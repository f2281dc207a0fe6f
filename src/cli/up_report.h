/* What `dsql up` prints: a line for each second, and at the end a summary for people or machines.
 */
#ifndef DSQL_CLI_UP_REPORT_H
#define DSQL_CLI_UP_REPORT_H

#include <stdio.h>

#include "cli/status.h"
#include "cli/up_work.h"

/* No progress line is longer, its end not counted. */
enum { DSQL_UP_LINE_MAX = 79 };

void dsql_up_print_header(FILE *out);
void dsql_up_print_second(FILE *out, int64_t second, const struct dsql_status_sample *sample);

struct dsql_up_summary {
    const char *endpoint, *url; /* url: NULL if there is no status page */
    int64_t connections, threads, accounts;
    int64_t worked_ns; /* how long the threads worked */
    double rate;
    int64_t burst;
    struct dsql_status_totals totals;
    struct dsql_up_outcome outcome;
    bool interrupted;
};

void dsql_up_print_summary(FILE *out, const struct dsql_up_summary *summary);
void dsql_up_print_json(FILE *out, const struct dsql_up_summary *summary);

/* Whether the run shows that all is well: something was committed, nothing failed, no sum was
 * wrong. */
bool dsql_up_is_good(const struct dsql_up_outcome *outcome);

#endif

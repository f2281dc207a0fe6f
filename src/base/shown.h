/*
 * Text from outside made fit for one line of a message: what is not printable ASCII becomes '?', so
 * that no line is broken and no terminal is steered, and what is long is cut and ends in "...".
 *
 *     dsql_err_set(err, DSQL_INVALID, "'%s' is no command", dsql_shown(word).text);
 */
#ifndef DSQL_BASE_SHOWN_H
#define DSQL_BASE_SHOWN_H

#include "base/span.h"

enum { DSQL_SHOWN_MAX = 128 }; /* bytes of the original that are shown */

struct dsql_shown {
    char text[DSQL_SHOWN_MAX + sizeof("...")];
};

struct dsql_shown dsql_shown(struct dsql_span s);

static inline struct dsql_shown dsql_shown_str(const char *text)
{
    return dsql_shown(dsql_span_of(text));
}

#endif

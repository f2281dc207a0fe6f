/* For "did you mean": the name nearest to what was typed, of those it is shown. */
#ifndef DSQL_BASE_NEAREST_H
#define DSQL_BASE_NEAREST_H

#include "base/span.h"

struct dsql_nearest {
    struct dsql_span typed;
    const char *name; /* NULL while none is near */
    size_t distance;
};

void dsql_nearest_see(struct dsql_nearest *nearest, const char *name);

#endif

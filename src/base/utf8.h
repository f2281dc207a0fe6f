/* Telling UTF-8 from other bytes: what we print must be valid, whatever we were given. */
#ifndef DSQL_BASE_UTF8_H
#define DSQL_BASE_UTF8_H

#include "base/span.h"

/* The length of the well-formed UTF-8 character s begins with; 0 if it does not begin with one. */
size_t dsql_utf8_len(struct dsql_span s);

#endif

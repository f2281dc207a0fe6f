/*
 * The one way AWS writes a moment in a signature: ISO 8601 basic, UTC, whole seconds, such as
 * 20240827T000000Z. Its first eight characters are the day of a credential scope.
 */
#ifndef DSQL_AWS_AMZ_TIME_H
#define DSQL_AWS_AMZ_TIME_H

#include "base/time.h"

enum {
    DSQL_AMZ_TIME_LEN = 16,
    DSQL_AMZ_TIME_SIZE = DSQL_AMZ_TIME_LEN + 1, /* with the terminator */
    DSQL_AMZ_DAY_LEN = 8,
};

/* Fractions of a second are dropped, towards the past. */
void dsql_amz_time_format(char text[DSQL_AMZ_TIME_SIZE], struct dsql_wall t);

/* Accepts exactly what dsql_amz_time_format() writes: no other form, no 30th of February, no leap
 * second, no year that a dsql_wall cannot hold. Otherwise false, and *t is untouched. */
bool dsql_amz_time_parse(struct dsql_span text, struct dsql_wall *t);

/* The extended form, in which credentials say when they expire: 2024-08-27T00:00:00Z, with a
 * fraction of the second (dropped) or with +hh:mm instead of the Z. Otherwise false. */
bool dsql_amz_time_parse_iso(struct dsql_span text, struct dsql_wall *t);

#endif

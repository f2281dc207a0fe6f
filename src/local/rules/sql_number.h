/*
 * Numbers as PostgreSQL 16 writes them and 15 does not: hexadecimal, octal and binary integers, and
 * underscores between digits.
 */
#ifndef DSQL_LOCAL_SQL_NUMBER_H
#define DSQL_LOCAL_SQL_NUMBER_H

#include "base/strbuf.h"

enum { DSQL_SQL_DIGITS_MAX = 1024 }; /* of a number in another base than ten */

/*
 * The number at the beginning of the text, which begins with a digit. False if 15 reads it as 16
 * does, or if it is none: then nothing is added. Else *len is how long it is and *decimal gets it
 * as 15 writes it.
 */
bool dsql_sql_number(struct dsql_span text, size_t *len, struct dsql_strbuf *decimal);

#endif

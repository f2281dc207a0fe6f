/*
 * What stands in the keys of visibility: buckets, and the values of postings. Writes and queries
 * use the same functions, so that a query looks for what a write left. Sans I/O, without memory of
 * its own.
 *
 * A posting's value is a text that sorts, byte by byte, as the value does:
 *   KEYWORD, a member of a list, a word of a TEXT: itself, cut to DSQL_VISIBILITY_VALUE_MAX bytes
 *   INT: 16 hexadecimal digits of the number with its sign bit inverted
 *   DOUBLE: 16 hexadecimal digits of the IEEE 754 bits: of a negative number all inverted, of
 *           another one the sign bit; -0 is 0
 *   BOOL: 0 or 1
 *   DATETIME: itself, which has a fixed length
 */
#ifndef DSQL_VISIBILITY_KEYS_H
#define DSQL_VISIBILITY_KEYS_H

#include "base/span.h"
#include "dsql/visibility.h"

enum {
    /* Ranges that grow at the end of a time index, for each namespace. A list merges as many. */
    DSQL_VISIBILITY_BUCKETS = 4,
    /* A key has about 1,900 bytes: this, an attribute's name and three ids fit. */
    DSQL_VISIBILITY_VALUE_MAX = 240,
    /* A cut falls between characters, which have at most 4 bytes: a shorter value is whole. */
    DSQL_VISIBILITY_VALUE_WHOLE = DSQL_VISIBILITY_VALUE_MAX - 3,
    DSQL_VISIBILITY_NUMBER_LEN = 16,
    DSQL_VISIBILITY_DATETIME_LEN = 30,
};

/* From 0 to DSQL_VISIBILITY_BUCKETS - 1. */
int16_t dsql_visibility_bucket(struct dsql_span run_id);

/* The first characters of a text that fit a posting. */
struct dsql_span dsql_visibility_cut(struct dsql_span text);

/* False for a text that is no number, no finite number, or out of range. */
bool dsql_visibility_parse_i64(struct dsql_span text, int64_t *out);
bool dsql_visibility_parse_f64(struct dsql_span text, double *out);

/* The values of postings; digits are not terminated. */
void dsql_visibility_key_i64(int64_t value, char out[DSQL_VISIBILITY_NUMBER_LEN]);
void dsql_visibility_key_f64(double value, char out[DSQL_VISIBILITY_NUMBER_LEN]);

/* Whether it looks like 2006-01-02T15:04:05.000000000Z. */
bool dsql_visibility_is_datetime(struct dsql_span text);

/* Takes the next word of a TEXT off *rest: what stands between white space. False at the end. */
bool dsql_visibility_next_word(struct dsql_span *rest, struct dsql_span *word);

#endif

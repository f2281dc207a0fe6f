/*
 * Bytes of any length as text of the same order, for columns that must be in a key: BYTEA can't.
 *
 * Each byte becomes one or two: 0x00 and 0x01 become 0x01 0x01 and 0x01 0x02 (text holds no zero),
 * 0x02 to 0x7f stay, 0x80 to 0xff become the UTF-8 of U+0080 to U+00FF. No code begins another one
 * and their order is that of the bytes, so whole strings compare as before, a prefix before what it
 * begins. Names in ASCII stay readable and keep their length.
 *
 * Invariant: decode(encode(b)) = b, and only what encode() makes is decoded.
 */
#ifndef DSQL_TEMPORAL_KEY_H
#define DSQL_TEMPORAL_KEY_H

#include "base/span.h"

/* What the encoded form may take at most: the service's keys end at about 1,981 bytes, and the
 * other columns of these keys take up to 80. */
enum { DSQL_KEY_MAX = 1900 };

/* How long the encoded form is. */
size_t dsql_key_size(struct dsql_span bytes);

/* out has room for dsql_key_size(). */
void dsql_key_encode(struct dsql_span bytes, char *out);

/* out has room for text.len. False if the text is nothing that encode() makes. */
bool dsql_key_decode(struct dsql_span text, char *out, size_t *len);

#endif

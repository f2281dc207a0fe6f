/*
 * Bytes of any length as text of the same order, for columns that must be in a key: BYTEA can't.
 *
 * Each byte becomes one or two: 0x00 and 0x01 become 0x01 0x01 and 0x01 0x02 (text holds no zero),
 * 0x02 to 0x7f stay, 0x80 to 0xff become the UTF-8 of U+0080 to U+00FF. No code begins another one
 * and their order is that of the bytes, so whole strings compare as before, a prefix before what it
 * begins. Names in ASCII stay readable and keep their length.
 *
 * Invariant: decode(encode(b)) = b, and only what encode() makes is decoded.
 *
 * Text that is too long for a key has a *short form*: its first bytes, a word and its SHA-256. A
 * user chooses ids, so the hash is one for which no two ids can be found. Text that ends as a short
 * form does counts as long, so a short form is never taken for an id that stands as it is.
 */
#ifndef DSQL_TEMPORAL_KEY_H
#define DSQL_TEMPORAL_KEY_H

#include "base/span.h"

/* How long the encoded form is. */
size_t dsql_key_size(struct dsql_span bytes);

/* out has room for dsql_key_size(). */
void dsql_key_encode(struct dsql_span bytes, char *out);

/* out has room for text.len. False if the text is nothing that encode() makes. */
bool dsql_key_decode(struct dsql_span text, char *out, size_t *len);

/* What stands in a key as it is: ids in columns of 255 characters, and encoded ones. A key of the
 * service ends at about 1,981 bytes and has up to two of these (tests/unit/temporal_key_test.c adds
 * up every key of the schema). */
enum {
    DSQL_ID_CHARS_MAX = 255,
    DSQL_ID_BYTES_MAX = 900,
    DSQL_KEY_BYTES_MAX = 1000,
    DSQL_SHORT_FORM_MAX = 232 /* bytes, and so at most as many characters */
};

/* Whether an id, or the encoded form of one, must be sent in its short form. */
bool dsql_id_is_long(struct dsql_span id);
bool dsql_key_is_long(struct dsql_span text);

/* The key's short form: how many bytes it has; 0 if memory ran out. */
size_t dsql_key_shorten(struct dsql_span text, char out[DSQL_SHORT_FORM_MAX]);

#endif

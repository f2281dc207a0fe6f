#include "temporal/key.h"

#include <openssl/evp.h>

enum { ESCAPE = 0x01, LEAD = 0xc2 };

static bool is_double(unsigned char byte)
{
    return byte <= ESCAPE || byte >= 0x80;
}

size_t dsql_key_size(struct dsql_span bytes)
{
    size_t size = bytes.len;
    for (size_t i = 0; i < bytes.len; i++)
        size += is_double((unsigned char)bytes.ptr[i]);
    return size;
}

void dsql_key_encode(struct dsql_span bytes, char *out)
{
    for (size_t i = 0; i < bytes.len; i++) {
        unsigned char byte = (unsigned char)bytes.ptr[i];
        if (byte <= ESCAPE) {
            *out++ = ESCAPE;
            *out++ = (char)(byte + 1);
        } else if (byte >= 0x80) {
            *out++ = (char)(LEAD + (byte >= 0xc0));
            *out++ = (char)(byte & 0xbf);
        } else {
            *out++ = (char)byte;
        }
    }
}

bool dsql_key_decode(struct dsql_span text, char *out, size_t *len)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (is_double(byte)) {
            unsigned char second = i + 1 < text.len ? (unsigned char)text.ptr[++i] : 0;
            if (byte == ESCAPE && (second == 1 || second == 2))
                byte = (unsigned char)(second - 1);
            else if ((byte == LEAD || byte == LEAD + 1) && (second & 0xc0) == 0x80)
                byte = (unsigned char)(second | (byte == LEAD ? 0x80 : 0xc0));
            else
                return false;
        }
        out[n++] = (char)byte;
    }
    *len = n;
    return true;
}

/* -- Short forms: the beginning of the text, for people; the word; the hash in hexadecimal. */

#define WORD "~sha256:"
enum { HASH_SIZE = 32, HEX_SIZE = 2 * HASH_SIZE, TAIL_SIZE = sizeof(WORD) - 1 + HEX_SIZE };
enum { HEAD_MAX = DSQL_SHORT_FORM_MAX - TAIL_SIZE };

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static bool ends_like_a_short_form(struct dsql_span text)
{
    if (text.len < TAIL_SIZE)
        return false;
    struct dsql_span tail = dsql_span_from(text, text.len - TAIL_SIZE);
    return dsql_span_starts(tail, DSQL_SPAN(WORD));
}

bool dsql_id_is_long(struct dsql_span id)
{
    size_t chars = 0;
    if (id.len > DSQL_ID_BYTES_MAX || ends_like_a_short_form(id))
        return true;
    if (id.len <= DSQL_ID_CHARS_MAX)
        return false;
    for (size_t i = 0; i < id.len; i++)
        chars += !is_continuation(id.ptr[i]);
    return chars > DSQL_ID_CHARS_MAX;
}

bool dsql_key_is_long(struct dsql_span text)
{
    return text.len > DSQL_KEY_BYTES_MAX || ends_like_a_short_form(text);
}

size_t dsql_key_shorten(struct dsql_span text, char out[DSQL_SHORT_FORM_MAX])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char hash[HASH_SIZE];
    size_t len = text.len < HEAD_MAX ? text.len : HEAD_MAX;
    while (len > 0 && len < text.len && is_continuation(text.ptr[len]))
        len--; /* whole characters only */
    if (EVP_Digest(text.ptr, text.len, hash, NULL, EVP_sha256(), NULL) != 1)
        return 0;
    memcpy(out, text.ptr, len);
    memcpy(out + len, WORD, sizeof(WORD) - 1);
    len += sizeof(WORD) - 1;
    for (size_t i = 0; i < HASH_SIZE; i++) {
        out[len++] = digits[hash[i] >> 4];
        out[len++] = digits[hash[i] & 0xf];
    }
    return len;
}

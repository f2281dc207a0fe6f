#include "temporal/key.h"

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

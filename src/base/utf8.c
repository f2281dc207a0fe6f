#include "base/utf8.h"

size_t dsql_utf8_len(struct dsql_span s)
{
    if (s.len == 0)
        return 0;
    const unsigned char *b = (const unsigned char *)s.ptr;
    if (b[0] < 0x80)
        return 1;
    size_t n = b[0] >= 0xc2 && b[0] < 0xe0   ? 2
               : b[0] >= 0xe0 && b[0] < 0xf0 ? 3
               : b[0] >= 0xf0 && b[0] < 0xf5 ? 4
                                             : 0;
    if (n == 0 || s.len < n)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((b[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates and anything above U+10FFFF. */
    bool bad = (b[0] == 0xe0 && b[1] < 0xa0) || (b[0] == 0xed && b[1] > 0x9f) ||
               (b[0] == 0xf0 && b[1] < 0x90) || (b[0] == 0xf4 && b[1] > 0x8f);
    return bad ? 0 : n;
}

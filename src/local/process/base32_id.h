/* Ids as the service makes them, of jobs and sessions: 16 bytes in lower-case base32. */
#ifndef DSQL_LOCAL_BASE32_ID_H
#define DSQL_LOCAL_BASE32_ID_H

enum { DSQL_BASE32_ID_BYTES = 16, DSQL_BASE32_ID_LEN = 26 };

/* Five bits a character; the last has three bits and two zeros. */
static inline void dsql_base32_id(const unsigned char bytes[DSQL_BASE32_ID_BYTES],
                                  char id[DSQL_BASE32_ID_LEN + 1])
{
    for (int i = 0; i < DSQL_BASE32_ID_LEN; i++) {
        int at = i * 5 / 8;
        int next = at + 1 < DSQL_BASE32_ID_BYTES ? bytes[at + 1] : 0;
        int bits = (bytes[at] << 8 | next) >> (11 - i * 5 % 8);
        id[i] = "abcdefghijklmnopqrstuvwxyz234567"[bits & 31];
    }
    id[DSQL_BASE32_ID_LEN] = '\0';
}

#endif

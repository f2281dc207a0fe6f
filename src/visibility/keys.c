#include "visibility/keys.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

int16_t dsql_visibility_bucket(struct dsql_span run_id)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < run_id.len; i++)
        hash = (hash ^ (unsigned char)run_id.ptr[i]) * 16777619u;
    /* The low bits of FNV are its weak ones. */
    return (int16_t)((hash ^ hash >> 16) % DSQL_VISIBILITY_BUCKETS);
}

struct dsql_span dsql_visibility_cut(struct dsql_span text)
{
    if (text.len <= DSQL_VISIBILITY_VALUE_MAX)
        return text;
    size_t len = DSQL_VISIBILITY_VALUE_MAX;
    while (len > 0 && ((unsigned char)text.ptr[len] & 0xC0) == 0x80) /* inside a character */
        len--;
    return dsql_span_first(text, len);
}

bool dsql_visibility_parse_i64(struct dsql_span text, int64_t *out)
{
    return dsql_span_to_i64(text, out);
}

static locale_t c_locale;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool dsql_visibility_parse_f64(struct dsql_span text, double *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char copy[400], *end;
    if (text.len == 0 || text.len >= sizeof(copy) || !strchr("+-.0123456789", text.ptr[0]))
        return false;
    memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    (void)pthread_once(&once, make_locale);
    if (!c_locale)
        return false;
    double value = strtod_l(copy, &end, c_locale);
    if (*end || end == copy || end != copy + text.len || !isfinite(value) || strpbrk(copy, "xX"))
        return false;
    *out = value;
    return true;
}

static void put_hex(uint64_t bits, char out[DSQL_VISIBILITY_NUMBER_LEN])
{
    for (int i = DSQL_VISIBILITY_NUMBER_LEN - 1; i >= 0; i--, bits >>= 4)
        out[i] = "0123456789abcdef"[bits & 15];
}

static const uint64_t sign_bit = UINT64_C(1) << 63;

void dsql_visibility_key_i64(int64_t value, char out[DSQL_VISIBILITY_NUMBER_LEN])
{
    put_hex((uint64_t)value ^ sign_bit, out);
}

void dsql_visibility_key_f64(double value, char out[DSQL_VISIBILITY_NUMBER_LEN])
{
    uint64_t bits;
    if (value == 0)
        value = 0; /* not -0 */
    memcpy(&bits, &value, sizeof(bits));
    put_hex(bits & sign_bit ? ~bits : bits ^ sign_bit, out);
}

bool dsql_visibility_is_datetime(struct dsql_span text)
{
    static const char shape[] = "0000-00-00T00:00:00.000000000Z";
    if (text.len != DSQL_VISIBILITY_DATETIME_LEN)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (shape[i] == '0' ? c < '0' || c > '9' : c != shape[i])
            return false;
    }
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool dsql_visibility_next_word(struct dsql_span *rest, struct dsql_span *word)
{
    size_t begin = 0, end;
    while (begin < rest->len && is_space(rest->ptr[begin]))
        begin++;
    for (end = begin; end < rest->len && !is_space(rest->ptr[end]);)
        end++;
    *word = dsql_span_first(dsql_span_from(*rest, begin), end - begin);
    *rest = dsql_span_from(*rest, end);
    return word->len > 0;
}

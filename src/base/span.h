/*
 * A span is a view of bytes that it does not own: pointer and length, not terminated, passed by
 * value. Parsers take spans and hand out parts of them; nothing here allocates or writes.
 */
#ifndef DSQL_BASE_SPAN_H
#define DSQL_BASE_SPAN_H

#include <string.h>

#include "base/defs.h"

struct dsql_span {
    const char *ptr;
    size_t len;
};

/* A span of a string literal, usable as an initializer. */
#define DSQL_SPAN(literal) ((struct dsql_span){("" literal), sizeof(literal) - 1})

/* printf("%.*s", DSQL_SPAN_ARG(s)) */
#define DSQL_SPAN_ARG(s) (int)(s).len, (s).ptr

static inline struct dsql_span dsql_span_of(const char *text)
{
    return (struct dsql_span){text, strlen(text)};
}

static inline struct dsql_span dsql_span_from(struct dsql_span s, size_t offset)
{
    assert(offset <= s.len);
    /* An empty span may have no pointer, and adding even 0 to NULL is undefined. */
    return (struct dsql_span){offset ? s.ptr + offset : s.ptr, s.len - offset};
}

static inline struct dsql_span dsql_span_first(struct dsql_span s, size_t len)
{
    assert(len <= s.len);
    return (struct dsql_span){s.ptr, len};
}

bool dsql_span_eq(struct dsql_span a, struct dsql_span b);
bool dsql_span_eq_nocase(struct dsql_span a, struct dsql_span b);
bool dsql_span_starts(struct dsql_span s, struct dsql_span prefix);

/* Without the blanks, tabs and line ends at both sides. */
struct dsql_span dsql_span_trim(struct dsql_span s);

/* Splits at the first separator: *head is what stands before it, *tail what stands after. Without a
 * separator *head is all of s, *tail is empty and the answer is false. */
bool dsql_span_cut(struct dsql_span s, char separator, struct dsql_span *head,
                   struct dsql_span *tail);

/* The whole span as a decimal number, with an optional sign; false if it is anything else or does
 * not fit, and then *out is untouched. */
bool dsql_span_to_i64(struct dsql_span s, int64_t *out);

/* The whole span as a plain decimal fraction such as 0.25 (no exponent, no locale): at most 15
 * digits, zeros in front not counted, and at most 22 of them after the point. False if it is
 * anything else, and then *out is untouched. */
bool dsql_span_to_f64(struct dsql_span s, double *out);

/*
 * How many insertions, deletions, replacements and swaps of neighbours turn a into b, ignoring
 * case; for "did you mean". Anything longer than 64 characters is as far as can be.
 */
size_t dsql_span_distance(struct dsql_span a, struct dsql_span b);

/* Whether a name that is `distance` edits away from a known one is worth suggesting. */
bool dsql_span_is_near(struct dsql_span typed, size_t distance);

#endif

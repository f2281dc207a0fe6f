/*
 * Bounded string building. A strbuf never writes past its limit: what does not fit is cut and
 * remembered, so that one check at the end is enough. After a cut nothing more is added: a hole in
 * the text would be worse than its end. It is terminated at all times.
 *
 * Two kinds share one set of functions: over the caller's memory (never allocates), or on the heap,
 * growing up to a limit.
 */
#ifndef DSQL_BASE_STRBUF_H
#define DSQL_BASE_STRBUF_H

#include <stdarg.h>

#include "base/span.h"

struct dsql_strbuf {
    char *ptr;    /* the text, terminated */
    size_t len;   /* without the terminator */
    size_t cap;   /* bytes at ptr, terminator included */
    size_t limit; /* the heap kind grows cap up to here; equal to cap for the fixed kind */
    bool cut;     /* something did not fit, or memory ran out */
    bool on_heap;
};

/* Over the caller's memory of cap >= 1 bytes. Needs no fini. */
void dsql_strbuf_init(struct dsql_strbuf *sb, char *memory, size_t cap);

/* On the heap, at most limit bytes. Allocates nothing before the first append. */
void dsql_strbuf_init_heap(struct dsql_strbuf *sb, size_t limit);
void dsql_strbuf_fini(struct dsql_strbuf *sb);

/* Hands the heap kind's text to the caller, who frees it with free(). NULL if it was cut. */
char *dsql_strbuf_take(struct dsql_strbuf *sb);

void dsql_strbuf_clear(struct dsql_strbuf *sb);
struct dsql_span dsql_strbuf_span(const struct dsql_strbuf *sb);

void dsql_strbuf_add(struct dsql_strbuf *sb, struct dsql_span s);
void dsql_strbuf_add_str(struct dsql_strbuf *sb, const char *text);
void dsql_strbuf_add_char(struct dsql_strbuf *sb, char c);
void dsql_strbuf_add_u64(struct dsql_strbuf *sb, uint64_t value);
void dsql_strbuf_add_i64(struct dsql_strbuf *sb, int64_t value);

/*
 * The shortest decimal that reads back as the same double: 0.25, 100, -0.00001. The same in every
 * locale of the host program, which printf's conversions are not: do not print a double with addf.
 * Below 1e-22 and from 1e22 on it has an exponent; what is no number is NaN, +Inf or -Inf, as
 * Prometheus writes it. Whatever dsql_span_to_f64() reads comes out in a form that it reads again.
 */
void dsql_strbuf_add_f64(struct dsql_strbuf *sb, double value);

/* A format that can't be carried out (%lc of what is no character) counts as cut. */
void dsql_strbuf_addf(struct dsql_strbuf *sb, const char *fmt, ...) DSQL_PRINTF(2, 3);
void dsql_strbuf_vaddf(struct dsql_strbuf *sb, const char *fmt, va_list args) DSQL_PRINTF(2, 0);

/* A JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD. */
void dsql_strbuf_add_json(struct dsql_strbuf *sb, struct dsql_span s);

#endif

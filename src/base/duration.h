/*
 * Durations as people write them: 11m, 45s, 250ms, 1h30m, 1.5s. Units are h, m, s, ms, us (or µs)
 * and ns, largest first as one likes; 0 needs no unit. At most about 292 years.
 */
#ifndef DSQL_BASE_DURATION_H
#define DSQL_BASE_DURATION_H

#include "base/strbuf.h"

enum { DSQL_DURATION_TEXT_MAX = 40 }; /* enough for any formatted duration, terminator included */

/* False if the text is no duration or does not fit; then *ns is untouched. Digits below a
 * nanosecond are dropped. */
bool dsql_duration_parse(struct dsql_span text, int64_t *ns);

/* The shortest of the usual forms that parses back to the same value: 55m, 1m30.5s, 250ms. */
void dsql_duration_format(struct dsql_strbuf *sb, int64_t ns);

/*
 * For people: whole milliseconds below ten seconds, else whole seconds.
 *
 *     printf("full in %s\n", dsql_duration_shown(took_ns).text);
 */
struct dsql_duration_text {
    char text[DSQL_DURATION_TEXT_MAX];
};
struct dsql_duration_text dsql_duration_shown(int64_t ns);

#endif

/*
 * The search attributes of a record in the three forms that a write needs: a JSON object for the
 * row, postings as two arrays in PostgreSQL's binary form, and the two attributes that counters go
 * by. Sans I/O.
 */
#ifndef DSQL_VISIBILITY_ATTRIBUTES_H
#define DSQL_VISIBILITY_ATTRIBUTES_H

#include "base/strbuf.h"
#include "dsql/visibility.h"

/* The attribute that makes a namespace's divisions: a column of the row, and no posting. */
#define DSQL_VISIBILITY_DIVISION "TemporalNamespaceDivision"
/* The attribute besides status that counts are grouped by. */
#define DSQL_VISIBILITY_COUNT_KEYWORD "TemporalLowCardinalityKeyword01"

/*
 * Postings of runs whose start and close are not where those of others are, with the value 1. A
 * list by start time reads closed runs by their close time, and finds the others by these. No name
 * of Temporal's begins so.
 */
#define DSQL_VISIBILITY_SKEW    "!skew" /* closed before it started, by clocks that differ */
#define DSQL_VISIBILITY_LONG    "!long" /* closed more than ten minutes after it started */
#define DSQL_VISIBILITY_LONG_US (INT64_C(600) * 1000000)

/* In the JSON object of a row: the types of Text and Double attributes whose names do not tell, by
 * name. So the row alone is enough to post it again. */
#define DSQL_VISIBILITY_TYPES "!types"

/* Whether it is a name that Temporal gives attributes of that type, which is TEXT or DOUBLE:
 * Text01, TemporalText01. */
bool dsql_visibility_is_preallocated(struct dsql_span name, enum dsql_visibility_type type);

/*
 * The only posting of a run that has more values and words than DSQL_VISIBILITY_POSTINGS_MAX, but
 * for those above. A list by a value reads these too, and looks at their rows. They are few, and
 * all in bucket 0.
 */
#define DSQL_VISIBILITY_MANY "!many"

/* The name of the posting that a run has; NULL for none. close_us may be DSQL_VISIBILITY_OPEN. */
const char *dsql_visibility_mark(int64_t start_us, int64_t close_us);

enum {
    /* A transaction changes at most 3,000 rows: a record takes back all postings and makes as many,
     * beside the row, two counters and the parts of a memo. */
    DSQL_VISIBILITY_POSTINGS_MAX = 1400,
};

struct dsql_visibility_attributes {
    struct dsql_strbuf json;                  /* terminated; empty without attributes */
    struct dsql_strbuf names, values;         /* text[]: posting by posting */
    size_t postings;                          /* how many */
    struct dsql_strbuf kept;                  /* what the two below point into, of a row's JSON */
    struct dsql_span division, count_keyword; /* parts of the record's values; empty for none */
};

/* mark: that of dsql_visibility_mark(). DSQL_INVALID for a value that is not of its type, no UTF-8,
 * or has a zero byte. fini in any case. */
DSQL_MUST_USE enum dsql_rc
dsql_visibility_attributes_init(struct dsql_visibility_attributes *out,
                                const struct dsql_visibility_attribute *attributes, size_t count,
                                const char *mark, struct dsql_err *err);
void dsql_visibility_attributes_fini(struct dsql_visibility_attributes *attributes);

#endif

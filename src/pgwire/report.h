/*
 * A report is what ErrorResponse and NoticeResponse carry: fields, each with a one-letter code.
 */
#ifndef DSQL_PGWIRE_REPORT_H
#define DSQL_PGWIRE_REPORT_H

#include "base/strbuf.h"
#include "pgwire/cursor.h"

/* Fields that are not there are empty. */
struct dsql_pg_report {
    struct dsql_span severity;       /* S: maybe translated */
    struct dsql_span severity_plain; /* V: never translated */
    struct dsql_span sqlstate;       /* C */
    struct dsql_span message;        /* M */
    struct dsql_span detail;         /* D */
    struct dsql_span hint;           /* H */
    struct dsql_span position;       /* P: only written; what is passed on may have another place */
    struct dsql_span raw;            /* all fields, when parsed */
};

/* Any field of a parsed report by its code; false if it has none. */
bool dsql_pg_report_get(const struct dsql_pg_report *report, char code, struct dsql_span *value);

/* From a message, all of it. */
struct dsql_pg_report dsql_pg_take_report(struct dsql_pg_cursor *cursor);

/* Writes the seven named fields, without the empty ones; V is S where it is not given. A server
 * gives at least severity, sqlstate and message. See put.h for what does not fit. */
void dsql_pg_put_error(struct dsql_strbuf *out, const struct dsql_pg_report *report);

/* A parsed one with all its fields, but with `position` in the place of the one it has. */
void dsql_pg_put_error_at(struct dsql_strbuf *out, const struct dsql_pg_report *report,
                          struct dsql_span position);

#endif

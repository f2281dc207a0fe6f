/*
 * The messages of a server that `dsql local` and `dsql proxy` look into; both pass the others on
 * unread. Spans point into the body that was parsed.
 */
#ifndef DSQL_PGWIRE_BACKEND_H
#define DSQL_PGWIRE_BACKEND_H

#include "pgwire/lists.h"
#include "pgwire/report.h"

/* type says which member holds the message. */
struct dsql_pg_be {
    enum dsql_pg_be_type type;
    union {
        struct dsql_pg_setting {
            struct dsql_span name, value;
        } setting; /* ParameterStatus */
        struct dsql_pg_key {
            uint32_t pid;
            struct dsql_span key; /* 4 bytes; up to 256 in protocol 3.2 */
        } key;
        enum dsql_pg_tx status;       /* ReadyForQuery */
        struct dsql_pg_report report; /* ErrorResponse, NoticeResponse */
        struct dsql_span tag;         /* CommandComplete */
        struct dsql_pg_values row;    /* DataRow */
    };
};

/*
 * Parses the body of a whole message. DSQL_PROTOCOL if the body does not hold its fields, a field
 * has an impossible value or messages of that type are not read; then *msg is untouched.
 */
DSQL_MUST_USE enum dsql_rc dsql_pg_be_parse(uint8_t type, struct dsql_span body,
                                            struct dsql_pg_be *msg, struct dsql_err *err);

#endif

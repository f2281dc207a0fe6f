/*
 * What a client says, once a session runs. Spans point into the body that was parsed. What
 * PostgreSQL only finds out with the statement at hand (how many parameters it has, which columns)
 * is not checked here.
 */
#ifndef DSQL_PGWIRE_FRONTEND_H
#define DSQL_PGWIRE_FRONTEND_H

#include "pgwire/lists.h"

struct dsql_pg_parse {
    struct dsql_span name, query;
    struct dsql_pg_oids types; /* of the parameters, as far as the client knows them; 0 if not */
};

struct dsql_pg_bind {
    struct dsql_span portal, statement;
    struct dsql_pg_formats formats; /* of the values: none, one for all, or one each */
    struct dsql_pg_values values;
    struct dsql_pg_formats results;
};

struct dsql_pg_function_call {
    uint32_t function;
    struct dsql_pg_formats formats;
    struct dsql_pg_values arguments;
    int result;
};

/* type says which member holds the message; Sync, Flush, Terminate and CopyDone have none. */
struct dsql_pg_fe {
    enum dsql_pg_fe_type type;
    union {
        struct dsql_span query;    /* Query */
        struct dsql_span password; /* PasswordMessage, in clear text */
        struct dsql_span data;     /* CopyData */
        struct dsql_span reason;   /* CopyFail */
        struct dsql_pg_parse parse;
        struct dsql_pg_bind bind;
        struct dsql_pg_target {
            enum dsql_pg_object object;
            struct dsql_span name;
        } target; /* Describe, Close */
        struct dsql_pg_execute {
            struct dsql_span portal;
            int32_t max_rows; /* 0 or less: all */
        } execute;
        struct dsql_pg_function_call call;
    };
};

/*
 * Parses the body of a whole message. On failure *msg is untouched and err carries the SQLSTATE and
 * PostgreSQL's text: DSQL_PROTOCOL (08P01) if the body does not hold its fields or the type does
 * not exist, DSQL_INVALID (22023) for a format code that does not exist. The stream goes on behind
 * either.
 */
DSQL_MUST_USE enum dsql_rc dsql_pg_fe_parse(uint8_t type, struct dsql_span body,
                                            struct dsql_pg_fe *msg, struct dsql_err *err);

#endif

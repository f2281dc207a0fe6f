/*
 * What a server says. Spans point into the body that was parsed.
 */
#ifndef DSQL_PGWIRE_BACKEND_H
#define DSQL_PGWIRE_BACKEND_H

#include "pgwire/lists.h"
#include "pgwire/report.h"

enum dsql_pg_auth_kind {
    DSQL_PG_AUTH_OK = 0,
    DSQL_PG_AUTH_KERBEROS_V5 = 2,
    DSQL_PG_AUTH_CLEARTEXT = 3,
    DSQL_PG_AUTH_MD5 = 5, /* data: 4 bytes of salt */
    DSQL_PG_AUTH_GSS = 7,
    DSQL_PG_AUTH_GSS_CONTINUE = 8,
    DSQL_PG_AUTH_SSPI = 9,
    DSQL_PG_AUTH_SASL = 10, /* data: names of mechanisms, each terminated, then an empty one */
    DSQL_PG_AUTH_SASL_CONTINUE = 11,
    DSQL_PG_AUTH_SASL_FINAL = 12,
};

struct dsql_pg_column {
    struct dsql_span name;
    uint32_t table; /* 0 if it is no column of a table */
    int16_t number; /* within the table */
    uint32_t type;
    int16_t type_len;
    int32_t type_mod;
    int16_t format;
};

/* The columns of a RowDescription, checked: reading them cannot fail. */
struct dsql_pg_columns {
    uint16_t count;
    struct dsql_span raw;
};

/* Takes the first column off the list; false if it is empty. Iterate over a copy. */
bool dsql_pg_columns_next(struct dsql_pg_columns *rest, struct dsql_pg_column *column);

/* "INSERT 0 5" is verb INSERT and 5 rows; "CREATE TABLE" is all verb. */
struct dsql_pg_command {
    struct dsql_span tag, verb;
    bool has_rows;
    uint64_t rows;
};

/* type says which member holds the message; those that carry nothing have none. */
struct dsql_pg_be {
    enum dsql_pg_be_type type;
    union {
        struct dsql_pg_auth {
            enum dsql_pg_auth_kind kind;
            struct dsql_span data;
        } auth;
        struct dsql_pg_setting {
            struct dsql_span name, value;
        } setting; /* ParameterStatus */
        struct dsql_pg_key {
            uint32_t pid;
            struct dsql_span key; /* 4 bytes; up to 256 in protocol 3.2 */
        } key;
        enum dsql_pg_tx status;         /* ReadyForQuery */
        struct dsql_pg_report report;   /* ErrorResponse, NoticeResponse */
        struct dsql_pg_command command; /* CommandComplete */
        struct dsql_pg_columns columns; /* RowDescription */
        struct dsql_pg_values row;      /* DataRow */
        struct dsql_pg_oids parameters; /* ParameterDescription */
        struct dsql_pg_copy {
            int format; /* of the whole */
            struct dsql_pg_formats columns;
        } copy;                      /* CopyInResponse, CopyOutResponse, CopyBothResponse */
        struct dsql_pg_value result; /* FunctionCallResponse */
        struct dsql_span data;       /* CopyData */
        struct dsql_pg_notification {
            uint32_t pid;
            struct dsql_span channel, payload;
        } notification;
        struct dsql_pg_negotiated {
            uint32_t version; /* DSQL_PG_CODE(3, x) */
            uint32_t count;   /* of protocol options the server does not know */
        } negotiated;
    };
};

/*
 * Parses the body of a whole message. DSQL_PROTOCOL if the body does not hold its fields, a field
 * has an impossible value or the type does not exist, DSQL_INVALID for a format code that does not
 * exist; then *msg is untouched.
 */
DSQL_MUST_USE enum dsql_rc dsql_pg_be_parse(uint8_t type, struct dsql_span body,
                                            struct dsql_pg_be *msg, struct dsql_err *err);

/* A command tag taken apart; any text is one. */
struct dsql_pg_command dsql_pg_command_of(struct dsql_span tag);

#endif

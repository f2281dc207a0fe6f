/*
 * pgwire: the PostgreSQL protocol, version 3, without I/O. Bytes go in and messages come out
 * (frame, startup, frontend, backend), messages go in and bytes come out (put_frontend,
 * put_backend, report); sockets, TLS and what a message means for a session live elsewhere. It uses
 * base only.
 *
 *     frame.h          cuts a stream into messages, bounded in memory
 *     startup.h        the packets before the first message
 *     frontend.h       what a client says            put_frontend.h   saying it
 *     backend.h        what a server says            put_backend.h    saying it
 *     report.h         errors and notices, both ways
 *     lists.h          values, formats and oids inside messages
 *     cursor.h, put.h  the fields that messages are made of
 *
 * Parsed messages are views: their spans point into the bytes they were parsed from. Refusals carry
 * the SQLSTATE and, where PostgreSQL has a text for the case, its text, so that a front can answer
 * as PostgreSQL would.
 *
 * This header names the messages.
 */
#ifndef DSQL_PGWIRE_PROTO_H
#define DSQL_PGWIRE_PROTO_H

#include "base/defs.h"

/* Who is speaking. One letter means different things in the two directions. */
enum dsql_pg_side { DSQL_PG_FRONTEND, DSQL_PG_BACKEND };

/*
 * How long a message may grow and how it travels: SMALL ones have a fixed limit, LARGE ones take
 * the limit of the endpoint, STREAM ones too but need not be held in memory, LOGIN ones are welcome
 * only while a client authenticates.
 */
enum dsql_pg_size { DSQL_PG_SMALL, DSQL_PG_LARGE, DSQL_PG_STREAM, DSQL_PG_LOGIN };

/* clang-format off */
/*    constant                    type  name                        size */
#define DSQL_PG_FE_TABLE(X)                                                                        \
    X(BIND,                       'B',  "Bind",                     LARGE)                         \
    X(CLOSE,                      'C',  "Close",                    SMALL)                         \
    X(DESCRIBE,                   'D',  "Describe",                 SMALL)                         \
    X(EXECUTE,                    'E',  "Execute",                  SMALL)                         \
    X(FUNCTION_CALL,              'F',  "FunctionCall",             LARGE)                         \
    X(FLUSH,                      'H',  "Flush",                    SMALL)                         \
    X(PARSE,                      'P',  "Parse",                    LARGE)                         \
    X(QUERY,                      'Q',  "Query",                    LARGE)                         \
    X(SYNC,                       'S',  "Sync",                     SMALL)                         \
    X(TERMINATE,                  'X',  "Terminate",                SMALL)                         \
    X(COPY_DONE,                  'c',  "CopyDone",                 SMALL)                         \
    X(COPY_DATA,                  'd',  "CopyData",                 STREAM)                        \
    X(COPY_FAIL,                  'f',  "CopyFail",                 SMALL)                         \
    X(PASSWORD,                   'p',  "PasswordMessage",          LOGIN)

#define DSQL_PG_BE_TABLE(X)                                                                        \
    X(PARSE_COMPLETE,             '1',  "ParseComplete",            SMALL)                         \
    X(BIND_COMPLETE,              '2',  "BindComplete",             SMALL)                         \
    X(CLOSE_COMPLETE,             '3',  "CloseComplete",            SMALL)                         \
    X(NOTIFICATION,               'A',  "NotificationResponse",     LARGE)                         \
    X(COMMAND_COMPLETE,           'C',  "CommandComplete",          SMALL)                         \
    X(DATA_ROW,                   'D',  "DataRow",                  STREAM)                        \
    X(ERROR,                      'E',  "ErrorResponse",            LARGE)                         \
    X(COPY_IN,                    'G',  "CopyInResponse",           SMALL)                         \
    X(COPY_OUT,                   'H',  "CopyOutResponse",          SMALL)                         \
    X(EMPTY_QUERY,                'I',  "EmptyQueryResponse",       SMALL)                         \
    X(KEY_DATA,                   'K',  "BackendKeyData",           SMALL)                         \
    X(NOTICE,                     'N',  "NoticeResponse",           LARGE)                         \
    X(AUTHENTICATION,             'R',  "Authentication",           SMALL)                         \
    X(PARAMETER_STATUS,           'S',  "ParameterStatus",          SMALL)                         \
    X(ROW_DESCRIPTION,            'T',  "RowDescription",           LARGE)                         \
    X(FUNCTION_RESULT,            'V',  "FunctionCallResponse",     LARGE)                         \
    X(COPY_BOTH,                  'W',  "CopyBothResponse",         SMALL)                         \
    X(READY,                      'Z',  "ReadyForQuery",            SMALL)                         \
    X(COPY_DONE,                  'c',  "CopyDone",                 SMALL)                         \
    X(COPY_DATA,                  'd',  "CopyData",                 STREAM)                        \
    X(NO_DATA,                    'n',  "NoData",                   SMALL)                         \
    X(PORTAL_SUSPENDED,           's',  "PortalSuspended",          SMALL)                         \
    X(PARAMETER_DESCRIPTION,      't',  "ParameterDescription",     LARGE)                         \
    X(NEGOTIATE_VERSION,          'v',  "NegotiateProtocolVersion", SMALL)
/* clang-format on */

enum dsql_pg_fe_type {
#define DSQL_PG_FE_MEMBER(constant, type, name, size) DSQL_PG_FE_##constant = (type),
    DSQL_PG_FE_TABLE(DSQL_PG_FE_MEMBER)
#undef DSQL_PG_FE_MEMBER
};

enum dsql_pg_be_type {
#define DSQL_PG_BE_MEMBER(constant, type, name, size) DSQL_PG_BE_##constant = (type),
    DSQL_PG_BE_TABLE(DSQL_PG_BE_MEMBER)
#undef DSQL_PG_BE_MEMBER
};

/* The status byte of ReadyForQuery. */
enum dsql_pg_tx { DSQL_PG_IDLE = 'I', DSQL_PG_IN_TX = 'T', DSQL_PG_FAILED_TX = 'E' };

/* What Describe and Close speak of. */
enum dsql_pg_object { DSQL_PG_STATEMENT = 'S', DSQL_PG_PORTAL = 'P' };

struct dsql_pg_type_info {
    uint8_t type;
    enum dsql_pg_size size;
    const char *name;
};

/* All messages of one side, *count of them. Static storage. */
const struct dsql_pg_type_info *dsql_pg_types(enum dsql_pg_side side, size_t *count);

/* "Query" for a frontend's 'Q'; "?" for a type that does not exist. Static storage. */
const char *dsql_pg_type_name(enum dsql_pg_side side, uint8_t type);

/* Puts the SQLSTATE a client should see beside the refusal already in err (which may be NULL), and
 * returns rc. */
enum dsql_rc dsql_pg_refuse(struct dsql_err *err, enum dsql_rc rc, const char sqlstate[6]);

#define DSQL_PG_PROTOCOL_VIOLATION "08P01"
#define DSQL_PG_NOT_SUPPORTED      "0A000"
#define DSQL_PG_INVALID_PARAMETER  "22023"
#define DSQL_PG_OUT_OF_MEMORY      "53200"

#endif

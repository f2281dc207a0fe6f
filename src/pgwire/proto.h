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
 * This header names the messages (proto.c).
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
/*    constant                    type  size */
#define DSQL_PG_FE_TABLE(X)                                                                        \
    X(BIND,                       'B',  LARGE)                                                     \
    X(CLOSE,                      'C',  SMALL)                                                     \
    X(DESCRIBE,                   'D',  SMALL)                                                     \
    X(EXECUTE,                    'E',  SMALL)                                                     \
    X(FUNCTION_CALL,              'F',  LARGE)                                                     \
    X(FLUSH,                      'H',  SMALL)                                                     \
    X(PARSE,                      'P',  LARGE)                                                     \
    X(QUERY,                      'Q',  LARGE)                                                     \
    X(SYNC,                       'S',  SMALL)                                                     \
    X(TERMINATE,                  'X',  SMALL)                                                     \
    X(COPY_DONE,                  'c',  SMALL)                                                     \
    X(COPY_DATA,                  'd',  STREAM)                                                    \
    X(COPY_FAIL,                  'f',  SMALL)                                                     \
    X(PASSWORD,                   'p',  LOGIN)

#define DSQL_PG_BE_TABLE(X)                                                                        \
    X(PARSE_COMPLETE,             '1',  SMALL)                                                     \
    X(BIND_COMPLETE,              '2',  SMALL)                                                     \
    X(CLOSE_COMPLETE,             '3',  SMALL)                                                     \
    X(NOTIFICATION,               'A',  LARGE)                                                     \
    X(COMMAND_COMPLETE,           'C',  SMALL)                                                     \
    X(DATA_ROW,                   'D',  STREAM)                                                    \
    X(ERROR,                      'E',  LARGE)                                                     \
    X(COPY_IN,                    'G',  SMALL)                                                     \
    X(COPY_OUT,                   'H',  SMALL)                                                     \
    X(EMPTY_QUERY,                'I',  SMALL)                                                     \
    X(KEY_DATA,                   'K',  SMALL)                                                     \
    X(NOTICE,                     'N',  LARGE)                                                     \
    X(AUTHENTICATION,             'R',  SMALL)                                                     \
    X(PARAMETER_STATUS,           'S',  SMALL)                                                     \
    X(ROW_DESCRIPTION,            'T',  LARGE)                                                     \
    X(FUNCTION_RESULT,            'V',  LARGE)                                                     \
    X(COPY_BOTH,                  'W',  SMALL)                                                     \
    X(READY,                      'Z',  SMALL)                                                     \
    X(COPY_DONE,                  'c',  SMALL)                                                     \
    X(COPY_DATA,                  'd',  STREAM)                                                    \
    X(NO_DATA,                    'n',  SMALL)                                                     \
    X(PORTAL_SUSPENDED,           's',  SMALL)                                                     \
    X(PARAMETER_DESCRIPTION,      't',  LARGE)                                                     \
    X(NEGOTIATE_VERSION,          'v',  SMALL)
/* clang-format on */

enum dsql_pg_fe_type {
#define DSQL_PG_FE_MEMBER(constant, type, size) DSQL_PG_FE_##constant = (type),
    DSQL_PG_FE_TABLE(DSQL_PG_FE_MEMBER)
#undef DSQL_PG_FE_MEMBER
};

enum dsql_pg_be_type {
#define DSQL_PG_BE_MEMBER(constant, type, size) DSQL_PG_BE_##constant = (type),
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
};

/* All messages of one side, *count of them. Static storage. */
const struct dsql_pg_type_info *dsql_pg_types(enum dsql_pg_side side, size_t *count);

/* Puts the SQLSTATE a client should see beside the refusal already in err (which may be NULL), and
 * returns rc. */
enum dsql_rc dsql_pg_refuse(struct dsql_err *err, enum dsql_rc rc, const char sqlstate[6]);

#define DSQL_PG_PROTOCOL_VIOLATION "08P01"
#define DSQL_PG_NOT_SUPPORTED      "0A000"
#define DSQL_PG_INVALID_PARAMETER  "22023"
#define DSQL_PG_OUT_OF_MEMORY      "53200"

#endif

/*
 * What a client sends before the first message: a request for encryption, a request to cancel, or
 * the StartupMessage with its parameters.
 */
#ifndef DSQL_PGWIRE_STARTUP_H
#define DSQL_PGWIRE_STARTUP_H

#include "base/strbuf.h"
#include "pgwire/proto.h"

enum dsql_pg_startup_kind {
    DSQL_PG_SSL_REQUEST,
    DSQL_PG_GSSENC_REQUEST,
    DSQL_PG_CANCEL_REQUEST,
    DSQL_PG_STARTUP_MESSAGE,
};

/* The number that stands in the place of a protocol version, or is one. */
#define DSQL_PG_CODE(major, minor) ((uint32_t)(major) << 16 | (uint32_t)(minor))
#define DSQL_PG_CODE_CANCEL        DSQL_PG_CODE(1234, 5678)
#define DSQL_PG_CODE_SSL           DSQL_PG_CODE(1234, 5679)
#define DSQL_PG_CODE_GSSENC        DSQL_PG_CODE(1234, 5680)
#define DSQL_PG_CODE_3_0           DSQL_PG_CODE(3, 0)

enum {
    DSQL_PG_CANCEL_KEY_LEAST = 4,
    DSQL_PG_CANCEL_KEY_MOST = 256, /* protocol 3.2; exactly 4 before */
};

struct dsql_pg_param {
    struct dsql_span name, value;
};

/* The parameters of a StartupMessage, checked: reading them cannot fail. */
struct dsql_pg_params {
    struct dsql_span raw;
};

struct dsql_pg_startup {
    enum dsql_pg_startup_kind kind;
    uint16_t minor;               /* StartupMessage: of protocol 3 */
    struct dsql_pg_params params; /* StartupMessage */
    uint32_t pid;                 /* CancelRequest */
    struct dsql_span key;         /* CancelRequest */
};

/*
 * body is what follows the length. DSQL_UNSUPPORTED for a protocol other than 3, with PostgreSQL's
 * text; DSQL_PROTOCOL for a packet that is malformed.
 */
DSQL_MUST_USE enum dsql_rc
dsql_pg_startup_parse(struct dsql_span body, struct dsql_pg_startup *startup, struct dsql_err *err);

/* Takes the first parameter off the list; false if it is empty. Iterate over a copy. */
bool dsql_pg_params_next(struct dsql_pg_params *rest, struct dsql_pg_param *param);

/* The value of a parameter. A client may give a name twice; the last one counts, as in PostgreSQL.
 */
bool dsql_pg_params_get(struct dsql_pg_params params, struct dsql_span name,
                        struct dsql_span *value);

/* Parameters whose name begins with _pq_. are options of the protocol, not of the session. */
bool dsql_pg_param_is_option(struct dsql_pg_param param);

/* Takes the first setting off the value of the parameter `options`, split as PostgreSQL splits it:
 * `-c name=value` or `--name=value`, where - in the name is _ and a backslash lets white space into
 * the value. Without a = the value is a NULL span. What else is there comes as a name that no
 * parameter has. False if there is none left. The setting is written to *word, of
 * DSQL_PG_STARTUP_MOST bytes, and holds until the next call. */
bool dsql_pg_options_next(struct dsql_span *rest, struct dsql_strbuf *word,
                          struct dsql_pg_param *setting);

/* Whether a server that speaks 3.0 to 3.newest_minor and no protocol option must answer with
 * NegotiateProtocolVersion. */
bool dsql_pg_startup_must_negotiate(const struct dsql_pg_startup *startup, uint16_t newest_minor);

#endif

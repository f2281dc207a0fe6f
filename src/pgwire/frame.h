/*
 * The framer cuts a stream of bytes into messages. It is fed whatever the socket gave and hands out
 * pieces. It looks at type and length only; what a body says is for the parsers.
 *
 * Words: the *length* of a message is the number on the wire, which counts itself but not the type
 * byte. A message up to its *whole* length always comes in one piece, header and body side by side;
 * a longer one comes in as many pieces as it arrives in, so that it can be passed on without being
 * held. A message above its *most* length is refused as soon as its length is known.
 *
 * Invariants:
 * (FR1) the `raw` bytes of all pieces, one after another, are the bytes that were fed;
 * (FR2) bytes are held only for a message that must come whole, or a header, that has not arrived
 *      completely; memory follows what has arrived, at most twice that (256 bytes to begin with),
 *      never the announced length;
 * (FR3) when next() says that it needs more and the stream stands between two messages, the framer
 *      owns no memory.
 *
 * A framer serves one direction of one connection. Single-threaded.
 */
#ifndef DSQL_PGWIRE_FRAME_H
#define DSQL_PGWIRE_FRAME_H

#include "base/strbuf.h"
#include "pgwire/proto.h"

enum {
    DSQL_PG_LENGTH_MIN = 4,        /* a length counts itself */
    DSQL_PG_HEADER = 5,            /* type and length */
    DSQL_PG_FE_SMALL_MOST = 10000, /* PQ_SMALL_MESSAGE_LIMIT of PostgreSQL */
    DSQL_PG_BE_SMALL_MOST = 30000, /* above, libpq believes only some types */
    DSQL_PG_LOGIN_MOST = 65535,    /* PG_MAX_AUTH_TOKEN_LENGTH; tokens have 350 to 2,000 bytes */
    DSQL_PG_STARTUP_LEAST = 8,     /* length and code */
    DSQL_PG_STARTUP_MOST = 10004,  /* MAX_STARTUP_PACKET_LENGTH does not count the length itself */
};

/* What lengths are taken, by type. All zero refuses every message. Shared by any number of framers,
 * which only read it. */
struct dsql_pg_limits {
    struct dsql_pg_limit {
        uint32_t whole;
        uint32_t most; /* 0: this type is refused */
    } of[256];
};

/* The messages of a running session: LARGE and STREAM ones up to `most`, STREAM ones in pieces. */
void dsql_pg_limits_session(struct dsql_pg_limits *limits, enum dsql_pg_side side, uint32_t most);

/* PasswordMessage and nothing else. */
void dsql_pg_limits_login(struct dsql_pg_limits *limits);

/* For one type. whole <= most <= INT32_MAX. */
void dsql_pg_limits_set(struct dsql_pg_limits *limits, uint8_t type, uint32_t whole, uint32_t most);

struct dsql_pg_framer {
    const struct dsql_pg_limits *limits;
    char *held; /* (FR2) */
    uint32_t held_cap;
    uint32_t total; /* of the message under way, type byte included; 0: not known yet */
    uint32_t done;  /* how much of it was held or handed out */
    uint8_t head[DSQL_PG_HEADER]; /* a header that came in parts */
    uint8_t head_len;
    uint8_t type;
    uint8_t state;
};

struct dsql_pg_piece {
    bool ready;      /* false: the input is used up, feed more; the rest of this struct is empty */
    bool first;      /* begins with the header */
    bool last;       /* ends the message; a piece that is first and last is the whole message */
    uint8_t type;    /* 0 for a startup packet */
    uint32_t length; /* of the whole message, as on the wire */
    struct dsql_span raw;  /* the bytes as they came, header included */
    struct dsql_span body; /* raw without the header */
};

/* Begins with startup packets: no type byte, always whole. What follows an SSLRequest in the same
 * read came before the encryption and must be refused by the caller (CVE-2021-23214). */
void dsql_pg_framer_init_startup(struct dsql_pg_framer *framer);

/* Begins with messages. limits must outlive the framer. */
void dsql_pg_framer_init(struct dsql_pg_framer *framer, const struct dsql_pg_limits *limits);

void dsql_pg_framer_fini(struct dsql_pg_framer *framer);

/* From the next message on these limits hold, and startup packets are over. To be called after a
 * last piece, before anything else is fed. */
void dsql_pg_framer_expect(struct dsql_pg_framer *framer, const struct dsql_pg_limits *limits);

/*
 * Takes bytes from the front of *in and gives the next piece, which lives until the next call and
 * no longer than the bytes of *in. Call until it is not ready; then *in is empty and may be freed.
 *
 * DSQL_PROTOCOL: an impossible length or an unknown type. DSQL_LIMIT: too long. DSQL_NO_MEMORY.
 * After any of them the stream is lost: every further call fails with DSQL_PROTOCOL.
 */
DSQL_MUST_USE enum dsql_rc dsql_pg_framer_next(struct dsql_pg_framer *framer, struct dsql_span *in,
                                               struct dsql_pg_piece *piece, struct dsql_err *err);

/* Takes the part of a message that has arrived back into out: the stream stands between two
 * messages then. The message is none that comes in pieces. */
void dsql_pg_framer_unread(struct dsql_pg_framer *framer, struct dsql_strbuf *out);

/* Whether the stream stands between two messages: an end of file there cuts nothing off. */
bool dsql_pg_framer_is_between(const struct dsql_pg_framer *framer);

#endif

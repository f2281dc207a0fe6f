/*
 * SCRAM-SHA-256 (RFC 5802, 7677), the server's side, without I/O and without channel binding.
 *
 * OpenSSL has the primitives. GNU SASL is not used: it refuses a first message with an empty user
 * name (GSASL_MECHANISM_PARSE_ERROR), and that is what libpq sends, because PostgreSQL takes the
 * name from the startup packet.
 */
#ifndef DSQL_PROXY_SCRAM_H
#define DSQL_PROXY_SCRAM_H

#include "base/strbuf.h"

enum {
    DSQL_SCRAM_KEY = 32,
    DSQL_SCRAM_SALT_MAX = 64,
    DSQL_SCRAM_NONCE = 24,         /* characters of the server's part */
    DSQL_SCRAM_ITERATIONS = 4096,  /* of a password that is stored in clear text, as PostgreSQL's */
    DSQL_SCRAM_MESSAGE_MAX = 1024, /* of a client's message */
};

/* What a server keeps instead of a password. Who has it can pose as the server, not as the user. */
struct dsql_scram_verifier {
    int iterations;
    size_t salt_len;
    unsigned char salt[DSQL_SCRAM_SALT_MAX];
    unsigned char stored_key[DSQL_SCRAM_KEY], server_key[DSQL_SCRAM_KEY];
};

/* "SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>"; false if the text is none. */
DSQL_MUST_USE bool dsql_scram_verifier_parse(struct dsql_span text,
                                             struct dsql_scram_verifier *verifier);

/* Of a password in clear text, with a salt of its own. */
DSQL_MUST_USE bool dsql_scram_verifier_of(struct dsql_span password,
                                          struct dsql_scram_verifier *verifier);

/* Of a user that does not exist: no proof ever fits, and the salt is the same each time for the
 * same name and secret, so that the answer does not tell. */
void dsql_scram_verifier_mock(struct dsql_span name, struct dsql_span secret,
                              struct dsql_scram_verifier *verifier);

/* One exchange. */
struct dsql_scram {
    struct dsql_scram_verifier verifier;
    char nonce[DSQL_SCRAM_NONCE + 1]; /* the server's part; random after init */
    char gs2;                         /* the client's flag of channel binding: n or y */
    struct dsql_strbuf said;          /* client-first-bare "," server-first */
    struct dsql_strbuf full_nonce;
};

void dsql_scram_init(struct dsql_scram *scram, const struct dsql_scram_verifier *verifier);
/* Wipes it. */
void dsql_scram_fini(struct dsql_scram *scram);

/* The client's first message; appends the server's. False: the message is malformed. */
DSQL_MUST_USE bool dsql_scram_first(struct dsql_scram *scram, struct dsql_span message,
                                    struct dsql_strbuf *reply);

/* The client's last message; appends the server's if the proof is right. False: it is not. */
DSQL_MUST_USE bool dsql_scram_final(struct dsql_scram *scram, struct dsql_span message,
                                    struct dsql_strbuf *reply);

#endif

/*
 * The DSQL token: what a client sends as its password. It is a presigned URL without the scheme,
 *
 *     <host>/?Action=DbConnect&X-Amz-Algorithm=...&X-Amz-Signature=<64 hex digits>
 *
 * made without any network call, and checked only at connect. The user's name is not in it, only
 * the action: DbConnectAdmin for the user admin, DbConnect for every other.
 *
 * dsql_token_mint() is the client's side, dsql_token_verify() the server's.
 */
#ifndef DSQL_AWS_TOKEN_H
#define DSQL_AWS_TOKEN_H

#include "aws/sigv4.h"

enum {
    DSQL_TOKEN_EXPIRES_DEFAULT_S = 900,
    DSQL_TOKEN_EXPIRES_MAX_S = DSQL_SIGV4_EXPIRES_MAX_S,
    DSQL_TOKEN_MAX = 16384, /* bytes; with a session token 2,000 are usual */
};

/* How far in the future a token's date may lie by default: what AWS allows for clocks that differ.
 */
#define DSQL_TOKEN_SKEW_DEFAULT_NS (5 * DSQL_M)

enum dsql_token_action {
    DSQL_TOKEN_CONNECT,       /* DbConnect */
    DSQL_TOKEN_CONNECT_ADMIN, /* DbConnectAdmin */
};

/* "DbConnect" or "DbConnectAdmin". Static storage. */
const char *dsql_token_action_name(enum dsql_token_action action);

/* The one that Aurora DSQL wants from this database user. */
enum dsql_token_action dsql_token_action_of(struct dsql_span user);

struct dsql_token_order {
    struct dsql_sigv4_keys keys;
    struct dsql_span host; /* without a port */
    struct dsql_span region;
    enum dsql_token_action action;
    struct dsql_wall at;
    int64_t expires_s; /* 1 to DSQL_TOKEN_EXPIRES_MAX_S */
};

/*
 * Makes a token. DSQL_INVALID, with a hint, if the order cannot be signed; DSQL_LIMIT if the
 * session token is so long that the token would pass DSQL_TOKEN_MAX. On failure *token keeps its
 * value.
 */
DSQL_MUST_USE enum dsql_rc dsql_token_mint(const struct dsql_token_order *order,
                                           struct dsql_secret *token, struct dsql_err *err);

/* Why a token is refused; each has the HINT that Aurora DSQL sends, as far as it is known. */
enum dsql_token_refusal {
    DSQL_TOKEN_MALFORMED,      /* not host/?query, or a parameter missing, twice, wrong */
    DSQL_TOKEN_ALGORITHM,      /* not AWS4-HMAC-SHA256 */
    DSQL_TOKEN_SIGNED_HEADERS, /* not exactly the host */
    DSQL_TOKEN_HOST,           /* signed for another host */
    DSQL_TOKEN_SCOPE,          /* another day, region or service */
    DSQL_TOKEN_UNKNOWN_KEY,    /* an access key id that is not known */
    DSQL_TOKEN_SESSION_TOKEN,  /* missing, wrong, or the key has none */
    DSQL_TOKEN_SIGNATURE,      /* not made with this key's secret */
    DSQL_TOKEN_KEY_EXPIRED,    /* the session behind the key has ended */
    DSQL_TOKEN_NOT_YET,        /* dated further in the future than clocks may differ */
    DSQL_TOKEN_EXPIRED,        /* older than X-Amz-Expires */
    DSQL_TOKEN_WRONG_ACTION,   /* not the action of this user */
    DSQL_TOKEN_NOT_AUTHORIZED, /* the key may not do this */
    DSQL_TOKEN_REFUSAL_COUNT
};

/* What a server knows of an access key; it owns nothing. */
struct dsql_token_key {
    const struct dsql_secret *secret_access_key;
    const struct dsql_secret *session_token; /* NULL or empty: tokens must not carry one either */
    struct dsql_wall valid_until;            /* the end of the session; 0 for never */
    struct dsql_span arn;                    /* the identity that signed; for the HINT */
    bool may_connect, may_connect_admin;
};

/* Where keys are looked up: the first member of whatever holds them. */
struct dsql_token_keyring {
    /* False if the access key id, which comes unchecked from the peer, is not known. What *key
     * points to must live until dsql_token_verify() returns. */
    bool (*find)(const struct dsql_token_keyring *self, struct dsql_span access_key_id,
                 struct dsql_token_key *key);
};

struct dsql_token_verifier {
    const struct dsql_token_keyring *keyring;
    struct dsql_span host; /* what a token must be signed for; upper or lower case */
    struct dsql_span also; /* a second name of the same server; empty for none */
    struct dsql_span region;
    int64_t skew_ns; /* how far in the future a token may be dated */
};

/*
 * Judges a token that came from a peer. DSQL_OK and nothing else lets the user in. A refusal is
 * DSQL_DENIED: *err is what Aurora DSQL would answer (SQLSTATE 08006, its message and HINT), and
 * *why, if not NULL, says which check failed. DSQL_NO_MEMORY says that no judgement was possible.
 *
 * The signature is checked before anything about time or permissions, so that only the owner of a
 * key learns those.
 */
DSQL_MUST_USE enum dsql_rc dsql_token_verify(const struct dsql_token_verifier *verifier,
                                             struct dsql_span token, struct dsql_span user,
                                             struct dsql_wall now, enum dsql_token_refusal *why,
                                             struct dsql_err *err);

#endif

/*
 * aws: what this library must speak of AWS: signatures (SigV4), credentials, the DSQL token, the
 * DynamoDB API. It sees base, core, config and metrics.
 *
 *     credentials.c    keys and their refresh, in one thread; chain.c the places they come from:
 *                      provider_metadata.c, provider_profile.c
 *     aws_env.c, profile.c, ini.c, process.c, keys.c, keys_json.c, sts.c, sts_xml.c
 *                      what these places need
 *     token.c, token_cache.c, endpoint.c    the DSQL token, and the names of clusters
 *     dynamodb.c, dynamodb_reply.c          the DynamoDB API
 *     http.c, sigv4.c, uri.c, amz_time.c    a request, its signature, and how both are spelled
 *
 * This header is AWS Signature Version 4, made of pure functions: no clock, no network. A request
 * is signed in one of two forms:
 *
 *     dsql_sigv4_sign()       the signature is in an Authorization header
 *     dsql_sigv4_presign()    the signature is in the query string
 *
 * Words: the *canonical request* is the request in the one spelling both sides agree on; the
 * *string to sign* is its hash with time and scope; the *scope* is day/region/service/aws4_request.
 *
 * Texts that hold a secret on the way (the canonical request holds the session token) are wiped.
 */
#ifndef DSQL_AWS_SIGV4_H
#define DSQL_AWS_SIGV4_H

#include "base/secret.h"
#include "base/strbuf.h"
#include "base/time.h"

#define DSQL_SIGV4_ALGORITHM     "AWS4-HMAC-SHA256"
#define DSQL_SIGV4_TERMINATOR    "aws4_request"
#define DSQL_SIGV4_EMPTY_PAYLOAD "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* For a payload that the signature does not cover. */
#define DSQL_SIGV4_UNSIGNED_PAYLOAD "UNSIGNED-PAYLOAD"

enum {
    DSQL_SIGV4_HEX_LEN = 64, /* a SHA-256 in hexadecimal: payload hashes and signatures */
    DSQL_SIGV4_HEX_SIZE = DSQL_SIGV4_HEX_LEN + 1,
    DSQL_SIGV4_HEADERS_MAX = 32, /* headers of a request, those that the signer adds included */
    DSQL_SIGV4_ADDED_MAX = 4,
    DSQL_SIGV4_EXPIRES_MAX_S = 604800, /* one week */
};

/* A view of credentials that the caller owns. */
struct dsql_sigv4_keys {
    struct dsql_span access_key_id;
    const struct dsql_secret *secret_access_key;
    const struct dsql_secret *session_token; /* NULL or empty for long-term keys */
};

struct dsql_sigv4_header {
    struct dsql_span name, value;
};

struct dsql_sigv4_request {
    struct dsql_span method;
    struct dsql_span path;                   /* as sent; begins with a slash */
    struct dsql_span query;                  /* as sent, without the question mark */
    const struct dsql_sigv4_header *headers; /* all of these are signed; Host must be among them */
    size_t header_count;
    struct dsql_span payload_hash; /* of dsql_sigv4_hash(), or one of the two constants above */
};

/* Where the steps of a signature are written down, for tests and explanations. The canonical
 * request holds the session token: treat it as a secret. */
struct dsql_sigv4_trace {
    struct dsql_strbuf *canonical_request;
    struct dsql_strbuf *string_to_sign;
};

/* Who signs, for what, when and how. */
struct dsql_sigv4_signer {
    struct dsql_sigv4_keys keys;
    struct dsql_span region, service;
    struct dsql_wall at;
    bool keep_path;                       /* sign the path without normalizing it */
    bool late_session_token;              /* the session token is sent but not signed */
    bool send_payload_hash;               /* header form: x-amz-content-sha256 is sent and signed */
    const struct dsql_sigv4_trace *trace; /* may be NULL */
};

/* The headers to send besides the request's own. The values live in the signer's secrets, the
 * request's payload hash and the text that dsql_sigv4_sign() was given. */
struct dsql_sigv4_added {
    struct dsql_sigv4_header headers[DSQL_SIGV4_ADDED_MAX];
    size_t count;
};

/* The SHA-256 of a payload in hexadecimal. */
DSQL_MUST_USE enum dsql_rc dsql_sigv4_hash(struct dsql_span payload, char hex[DSQL_SIGV4_HEX_SIZE],
                                           struct dsql_err *err);

/*
 * The header form. Appends to *text, which must not change while *added is in use. DSQL_INVALID if
 * key, scope or request have a part that cannot be signed; DSQL_LIMIT if there is too much of it or
 * the text does not fit.
 */
DSQL_MUST_USE enum dsql_rc dsql_sigv4_sign(const struct dsql_sigv4_signer *signer,
                                           const struct dsql_sigv4_request *request,
                                           struct dsql_strbuf *text, struct dsql_sigv4_added *added,
                                           struct dsql_err *err);

/*
 * The query form. Appends to *query all that follows the question mark: the request's own query,
 * then the X-Amz- parameters, the signature last. It holds the session token: the caller wipes it.
 * Fails like dsql_sigv4_sign(); what was appended by then is of no use.
 */
DSQL_MUST_USE enum dsql_rc dsql_sigv4_presign(const struct dsql_sigv4_signer *signer,
                                              const struct dsql_sigv4_request *request,
                                              int64_t expires_s, struct dsql_strbuf *query,
                                              struct dsql_err *err);

/*
 * The other side of the query form: request->query is as received, X-Amz-Signature included. Checks
 * the signature against signer's secret, scope and time, and nothing else: what the parameters say
 * is for the caller to judge. DSQL_DENIED if it does not match or there is not exactly one;
 * otherwise fails like dsql_sigv4_sign().
 */
DSQL_MUST_USE enum dsql_rc dsql_sigv4_verify_presigned(const struct dsql_sigv4_signer *signer,
                                                       const struct dsql_sigv4_request *request,
                                                       struct dsql_err *err);

#endif

/*
 * What a peer or a person can put in front of the aws parsers. The first byte chooses what the rest
 * is: 't'  a token, judged as it is 's'  the parameters of a token, signed with the right key, so
 * that the checks behind the signature are reached as well 'm'  a session token: what is minted
 * with it must be accepted, and not from another user 'e'  an endpoint, and after a blank a region
 *   'd'  a date
 */
#include <stdlib.h>

#include "aws/amz_time.h"
#include "aws/endpoint.h"
#include "aws/token.h"
#include "support/fuzz.h"

#define HOST "peccy.dsql.us-east-1.on.aws"

static struct dsql_secret secret = {0}, session_token = {0};
static const struct dsql_wall now = {INT64_C(1724716800) * DSQL_S}; /* 20240827T000000Z */

/* Not assert: a finding must stop the fuzzer however it was built. */
static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool find_key(const struct dsql_token_keyring *self, struct dsql_span access_key_id,
                     struct dsql_token_key *key)
{
    (void)self;
    *key = (struct dsql_token_key){.secret_access_key = &secret,
                                   .session_token = &session_token,
                                   .arn = DSQL_SPAN("arn:aws:iam::1:user/a"),
                                   .may_connect = true};
    return dsql_span_eq(access_key_id, DSQL_SPAN("akid"));
}

static enum dsql_rc judge(struct dsql_span token, struct dsql_span user)
{
    const struct dsql_token_keyring keyring = {find_key};
    const struct dsql_token_verifier verifier = {.keyring = &keyring,
                                                 .host = DSQL_SPAN(HOST),
                                                 .region = DSQL_SPAN("us-east-1"),
                                                 .skew_ns = DSQL_TOKEN_SKEW_DEFAULT_NS};
    struct dsql_err err;
    enum dsql_token_refusal why = DSQL_TOKEN_REFUSAL_COUNT;
    enum dsql_rc rc = dsql_token_verify(&verifier, token, user, now, &why, &err);
    require(rc == DSQL_OK || rc == DSQL_DENIED);
    if (rc) {
        require(why < DSQL_TOKEN_REFUSAL_COUNT);
        require(err.hint[0] != '\0' && memchr(err.hint, '\0', sizeof(err.hint)));
    }
    return rc;
}

static void fuzz_signed(struct dsql_span params)
{
    char text[DSQL_TOKEN_MAX + 1];
    struct dsql_strbuf sb;
    struct dsql_sigv4_header host = {DSQL_SPAN("host"), DSQL_SPAN(HOST)};
    struct dsql_sigv4_request request = {.method = DSQL_SPAN("GET"),
                                         .path = DSQL_SPAN("/"),
                                         .query = params,
                                         .headers = &host,
                                         .header_count = 1,
                                         .payload_hash = DSQL_SPAN(DSQL_SIGV4_EMPTY_PAYLOAD)};
    struct dsql_sigv4_signer signer = {
        .keys = {DSQL_SPAN("akid"), &secret, &session_token},
        .region = DSQL_SPAN("us-east-1"),
        .service = DSQL_SPAN("dsql"),
        .at = now,
    };
    dsql_strbuf_init(&sb, text, sizeof(text));
    dsql_strbuf_add_str(&sb, HOST "/?");
    if (dsql_sigv4_presign(&signer, &request, 900, &sb, NULL))
        return;
    enum dsql_rc user = judge(dsql_strbuf_span(&sb), DSQL_SPAN("app"));
    enum dsql_rc admin = judge(dsql_strbuf_span(&sb), DSQL_SPAN("admin"));
    require(user == DSQL_DENIED || admin == DSQL_DENIED);
}

static void fuzz_mint(struct dsql_span text)
{
    struct dsql_secret token = {0};
    struct dsql_token_order order = {.keys = {DSQL_SPAN("akid"), &secret, &session_token},
                                     .host = DSQL_SPAN(HOST),
                                     .region = DSQL_SPAN("us-east-1"),
                                     .action = DSQL_TOKEN_CONNECT,
                                     .at = now,
                                     .expires_s = DSQL_TOKEN_EXPIRES_DEFAULT_S};
    if (!dsql_secret_set(&session_token, text) && !dsql_token_mint(&order, &token, NULL)) {
        require(judge(dsql_revealed_span(dsql_secret_reveal(&token)), DSQL_SPAN("app")) == DSQL_OK);
        require(judge(dsql_revealed_span(dsql_secret_reveal(&token)), DSQL_SPAN("admin")) ==
                DSQL_DENIED);
    }
    dsql_secret_fini(&token);
    dsql_secret_fini(&session_token);
}

static void fuzz_endpoint(struct dsql_span text)
{
    struct dsql_span name, region;
    struct dsql_endpoint endpoint, again;
    (void)dsql_span_cut(text, ' ', &name, &region);
    if (dsql_endpoint_parse(name, region, &endpoint, NULL))
        return;
    struct dsql_span host = dsql_span_of(endpoint.host);
    require(dsql_endpoint_is_host(host) && dsql_endpoint_is_region(dsql_span_of(endpoint.region)));
    require(dsql_endpoint_parse(host, dsql_span_of(endpoint.region), &again, NULL) == DSQL_OK);
    require(dsql_span_eq(host, dsql_span_of(again.host)));
}

static void fuzz_date(struct dsql_span text)
{
    struct dsql_wall t;
    char again[DSQL_AMZ_TIME_SIZE];
    if (!dsql_amz_time_parse(text, &t))
        return;
    dsql_amz_time_format(again, t);
    require(dsql_span_eq(text, dsql_span_of(again)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (dsql_secret_is_empty(&secret) && dsql_secret_set(&secret, DSQL_SPAN("secret")))
        abort();
    if (size == 0)
        return 0;
    struct dsql_span rest = {(const char *)data + 1, size - 1};
    switch (data[0]) {
    case 't':
        (void)judge(rest, DSQL_SPAN("app"));
        break;
    case 's':
        fuzz_signed(rest);
        break;
    case 'm':
        fuzz_mint(rest);
        break;
    case 'e':
        fuzz_endpoint(rest);
        break;
    case 'd':
        fuzz_date(rest);
        break;
    default:
        break;
    }
    return 0;
}

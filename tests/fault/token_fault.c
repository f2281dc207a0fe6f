/* The Nth allocation fails while a token is made and judged. */
#include "aws/token.h"
#include "support/alloc_fault.h"
#include "support/test.h"

static struct dsql_secret secret_key;

static bool find_key(const struct dsql_token_keyring *self, struct dsql_span id,
                     struct dsql_token_key *key)
{
    (void)self;
    *key = (struct dsql_token_key){.secret_access_key = &secret_key, .may_connect = true};
    return dsql_span_eq(id, DSQL_SPAN("akid"));
}

static bool mint_and_verify(void)
{
    const struct dsql_token_keyring keyring = {find_key};
    const struct dsql_token_verifier verifier = {
        .keyring = &keyring, .host = DSQL_SPAN("localhost"), .region = DSQL_SPAN("us-east-1")};
    const struct dsql_token_order order = {
        .keys = {.access_key_id = DSQL_SPAN("akid"), .secret_access_key = &secret_key},
        .host = verifier.host,
        .region = verifier.region,
        .at = {INT64_C(1724716800) * DSQL_S},
        .expires_s = 60,
    };
    struct dsql_secret token = {0};
    struct dsql_err err;
    bool ok = dsql_token_mint(&order, &token, &err) == DSQL_OK &&
              dsql_token_verify(&verifier, dsql_revealed_span(dsql_secret_reveal(&token)),
                                DSQL_SPAN("app"), order.at, NULL, &err) == DSQL_OK;
    if (!ok)
        assert_int_equal(err.rc, DSQL_NO_MEMORY);
    dsql_secret_fini(&token);
    return ok;
}

TEST(mint_and_verify_survive)
{
    assert_int_equal(dsql_secret_set(&secret_key, DSQL_SPAN("secret")), DSQL_OK);
    assert_true(alloc_fault_run("mint and verify", mint_and_verify, false) > 3);
    dsql_secret_fini(&secret_key);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mint_and_verify_survive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

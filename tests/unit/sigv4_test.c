/* What the vectors do not cover: signed session tokens, unsigned payloads, and everything refused.
 */
#include <stdio.h>

#include "aws/amz_time.h"
#include "aws/sigv4.h"
#include "support/test.h"

struct fixture {
    struct dsql_secret secret, session_token;
    struct dsql_sigv4_signer signer;
    struct dsql_sigv4_header headers[DSQL_SIGV4_HEADERS_MAX + 1];
    struct dsql_sigv4_request request;
    char memory[4096];
    struct dsql_strbuf text;
    struct dsql_sigv4_added added;
    struct dsql_err err;
};

static struct fixture f;

static int set_up(void **state)
{
    (void)state;
    f = (struct fixture){0};
    dsql_strbuf_init(&f.text, f.memory, sizeof(f.memory));
    f.signer.keys.access_key_id = DSQL_SPAN("AKIDEXAMPLE");
    f.signer.keys.secret_access_key = &f.secret;
    f.signer.keys.session_token = &f.session_token;
    f.signer.region = DSQL_SPAN("us-east-1");
    f.signer.service = DSQL_SPAN("service");
    f.headers[0] =
        (struct dsql_sigv4_header){DSQL_SPAN("Host"), DSQL_SPAN("example.amazonaws.com")};
    f.request = (struct dsql_sigv4_request){
        .method = DSQL_SPAN("POST"),
        .path = DSQL_SPAN("/"),
        .headers = f.headers,
        .header_count = 1,
        .payload_hash = DSQL_SPAN(DSQL_SIGV4_EMPTY_PAYLOAD),
    };
    return dsql_amz_time_parse(DSQL_SPAN("20150830T123600Z"), &f.signer.at) &&
                   !dsql_secret_set(&f.secret,
                                    DSQL_SPAN("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"))
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    dsql_secret_fini(&f.secret);
    dsql_secret_fini(&f.session_token);
    return 0;
}

static void add_header(const char *name, const char *value)
{
    f.headers[f.request.header_count++] =
        (struct dsql_sigv4_header){dsql_span_of(name), dsql_span_of(value)};
}

static void set_session_token(const char *text)
{
    assert_int_equal(dsql_secret_set(&f.session_token, dsql_span_of(text)), DSQL_OK);
}

static enum dsql_rc sign(void)
{
    return dsql_sigv4_sign(&f.signer, &f.request, &f.text, &f.added, &f.err);
}

static enum dsql_rc presign(int64_t expires_s)
{
    return dsql_sigv4_presign(&f.signer, &f.request, expires_s, &f.text, &f.err);
}

static void expect_added(size_t at, const char *name, const char *value)
{
    assert_true(at < f.added.count);
    assert_true(dsql_span_eq(f.added.headers[at].name, dsql_span_of(name)));
    assert_true(dsql_span_eq(f.added.headers[at].value, dsql_span_of(value)));
}

/* Known from the public test suite: post-sts-header-before. */
TEST(signed_session_token)
{
    static const char token[] =
        "AQoDYXdzEPT//////////"
        "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpS"
        "PfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/"
        "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDY"
        "wT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
        "scqK"
        "mlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";
    set_session_token(token);
    assert_int_equal(sign(), DSQL_OK);
    assert_int_equal(f.added.count, 3);
    expect_added(0, "x-amz-date", "20150830T123600Z");
    expect_added(1, "x-amz-security-token", token);
    expect_added(2, "authorization",
                 "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                 "SignedHeaders=host;x-amz-date;x-amz-security-token, "
                 "Signature=85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead");
}

/* A request as the DynamoDB client sends it; the answer is botocore's. */
TEST(dynamodb_request)
{
    char hash[DSQL_SIGV4_HEX_SIZE];
    set_session_token("short+token/==");
    f.signer.region = DSQL_SPAN("eu-west-1");
    f.signer.service = DSQL_SPAN("dynamodb");
    f.headers[0].value = DSQL_SPAN("dynamodb.eu-west-1.amazonaws.com");
    add_header("X-Amz-Target", "DynamoDB_20120810.DescribeTable");
    add_header("Content-Type", "application/x-amz-json-1.0");
    assert_int_equal(dsql_sigv4_hash(DSQL_SPAN("{\"TableName\":\"t\"}"), hash, NULL), DSQL_OK);
    f.request.payload_hash = dsql_span_of(hash);
    assert_int_equal(sign(), DSQL_OK);
    expect_added(
        2, "authorization",
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-west-1/dynamodb/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, "
        "Signature=c51002bf83878a92c3b224b6faf74d879ebdadcb9ac2839bfc846a0c37ef80f9");
}

/* The example in the documentation of Amazon S3. */
TEST(unsigned_payload)
{
    assert_int_equal(
        dsql_secret_set(&f.secret, DSQL_SPAN("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")), DSQL_OK);
    assert_true(dsql_amz_time_parse(DSQL_SPAN("20130524T000000Z"), &f.signer.at));
    f.signer.keys.access_key_id = DSQL_SPAN("AKIAIOSFODNN7EXAMPLE");
    f.signer.service = DSQL_SPAN("s3");
    f.headers[0].value = DSQL_SPAN("examplebucket.s3.amazonaws.com");
    f.request.method = DSQL_SPAN("GET");
    f.request.path = DSQL_SPAN("/test.txt");
    f.request.payload_hash = DSQL_SPAN(DSQL_SIGV4_UNSIGNED_PAYLOAD);
    assert_int_equal(presign(86400), DSQL_OK);
    assert_string_equal(
        f.memory,
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2F"
        "us-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&"
        "X-Amz-SignedHeaders=host&"
        "X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
}

TEST(payload_hash)
{
    char hex[DSQL_SIGV4_HEX_SIZE];
    assert_int_equal(dsql_sigv4_hash(DSQL_SPAN(""), hex, NULL), DSQL_OK);
    assert_string_equal(hex, DSQL_SIGV4_EMPTY_PAYLOAD);
    assert_int_equal(dsql_sigv4_hash(DSQL_SPAN("abc"), hex, NULL), DSQL_OK);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void expect_refused(enum dsql_rc rc, enum dsql_rc wanted, const char *message)
{
    assert_int_equal(rc, wanted);
    assert_int_equal(f.err.rc, wanted);
    assert_string_equal(f.err.message, message);
}

/* A name that begins another goes first, as shorter words do. */
TEST(order_of_headers)
{
    STRBUF(canonical, 1024);
    STRBUF(to_sign, 1024);
    struct dsql_sigv4_trace trace = {&canonical, &to_sign};
    f.signer.trace = &trace;
    add_header("My-Header-2", "b");
    add_header("my-header", "a");
    add_header("A", "1");
    add_header("MY-HEADER", "");
    assert_int_equal(presign(900), DSQL_OK);
    assert_non_null(strstr(canonical.ptr, "\na:1\nhost:example.amazonaws.com\nmy-header:a,\n"
                                          "my-header-2:b\n\na;host;my-header;my-header-2\n"));
    f.signer.trace = NULL;
}

TEST(bad_keys)
{
    struct dsql_secret empty = {0};
    f.signer.keys.access_key_id = DSQL_SPAN("AKID/EXAMPLE");
    expect_refused(sign(), DSQL_INVALID, "the access key id is not 1 to 128 letters and digits");
    f.signer.keys.access_key_id = DSQL_SPAN("");
    expect_refused(presign(900), DSQL_INVALID,
                   "the access key id is not 1 to 128 letters and digits");
    f.signer.keys.access_key_id = DSQL_SPAN("AKID\0EXAMPLE");
    expect_refused(sign(), DSQL_INVALID, "the access key id is not 1 to 128 letters and digits");
    f.signer.keys.access_key_id = DSQL_SPAN("AKIDEXAMPLE");
    f.signer.keys.secret_access_key = &empty;
    expect_refused(sign(), DSQL_INVALID, "the secret access key is not 1 to 256 bytes long");
    assert_string_equal(f.err.hint, "Check AWS_SECRET_ACCESS_KEY or the profile it comes from.");
    char long_secret[300];
    memset(long_secret, 'x', sizeof(long_secret));
    f.signer.keys.secret_access_key = &f.secret;
    assert_int_equal(dsql_secret_set(&f.secret, (struct dsql_span){long_secret, 256}), DSQL_OK);
    assert_int_equal(sign(), DSQL_OK);
    assert_int_equal(dsql_secret_set(&f.secret, (struct dsql_span){long_secret, 257}), DSQL_OK);
    expect_refused(sign(), DSQL_INVALID, "the secret access key is not 1 to 256 bytes long");
}

TEST(bad_requests)
{
    struct dsql_sigv4_request good = f.request;
    f.signer.region = DSQL_SPAN("us east");
    expect_refused(sign(), DSQL_INVALID, "'us east' is not the name of an AWS region");
    f.signer.region = DSQL_SPAN("us-east-1");
    f.request.method = DSQL_SPAN("GET /");
    expect_refused(sign(), DSQL_INVALID, "'GET /' is not an HTTP method");
    f.request = good;
    f.request.path = DSQL_SPAN("x");
    expect_refused(sign(), DSQL_INVALID, "the path 'x' does not begin with a slash");
    f.request = good;
    f.request.payload_hash = DSQL_SPAN("a\nb");
    expect_refused(sign(), DSQL_INVALID, "'a\nb' is not the hash of a payload");
    f.request = good;
    f.request.query = DSQL_SPAN("a=%1");
    expect_refused(sign(), DSQL_INVALID, "a query parameter has a broken % escape");
    f.request = good;
    f.headers[0].name = DSQL_SPAN("Hostess");
    expect_refused(sign(), DSQL_INVALID, "a request cannot be signed without a Host header");
}

TEST(bad_headers)
{
    add_header("My Header", "x");
    expect_refused(sign(), DSQL_INVALID, "'My Header' is not the name of a header");
    f.request.header_count = 1;
    add_header("X-AMZ-Date", "20150830T123600Z");
    expect_refused(sign(), DSQL_INVALID, "the request already has the header x-amz-date");
    f.request.header_count = 1;
    /* The signer needs one place for the date. */
    while (f.request.header_count < DSQL_SIGV4_HEADERS_MAX - 1)
        add_header("more", "x");
    assert_int_equal(sign(), DSQL_OK);
    add_header("more", "x");
    expect_refused(sign(), DSQL_LIMIT, "more than 32 headers to sign");
    assert_int_equal(presign(900), DSQL_OK);
    add_header("more", "x");
    expect_refused(presign(900), DSQL_LIMIT, "more than 32 headers to sign");
}

TEST(bad_presign)
{
    expect_refused(presign(0), DSQL_INVALID, "an expiry of 0 s is not within 1 to 604800 s");
    expect_refused(presign(604801), DSQL_INVALID,
                   "an expiry of 604801 s is not within 1 to 604800 s");
    assert_int_equal(presign(604800), DSQL_OK);
    f.request.query = DSQL_SPAN("a=1&x-amz-date=2");
    expect_refused(presign(1), DSQL_INVALID, "the query already has the parameter x-amz-date");
}

/* Into every size of buffer: it either fits whole or is refused, and never writes past the end. */
TEST(small_buffers)
{
    set_session_token("token");
    assert_int_equal(presign(900), DSQL_OK);
    size_t presigned = f.text.len;
    dsql_strbuf_clear(&f.text);
    assert_int_equal(sign(), DSQL_OK);
    size_t signed_ = f.text.len;
    for (size_t cap = 1; cap <= presigned + 1; cap++) {
        dsql_strbuf_init(&f.text, f.memory, cap);
        assert_int_equal(presign(900), cap > presigned ? DSQL_OK : DSQL_LIMIT);
    }
    for (size_t cap = 1; cap <= signed_ + 1; cap++) {
        struct dsql_sigv4_added before = f.added;
        dsql_strbuf_init(&f.text, f.memory, cap);
        assert_int_equal(sign(), cap > signed_ ? DSQL_OK : DSQL_LIMIT);
        if (cap <= signed_)
            assert_memory_equal(&before, &f.added, sizeof(before));
    }
}

/* A growing buffer moves while it is filled; the headers must point to where it ends up. */
TEST(heap_buffer)
{
    struct dsql_strbuf heap;
    dsql_strbuf_init_heap(&heap, 4096);
    assert_int_equal(dsql_sigv4_sign(&f.signer, &f.request, &heap, &f.added, &f.err), DSQL_OK);
    expect_added(0, "x-amz-date", "20150830T123600Z");
    expect_added(1, "authorization",
                 "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                 "SignedHeaders=host;x-amz-date, "
                 "Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
    dsql_strbuf_fini(&heap);
}

TEST(verify)
{
    static char twice[8192];
    f.request.query = DSQL_SPAN("b=2&a=1");
    assert_int_equal(presign(900), DSQL_OK);
    f.request.query = dsql_strbuf_span(&f.text);
    assert_int_equal(dsql_sigv4_verify_presigned(&f.signer, &f.request, &f.err), DSQL_OK);

    (void)snprintf(twice, sizeof(twice), "%s&X-Amz-Signature=x", f.memory);
    f.request.query = dsql_span_of(twice);
    expect_refused(dsql_sigv4_verify_presigned(&f.signer, &f.request, &f.err), DSQL_DENIED,
                   "the query has 2 signatures instead of one");
    f.request.query = DSQL_SPAN("a=1");
    expect_refused(dsql_sigv4_verify_presigned(&f.signer, &f.request, &f.err), DSQL_DENIED,
                   "the query has 0 signatures instead of one");
    f.request.query = dsql_strbuf_span(&f.text);
    assert_int_equal(dsql_secret_set(&f.secret, DSQL_SPAN("another")), DSQL_OK);
    expect_refused(dsql_sigv4_verify_presigned(&f.signer, &f.request, &f.err), DSQL_DENIED,
                   "the signature does not match");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(signed_session_token), CASE(dynamodb_request), CASE(unsigned_payload),
        CASE(payload_hash),         CASE(order_of_headers), CASE(bad_keys),
        CASE(bad_requests),         CASE(bad_headers),      CASE(bad_presign),
        CASE(small_buffers),        CASE(heap_buffer),      CASE(verify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * The known answers of tests/vectors/sigv4, each in header and in query form: every step must be
 * equal to the byte, and what was presigned must verify.
 */
#include <dirent.h>
#include <stdio.h>

#include "aws/amz_time.h"
#include "aws/sigv4.h"
#include "aws/uri.h"
#include "support/test.h"

#ifndef DSQL_SOURCE_DIR
#define DSQL_SOURCE_DIR "."
#endif

#define VECTORS DSQL_SOURCE_DIR "/tests/vectors/sigv4"

enum { VECTOR_COUNT = 30, HEADERS_MAX = 8, TEXT_MAX = 8192 };

struct vector {
    const char *name;
    char text[TEXT_MAX];
    size_t len;
    struct dsql_secret secret, session_token;
    struct dsql_sigv4_signer signer;
    struct dsql_sigv4_header headers[HEADERS_MAX];
    struct dsql_sigv4_request request;
    char payload_hash[DSQL_SIGV4_HEX_SIZE];
    int64_t expires_s;
};

static void expect(const struct vector *vector, const char *what, struct dsql_span got,
                   struct dsql_span wanted)
{
    if (!dsql_span_eq(got, wanted))
        fail_msg("%s: %s is\n%.*s\ninstead of\n%.*s", vector->name, what, DSQL_SPAN_ARG(got),
                 DSQL_SPAN_ARG(wanted));
}

static struct dsql_span section(const struct vector *vector, const char *name)
{
    struct dsql_span rest = {vector->text, vector->len}, line;
    while (dsql_span_cut(rest, '\n', &line, &rest)) {
        if (!dsql_span_starts(line, DSQL_SPAN("--- ")) ||
            !dsql_span_eq(dsql_span_from(line, 4), dsql_span_of(name)))
            continue;
        const char *end = memmem(rest.ptr, rest.len, "\n--- ", 5);
        return dsql_span_first(rest, end ? (size_t)(end - rest.ptr) : rest.len - 1);
    }
    fail_msg("%s: no section '%s'", vector->name, name);
    return DSQL_SPAN("");
}

/* Empty if the context does not have it. */
static struct dsql_span setting(const struct vector *vector, const char *name)
{
    struct dsql_span rest = section(vector, "context"), line, key, value;
    for (bool more = true; more;) {
        more = dsql_span_cut(rest, '\n', &line, &rest);
        if (dsql_span_cut(line, ' ', &key, &value) && dsql_span_eq(key, dsql_span_of(name)))
            return value;
    }
    return DSQL_SPAN("");
}

static bool is_on(const struct vector *vector, const char *name)
{
    return dsql_span_eq(setting(vector, name), DSQL_SPAN("yes"));
}

static void read_signer(struct vector *vector)
{
    struct dsql_sigv4_signer *signer = &vector->signer;
    assert_int_equal(dsql_secret_set(&vector->secret, setting(vector, "secret-access-key")),
                     DSQL_OK);
    assert_int_equal(dsql_secret_set(&vector->session_token, setting(vector, "session-token")),
                     DSQL_OK);
    signer->keys.access_key_id = setting(vector, "access-key-id");
    signer->keys.secret_access_key = &vector->secret;
    signer->keys.session_token = &vector->session_token;
    signer->region = setting(vector, "region");
    signer->service = setting(vector, "service");
    signer->keep_path = is_on(vector, "keep-path");
    signer->send_payload_hash = is_on(vector, "send-payload-hash");
    signer->late_session_token = is_on(vector, "late-session-token");
    assert_true(dsql_amz_time_parse(setting(vector, "time"), &signer->at));
    assert_true(dsql_span_to_i64(setting(vector, "expires"), &vector->expires_s));
}

/* One header from the front of *rest, with the lines it is folded over; false at the empty line. */
static bool next_header(struct dsql_span *rest, struct dsql_sigv4_header *header)
{
    struct dsql_span line;
    (void)dsql_span_cut(*rest, '\n', &line, rest);
    if (!dsql_span_cut(line, ':', &header->name, &header->value))
        return false;
    while (rest->len > 0 && rest->ptr[0] == ' ') {
        (void)dsql_span_cut(*rest, '\n', &line, rest);
        header->value.len = (size_t)(line.ptr + line.len - header->value.ptr);
    }
    return true;
}

static void read_request(struct vector *vector)
{
    struct dsql_sigv4_request *request = &vector->request;
    struct dsql_span rest = section(vector, "request"), line;
    (void)dsql_span_cut(rest, '\n', &line, &rest);
    assert_true(dsql_span_cut(line, ' ', &request->method, &line));
    line.len -= strlen(" HTTP/1.1"); /* a path may have blanks */
    (void)dsql_span_cut(line, '?', &request->path, &request->query);

    request->headers = vector->headers;
    while (next_header(&rest, &vector->headers[request->header_count])) {
        request->header_count++;
        assert_true(request->header_count < HEADERS_MAX);
    }
    assert_int_equal(dsql_sigv4_hash(rest, vector->payload_hash, NULL), DSQL_OK);
    request->payload_hash = dsql_span_of(vector->payload_hash);
}

static void load(struct vector *vector, const char *name)
{
    char path[1024];
    (void)snprintf(path, sizeof(path), "%s/%s", VECTORS, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    *vector = (struct vector){.name = name};
    vector->len = fread(vector->text, 1, sizeof(vector->text), file);
    assert_true(vector->len < sizeof(vector->text));
    (void)fclose(file);
    read_signer(vector);
    read_request(vector);
}

static void unload(struct vector *vector)
{
    dsql_secret_fini(&vector->secret);
    dsql_secret_fini(&vector->session_token);
}

static struct dsql_span added_value(const struct dsql_sigv4_added *added, const char *name)
{
    for (size_t i = 0; i < added->count; i++)
        if (dsql_span_eq(added->headers[i].name, dsql_span_of(name)))
            return added->headers[i].value;
    return DSQL_SPAN("");
}

static void check_header_form(struct vector *vector, struct dsql_strbuf *canonical,
                              struct dsql_strbuf *to_sign)
{
    char memory[1024];
    struct dsql_strbuf text;
    struct dsql_sigv4_added added;
    dsql_strbuf_init(&text, memory, sizeof(memory));
    assert_int_equal(dsql_sigv4_sign(&vector->signer, &vector->request, &text, &added, NULL),
                     DSQL_OK);
    expect(vector, "header canonical request", dsql_strbuf_span(canonical),
           section(vector, "header canonical request"));
    expect(vector, "header string to sign", dsql_strbuf_span(to_sign),
           section(vector, "header string to sign"));
    struct dsql_span authorization = added_value(&added, "authorization");
    expect(vector, "authorization", authorization, section(vector, "header authorization"));
    expect(vector, "header signature", dsql_span_from(authorization, authorization.len - 64),
           section(vector, "header signature"));
    expect(vector, "x-amz-date", added_value(&added, "x-amz-date"), setting(vector, "time"));
    expect(vector, "x-amz-security-token", added_value(&added, "x-amz-security-token"),
           setting(vector, "session-token"));
    expect(vector, "x-amz-content-sha256", added_value(&added, "x-amz-content-sha256"),
           vector->signer.send_payload_hash ? vector->request.payload_hash : DSQL_SPAN(""));
}

static bool has_param(struct dsql_span query, struct dsql_span name, struct dsql_span value)
{
    struct dsql_span other_name, other_value;
    while (dsql_uri_next_param(&query, &other_name, &other_value))
        if (dsql_span_eq(name, other_name) && dsql_span_eq(value, other_value))
            return true;
    return false;
}

/* The same parameters, in whatever order. */
static void expect_params(const struct vector *vector, struct dsql_span got,
                          struct dsql_span wanted)
{
    struct dsql_span rest = wanted, name, value;
    assert_int_equal(got.len, wanted.len);
    while (dsql_uri_next_param(&rest, &name, &value))
        if (!has_param(got, name, value))
            fail_msg("%s: no parameter %.*s=%.*s", vector->name, DSQL_SPAN_ARG(name),
                     DSQL_SPAN_ARG(value));
}

static void check_query_form(struct vector *vector, struct dsql_strbuf *canonical,
                             struct dsql_strbuf *to_sign)
{
    char memory[4096];
    struct dsql_strbuf query;
    dsql_strbuf_init(&query, memory, sizeof(memory));
    assert_int_equal(
        dsql_sigv4_presign(&vector->signer, &vector->request, vector->expires_s, &query, NULL),
        DSQL_OK);
    expect(vector, "query canonical request", dsql_strbuf_span(canonical),
           section(vector, "query canonical request"));
    expect(vector, "query string to sign", dsql_strbuf_span(to_sign),
           section(vector, "query string to sign"));
    expect(vector, "query signature", dsql_span_from(dsql_strbuf_span(&query), query.len - 64),
           section(vector, "query signature"));
    struct dsql_span path, wanted;
    (void)dsql_span_cut(section(vector, "query target"), '?', &path, &wanted);
    expect_params(vector, dsql_strbuf_span(&query), wanted);

    struct dsql_sigv4_request received = vector->request;
    received.query = wanted;
    vector->signer.trace = NULL;
    assert_int_equal(dsql_sigv4_verify_presigned(&vector->signer, &received, NULL), DSQL_OK);
    vector->signer.at.ns += DSQL_S;
    assert_int_equal(dsql_sigv4_verify_presigned(&vector->signer, &received, NULL), DSQL_DENIED);
}

static void run_vector(const char *name)
{
    static struct vector vector;
    char canonical_memory[4096], to_sign_memory[512];
    struct dsql_strbuf canonical, to_sign;
    struct dsql_sigv4_trace trace = {&canonical, &to_sign};
    load(&vector, name);
    vector.signer.trace = &trace;
    for (int form = 0; form < 2; form++) {
        dsql_strbuf_init(&canonical, canonical_memory, sizeof(canonical_memory));
        dsql_strbuf_init(&to_sign, to_sign_memory, sizeof(to_sign_memory));
        (form == 0 ? check_header_form : check_query_form)(&vector, &canonical, &to_sign);
    }
    unload(&vector);
}

TEST(all_vectors)
{
    DIR *dir = opendir(VECTORS);
    if (!dir) {
        fail_msg("%s cannot be opened", VECTORS);
        return;
    }
    size_t count = 0;
    struct dirent *entry;
    while ((entry = readdir(dir))) {
        size_t len = strlen(entry->d_name);
        if (len > 4 && strcmp(entry->d_name + len - 4, ".txt") == 0) {
            run_vector(entry->d_name);
            count++;
        }
    }
    (void)closedir(dir);
    assert_int_equal(count, VECTOR_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

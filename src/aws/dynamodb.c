#include "aws/dynamodb.h"

#include <ctype.h>
#include <poll.h>
#include <stdlib.h>
#include <strings.h>

#include "aws/http.h"
#include "base/shown.h"
#include "core/backoff.h"

enum { ANSWER_MAX = 4 * 1024 * 1024, URL_MAX = 512 };

struct dsql_ddb {
    struct dsql_ddb_options options;
    struct dsql_http *http;
    struct dsql_url url;
    char region[64], url_text[URL_MAX];
    struct dsql_rng rng;
};

const char *dsql_ddb_url(const char *const *environment)
{
    static const char *const names[] = {"AWS_ENDPOINT_URL_DYNAMODB=", "AWS_ENDPOINT_URL="};
    for (size_t n = 0; n < DSQL_COUNT_OF(names); n++) {
        size_t len = strlen(names[n]);
        for (size_t i = 0; environment[i]; i++) {
            if (strncmp(environment[i], names[n], len) == 0 && environment[i][len] != '\0')
                return environment[i] + len;
        }
    }
    return NULL;
}

enum dsql_rc dsql_ddb_new(const struct dsql_ddb_options *options, struct dsql_ddb **ddb,
                          struct dsql_err *err)
{
    struct dsql_ddb *made = calloc(1, sizeof(*made));
    if (!made)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    struct dsql_strbuf region, url;
    made->options = *options;
    (void)dsql_credentials_hold(options->credentials);
    made->rng = dsql_rng_from_os();
    dsql_strbuf_init(&region, made->region, sizeof(made->region));
    dsql_strbuf_add_str(&region, options->region);
    dsql_strbuf_init(&url, made->url_text, sizeof(made->url_text));
    if (options->url)
        dsql_strbuf_add_str(&url, options->url);
    else
        dsql_strbuf_addf(&url, "https://dynamodb.%s.amazonaws.com%s/", options->region,
                         strncmp(options->region, "cn-", 3) == 0 ? ".cn" : "");
    enum dsql_rc rc = DSQL_OK;
    if (region.cut || url.cut || !dsql_url_parse(dsql_strbuf_span(&url), &made->url))
        rc = dsql_err_set(err, DSQL_INVALID, "'%s' is no address of DynamoDB",
                          dsql_shown_str(made->url_text).text);
    if (!rc)
        rc = dsql_http_new(&made->http, err);
    if (rc) {
        dsql_ddb_destroy(made);
        return rc;
    }
    *ddb = made;
    return DSQL_OK;
}

void dsql_ddb_destroy(struct dsql_ddb *ddb)
{
    if (!ddb)
        return;
    dsql_http_destroy(ddb->http);
    dsql_credentials_release(ddb->options.credentials);
    free(ddb);
}

void dsql_ddb_use(struct dsql_ddb *ddb, struct dsql_credentials *credentials)
{
    struct dsql_credentials *before = ddb->options.credentials;
    ddb->options.credentials = dsql_credentials_hold(credentials);
    dsql_credentials_release(before);
}

/* Signs and sends; the body of the answer is in *answer. */
static enum dsql_rc send_once(struct dsql_ddb *ddb, const char *operation, struct dsql_span body,
                              struct dsql_strbuf *answer, struct dsql_http_response *response,
                              struct dsql_err *err)
{
    struct dsql_keys keys = {0};
    struct dsql_sigv4_added added = {.count = 0};
    char target[64], hash[DSQL_SIGV4_HEX_SIZE], memory[4096];
    struct dsql_strbuf name, text;
    dsql_strbuf_init(&name, target, sizeof(target));
    dsql_strbuf_addf(&name, "DynamoDB_20120810.%s", operation);
    dsql_strbuf_init(&text, memory, sizeof(memory));
    struct dsql_sigv4_header headers[DSQL_HTTP_HEADERS_MAX] = {
        {DSQL_SPAN("Host"), ddb->url.authority},
        {DSQL_SPAN("X-Amz-Target"), dsql_strbuf_span(&name)},
        {DSQL_SPAN("Content-Type"), DSQL_SPAN("application/x-amz-json-1.0")},
    };
    size_t count = 3;
    enum dsql_rc rc =
        dsql_credentials_get(ddb->options.credentials, ddb->options.timeout_ns, &keys, err);
    if (rc)
        return rc;
    const struct dsql_sigv4_signer signer = {
        .keys = dsql_keys_view(&keys),
        .region = dsql_span_of(ddb->region),
        .service = DSQL_SPAN("dynamodb"),
        .at = dsql_clock_wall(ddb->options.clock),
    };
    rc = dsql_sigv4_hash(body, hash, err);
    if (!rc) {
        const struct dsql_sigv4_request to_sign = {
            .method = DSQL_SPAN("POST"),
            .path = ddb->url.path,
            .query = ddb->url.query,
            .headers = headers,
            .header_count = count,
            .payload_hash = dsql_span_of(hash),
        };
        rc = dsql_sigv4_sign(&signer, &to_sign, &text, &added, err);
    }
    if (!rc) {
        for (size_t i = 0; i < added.count; i++)
            headers[count++] = added.headers[i];
        const struct dsql_http_request request = {
            .method = "POST",
            .url = ddb->url_text,
            .headers = headers,
            .header_count = count,
            .body = body,
            .timeout_ns = ddb->options.timeout_ns,
            .cancel_fd = ddb->options.cancel_fd,
        };
        rc = dsql_http_send(ddb->http, &request, answer, response, err);
    }
    explicit_bzero(memory, sizeof(memory));
    dsql_keys_fini(&keys);
    return rc;
}

const struct dsql_clock *dsql_ddb_clock(const struct dsql_ddb *ddb)
{
    return ddb->options.clock;
}

/* False when it was told to stop meanwhile. */
static bool wait_before_retry(struct dsql_ddb *ddb, unsigned failures)
{
    const struct dsql_backoff backoff = {50 * DSQL_MS, 5 * DSQL_S, 0.5};
    struct pollfd fd = {.fd = ddb->options.cancel_fd, .events = POLLIN};
    struct dsql_mono until = dsql_mono_add(dsql_clock_mono(ddb->options.clock),
                                           dsql_backoff_ns(&backoff, failures, &ddb->rng));
    return dsql_clock_poll(ddb->options.clock, &fd, 1, until) <= 0;
}

static bool is_worth_retrying(enum dsql_ddb_kind kind)
{
    return kind == DSQL_DDB_THROTTLED || kind == DSQL_DDB_UNAVAILABLE || kind == DSQL_DDB_LOST;
}

static void lose(struct dsql_ddb_reply *reply, const struct dsql_err *err)
{
    struct dsql_strbuf sb;
    reply->kind = err->rc == DSQL_DENIED ? DSQL_DDB_DENIED : DSQL_DDB_LOST;
    dsql_strbuf_init(&sb, reply->message, sizeof(reply->message));
    dsql_strbuf_add_str(&sb, err->message);
    dsql_strbuf_init(&sb, reply->hint, sizeof(reply->hint));
    dsql_strbuf_add_str(&sb, err->hint);
}

/* NULL when memory runs out. jansson would hand out memory of its own allocator. */
static char *dump(const json_t *body)
{
    size_t len = json_dumpb(body, NULL, 0, JSON_COMPACT);
    char *text = len > 0 ? malloc(len + 1) : NULL;
    if (!text)
        return NULL;
    if (json_dumpb(body, text, len, JSON_COMPACT) != len) {
        free(text);
        return NULL;
    }
    text[len] = '\0';
    return text;
}

enum dsql_rc dsql_ddb_call(struct dsql_ddb *ddb, const char *operation, json_t *body,
                           struct dsql_ddb_reply *reply, struct dsql_err *err)
{
    *reply = (struct dsql_ddb_reply){.kind = DSQL_DDB_LOST};
    char *text = dump(body);
    if (!text)
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    struct dsql_strbuf answer;
    enum dsql_rc rc = DSQL_OK;
    dsql_strbuf_init_heap(&answer, ANSWER_MAX);
    for (unsigned failures = 0;;) {
        struct dsql_err failed = {0};
        struct dsql_http_response response = {0};
        dsql_strbuf_clear(&answer);
        dsql_ddb_reply_fini(reply);
        rc = send_once(ddb, operation, dsql_span_of(text), &answer, &response, &failed);
        if (!rc)
            dsql_ddb_reply_read(reply, response.status, dsql_strbuf_span(&answer));
        else
            lose(reply, &failed);
        reply->date = response.date;
        if (reply->kind == DSQL_DDB_EXPIRED)
            dsql_credentials_refused(ddb->options.credentials);
        if (rc == DSQL_NO_MEMORY || rc == DSQL_CANCELLED) {
            rc = dsql_err_set(err, rc, "%s", failed.message);
            break;
        }
        rc = DSQL_OK;
        if (!is_worth_retrying(reply->kind) || ++failures >= ddb->options.attempts)
            break;
        if (!wait_before_retry(ddb, failures)) {
            rc = dsql_err_set(err, DSQL_CANCELLED, "told to stop while waiting for DynamoDB");
            break;
        }
    }
    dsql_strbuf_fini(&answer);
    free(text);
    return rc;
}

#include "support/fake_table.h"

#include <stdlib.h>

#include "support/test.h"

static void keep(struct fake_table *table, const json_t *request)
{
    json_t *values = json_object_get(request, "ExpressionAttributeValues");
    const char *id = json_string_value(
        json_object_get(json_object_get(request, "ExpressionAttributeNames"), "#i"));
    const char *what = json_string_value(json_object_get(request, "UpdateExpression"));
    json_t *block = json_object_get(values, ":block"), *beat = json_object_get(values, ":bn");
    if (!id)
        return; /* makes the item: it is there */
    if (block)
        (void)json_object_set(table->owners, id, block);
    else if (beat)
        (void)json_object_set(json_object_get(json_object_get(table->owners, id), "M"), "b", beat);
    else if (what && strstr(what, "REMOVE #o.#i"))
        (void)json_object_del(table->owners, id);
}

static void grant(struct fake_table *table, const struct http_asked *asked, struct http_told *told)
{
    json_t *request = json_loadb(asked->body.ptr, asked->body.len, 0, NULL);
    pthread_mutex_lock(&table->lock);
    keep(table, request);
    json_t *reply =
        json_pack("{s:{s:{s:s},s:{s:s},s:{s:s},s:{s:O}}}", "Attributes", "version", "N", "1", "pot",
                  "N", "50", "rate", "N", "100000", "owners", "M", table->owners);
    char text[4096];
    size_t len = json_dumpb(reply, text, sizeof(text), 0);
    pthread_mutex_unlock(&table->lock);
    json_decref(reply);
    json_decref(request);
    told->status = 200;
    dsql_strbuf_add(&told->body, (struct dsql_span){text, len < sizeof(text) ? len : 0});
}

/* "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261117/..." */
static void note_signer(struct fake_table *table, const struct http_asked *asked)
{
    static const char before[] = "Credential=";
    struct dsql_span header = http_asked_header(asked, "Authorization");
    const char *at = memmem(header.ptr, header.len, before, sizeof(before) - 1);
    pthread_mutex_lock(&table->lock);
    table->signer[0] = '\0';
    if (at) {
        at += sizeof(before) - 1;
        size_t left = header.len - (size_t)(at - header.ptr), len = 0;
        while (len < left && len < sizeof(table->signer) - 1 && at[len] != '/')
            len++;
        (void)snprintf(table->signer, sizeof(table->signer), "%.*s", (int)len, at);
    }
    pthread_mutex_unlock(&table->lock);
}

static void answer(void *arg, const struct http_asked *asked, struct http_told *told)
{
    struct fake_table *table = arg;
    static const struct {
        int status;
        const char *type, *message;
    } refusals[FAKE_TABLE_MOODS] = {
        [FAKE_TABLE_DENIES] = {400, "AccessDeniedException",
                               "User is not authorized to perform: dynamodb:UpdateItem"},
        [FAKE_TABLE_MISSING] = {400, "ResourceNotFoundException", "Requested resource not found"},
        [FAKE_TABLE_ELSEWHERE] = {400, "InvalidSignatureException",
                                  "Credential should be scoped to a valid region"},
        [FAKE_TABLE_HANGS_UP] = {0, NULL, NULL},
        [FAKE_TABLE_ILL] = {500, "InternalServerError", "The request processing has failed"},
    };
    enum fake_table_mood mood = table->mood;
    note_signer(table, asked);
    if (mood == FAKE_TABLE_WELL) {
        grant(table, asked, told);
        return;
    }
    told->status = refusals[mood].status;
    if (told->status)
        dsql_strbuf_addf(
            &told->body,
            "{\"__type\": \"com.amazonaws.dynamodb.v20120810#%s\", \"message\": \"%s\"}",
            refusals[mood].type, refusals[mood].message);
}

void fake_table_start(struct fake_table *table)
{
    *table = (struct fake_table){.owners = json_object()};
    assert_non_null(table->owners);
    (void)pthread_mutex_init(&table->lock, NULL);
    http_server_start(&table->server, answer, table);
    (void)setenv("AWS_ENDPOINT_URL_DYNAMODB", table->server.url, 1);
    (void)setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE", 1);
    (void)setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
}

void fake_table_stop(struct fake_table *table)
{
    http_server_stop(&table->server);
    json_decref(table->owners);
    (void)pthread_mutex_destroy(&table->lock);
}

bool fake_table_signed_by(struct fake_table *table, const char *access_key_id)
{
    pthread_mutex_lock(&table->lock);
    bool same = strcmp(table->signer, access_key_id) == 0;
    pthread_mutex_unlock(&table->lock);
    return same;
}

size_t fake_table_owners(struct fake_table *table)
{
    pthread_mutex_lock(&table->lock);
    size_t n = json_object_size(table->owners);
    pthread_mutex_unlock(&table->lock);
    return n;
}

void fake_table_forget(struct fake_table *table)
{
    pthread_mutex_lock(&table->lock);
    (void)json_object_clear(table->owners);
    pthread_mutex_unlock(&table->lock);
}

void fake_table_options(struct dsql_budget_options *options)
{
    *options = (struct dsql_budget_options){
        .kind = DSQL_BUDGET_BLOCKS,
        .endpoint = "cluster:5432",
        .region = "us-east-1",
        .service = "test",
        .rate = 10,
        .burst = 10,
        .lease_table = "fleet",
        .cluster_rate = 100,
        .cluster_burst = 100,
        .cluster_connections = 100,
        .ttl_ns = 60 * DSQL_S,
        .clock = &dsql_clock_system,
    };
}

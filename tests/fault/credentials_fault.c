/* The Nth allocation fails while credentials are fetched in each way, kept, and used for a token.
 * libcurl's and jansson's own allocations are not ours to fail. */
#include "aws/chain.h"
#include "aws/token_cache.h"
#include "support/alloc_fault.h"
#include "support/aws_world.h"
#include "support/test.h"

static struct aws_world world;
static const char *wanted_id;

static void ignore(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

static bool fetch_and_sign(void)
{
    static const struct dsql_provider_limits limits = {60 * DSQL_S, 60 * DSQL_S, 60 * DSQL_S};
    const struct dsql_credentials_options options = {.environment = world.env};
    struct dsql_log log;
    struct dsql_credentials_setup setup = {.log = &log, .seed = 1};
    struct dsql_credentials *credentials = NULL;
    struct dsql_token_cache *cache = NULL;
    struct dsql_secret token = {0};
    struct dsql_err err = {0};
    dsql_log_init(&log, &dsql_clock_system, ignore, NULL);
    enum dsql_rc rc = dsql_chain_new(&options, &limits, &dsql_clock_system, &setup.source, &err);
    if (!rc)
        rc = dsql_credentials_make(&setup, &credentials, &err);
    struct dsql_token_cache_options cache_options = {
        .credentials = credentials,
        .host = "h.example",
        .region = "us-east-1",
        .user = "app",
        .duration_ns = 15 * DSQL_M,
    };
    if (!rc)
        rc = dsql_token_cache_new(&cache_options, &cache, &err);
    if (!rc)
        rc = dsql_token_cache_get(cache, 100 * DSQL_S, &token, &err);
    if (rc && (rc != DSQL_NO_MEMORY || err.rc != rc))
        fail_msg("%s: %s", dsql_rc_name(rc), err.message);
    if (!rc)
        assert_non_null(strstr(dsql_secret_reveal(&token).ptr, wanted_id));
    dsql_secret_fini(&token);
    dsql_token_cache_destroy(cache);
    dsql_credentials_destroy(credentials);
    return !rc;
}

TEST(every_way_survives)
{
    static const struct {
        const char *env, *config, *id;
    } cases[] = {
        {"AWS_ACCESS_KEY_ID=AKIAENV AWS_SECRET_ACCESS_KEY=s", NULL, "AKIAENV"},
        {"", "[default]\naws_access_key_id=AKIAF\naws_secret_access_key=s\n", "AKIAF"},
        {"",
         "[default]\nrole_arn=arn:aws:iam::1:role/r\nsource_profile=default\n"
         "aws_access_key_id=AKIAF\naws_secret_access_key=s\n",
         "ASIAr"},
        {"",
         "[default]\ncredential_process=echo '{\"Version\":1,\"AccessKeyId\":\"AKIAP\","
         "\"SecretAccessKey\":\"s\"}'\n",
         "AKIAP"},
        {"AWS_WEB_IDENTITY_TOKEN_FILE={HOME}/.aws/token AWS_ROLE_ARN=arn:aws:iam::1:role/web", NULL,
         "ASIAweb"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI={URL}/container "
         "AWS_CONTAINER_AUTHORIZATION_TOKEN=t",
         NULL, "ASIACONTAINER"},
        {"", NULL, "ASIAINSTANCE"},
    };
    aws_world_start(&world);
    aws_world_file(&world, "token", "web-token");
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        char asked[1024];
        aws_world_environment(&world, cases[i].env);
        aws_world_file(&world, "config", cases[i].config);
        wanted_id = cases[i].id;
        size_t runs = alloc_fault_run(cases[i].id, fetch_and_sign, false);
        assert_true(runs > 8);
        aws_world_asked(&world, asked, sizeof(asked));
    }
    aws_world_stop(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_way_survives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

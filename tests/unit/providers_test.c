/* Each provider against a small AWS of our own: set up well, set up badly, and with services that
 * are slow, refuse, break or talk nonsense. */
#include "aws/chain.h"
#include "aws/sts.h"
#include "support/aws_world.h"
#include "support/test.h"

static struct aws_world world;

static int start(void **state)
{
    (void)state;
    aws_world_start(&world);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    aws_world_stop(&world);
    return 0;
}

/* Generous, but for what stalls on purpose. */
static enum dsql_rc fetch(const char *profile, bool impatient, struct dsql_keys *keys,
                          struct dsql_err *err)
{
    const struct dsql_credentials_options options = {.profile = profile, .environment = world.env};
    const struct dsql_provider_limits limits = {
        .http_ns = impatient ? 50 * DSQL_MS : 10 * DSQL_M,
        .metadata_ns = impatient ? 50 * DSQL_MS : 10 * DSQL_M,
        .process_ns = impatient ? 50 * DSQL_MS : 10 * DSQL_M,
    };
    struct dsql_credentials_source *source;
    enum dsql_rc rc = dsql_chain_new(&options, &limits, &dsql_clock_system, &source, err);
    if (rc)
        return rc;
    rc = source->fetch(source, -1, keys, err);
    source->destroy(source);
    return rc;
}

struct setup {
    const char *env, *config, *credentials, *profile;
};

static void set_up(const struct setup *setup)
{
    char asked[1024];
    aws_world_environment(&world, setup->env ? setup->env : "");
    aws_world_file(&world, "config", setup->config);
    aws_world_file(&world, "credentials", setup->credentials);
    aws_world_file(&world, "token", "web-token\n");
    aws_world_asked(&world, asked, sizeof(asked));
    world.fault = WORLD_FINE;
    world.broken_path = NULL;
}

#define KEYS(id)   "aws_access_key_id = " id "\naws_secret_access_key = 5ec2e7\n"
#define ENV_KEYS   "AWS_ACCESS_KEY_ID=AKIAENV AWS_SECRET_ACCESS_KEY=5ec2e7"
#define WEB        "AWS_WEB_IDENTITY_TOKEN_FILE={HOME}/.aws/token AWS_ROLE_ARN=arn:aws:iam::1:role/web"
#define CONTAINER  "AWS_CONTAINER_CREDENTIALS_FULL_URI={URL}/container"
#define ROLE(name) "role_arn = arn:aws:iam::1:role/" name "\n"
#define PROCESS(id)                                                                                \
    "credential_process = echo '{\"Version\":1,\"AccessKeyId\":\"" id "\","                        \
    "\"SecretAccessKey\":\"5ec2e7\"}' # done\n"

TEST(the_first_that_is_set_up_wins)
{
    static const struct {
        struct setup setup;
        const char *id, *provider, *asked;
    } cases[] = {
        /* all of it, then less and less */
        {{ENV_KEYS " " WEB " " CONTAINER, "[default]\n" ROLE("r") "source_profile=default\n",
          "[default]\n" KEYS("AKIAFILE"), NULL},
         "AKIAENV",
         "environment",
         ""},
        {{WEB " " CONTAINER, "[default]\n" ROLE("r") "source_profile=default\n",
          "[default]\n" KEYS("AKIAFILE"), NULL},
         "ASIAr",
         "profile default (role)",
         "sts(r,AKIAFILE,,) "},
        {{WEB " " CONTAINER, NULL, "[default]\n" KEYS("AKIAFILE"), NULL},
         "ASIAweb",
         "web identity",
         "sts(web,web-token,,) "},
        {{CONTAINER, "[default]\n" KEYS("AKIACONFIG") PROCESS("AKIAPROC"),
          "[default]\n" KEYS("AKIAFILE"), NULL},
         "AKIAFILE",
         "profile default",
         ""},
        {{CONTAINER, "[default]\n" KEYS("AKIACONFIG") PROCESS("AKIAPROC"), NULL, NULL},
         "AKIAPROC",
         "profile default",
         ""},
        {{CONTAINER, "[default]\n" KEYS("AKIACONFIG"), NULL, NULL},
         "AKIACONFIG",
         "profile default",
         ""},
        {{CONTAINER, NULL, NULL, NULL}, "ASIACONTAINER", "container", "container() "},
        {{CONTAINER " AWS_CONTAINER_AUTHORIZATION_TOKEN=let-me-in", NULL, NULL, NULL},
         "ASIACONTAINER",
         "container",
         "container(let-me-in) "},
        {{CONTAINER " AWS_CONTAINER_AUTHORIZATION_TOKEN=no "
                    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE={HOME}/.aws/token",
          NULL, NULL, NULL},
         "ASIACONTAINER",
         "container",
         "container(web-token) "},
        {{NULL, NULL, NULL, NULL},
         "ASIAINSTANCE",
         "instance role web-role",
         "token(21600) role() keys(web-role) "},
        /* which profile */
        {{"AWS_PROFILE=b", NULL, "[default]\n" KEYS("AKIAA") "[b]\n" KEYS("AKIAB"), NULL},
         "AKIAB",
         "profile b",
         ""},
        {{"AWS_DEFAULT_PROFILE=b", NULL, "[default]\n" KEYS("AKIAA") "[b]\n" KEYS("AKIAB"), NULL},
         "AKIAB",
         "profile b",
         ""},
        {{ENV_KEYS, NULL, "[b]\n" KEYS("AKIAB"), "b"}, "AKIAB", "profile b", ""},
        {{WEB, "[profile b]\n" KEYS("AKIAB"), NULL, "b"}, "AKIAB", "profile b", ""},
        {{NULL, "[profile \"b c\"]\n" KEYS("AKIAB"), NULL, "b c"}, "AKIAB", "profile b c", ""},
        {{"AWS_CONFIG_FILE=~/.aws/credentials", NULL, "[profile b]\n" KEYS("AKIAB"), "b"},
         "AKIAB",
         "profile b",
         ""},
        /* comments, and the last one wins */
        {{NULL, NULL, "[default]\n" KEYS("AKIAA") "aws_access_key_id = AKIAB # new\n", NULL},
         "AKIAB",
         "profile default",
         ""},
        /* roles */
        {{NULL,
          "[profile a]\n" ROLE("one") "source_profile = b\nexternal_id = ex\n"
                                      "duration_seconds = 1000\n[profile b]\n" ROLE(
                                          "two") "source_profile = c\n",
          "[c]\n" KEYS("AKIAC"), "a"},
         "ASIAone",
         "profile a (role)",
         "sts(two,AKIAC,,) sts(one,ASIAtwo,ex,1000) "},
        {{NULL,
          "[profile a]\n" ROLE("one") "source_profile = b\n[profile b]\n" ROLE(
              "two") "source_profile = a\n" KEYS("AKIAB"),
          NULL, "a"},
         "ASIAone",
         "profile a (role)",
         "sts(one,AKIAB,,) "}, /* keys come before the role */
        {{NULL, "[profile a]\n" ROLE("one") "source_profile = b\n[profile b]\n" PROCESS("AKIAP"),
          NULL, "a"},
         "ASIAone",
         "profile a (role)",
         "sts(one,AKIAP,,) "},
        {{ENV_KEYS, "[profile a]\n" ROLE("one") "credential_source = Environment\n", NULL, "a"},
         "ASIAone",
         "profile a (role)",
         "sts(one,AKIAENV,,) "},
        {{CONTAINER, "[profile a]\n" ROLE("one") "credential_source = ecscontainer\n", NULL, "a"},
         "ASIAone",
         "profile a (role)",
         "container() sts(one,ASIACONTAINER,,) "},
        {{NULL, "[profile a]\n" ROLE("one") "credential_source = Ec2InstanceMetadata\n", NULL, "a"},
         "ASIAone",
         "profile a (role)",
         "token(21600) role() keys(web-role) sts(one,ASIAINSTANCE,,) "},
        {{NULL, "[profile a]\n" ROLE("one") "web_identity_token_file = {HOME}/.aws/token\n", NULL,
          "a"},
         "ASIAone",
         "web identity",
         "sts(one,web-token,,) "},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_keys keys = {0};
        struct dsql_err err = {0};
        char asked[1024];
        set_up(&cases[i].setup);
        enum dsql_rc rc = fetch(cases[i].setup.profile, false, &keys, &err);
        aws_world_asked(&world, asked, sizeof(asked));
        if (rc || strcmp(keys.access_key_id, cases[i].id) != 0 ||
            strcmp(keys.provider, cases[i].provider) != 0 || strcmp(asked, cases[i].asked) != 0)
            fail_msg("case %zu: %s %s from '%s', asked %s", i, err.message, keys.access_key_id,
                     keys.provider, asked);
        assert_string_equal(dsql_secret_reveal(&keys.secret_access_key).ptr, "5ec2e7");
        if (strncmp(keys.access_key_id, "ASIA", 4) == 0) {
            assert_int_equal(keys.expires.ns, world.expires_s * DSQL_S);
            assert_string_equal(dsql_secret_reveal(&keys.session_token).ptr, "5e5510n");
        }
        dsql_keys_fini(&keys);
    }
}

TEST(what_is_wrong_is_said)
{
    static const struct {
        struct setup setup;
        enum dsql_rc rc;
        const char *part; /* of the message */
        const char *hint; /* of what to do */
    } cases[] = {
        {{"AWS_EC2_METADATA_DISABLED=true", NULL, NULL, NULL},
         DSQL_DENIED,
         "no AWS credentials (environment: AWS_ACCESS_KEY_ID is not set; files: profile default",
         "AWS_PROFILE"},
        {{"AWS_ACCESS_KEY_ID=5ec2e7", NULL, NULL, NULL},
         DSQL_INVALID,
         "environment: the secret access key is missing",
         "both of them"},
        {{"AWS_SECRET_ACCESS_KEY=5ec2e7", NULL, NULL, NULL},
         DSQL_INVALID,
         "environment: the access key id is missing",
         "both of them"},
        {{"AWS_PROFILE=b", NULL, "[c]\n" KEYS("x"), NULL},
         DSQL_INVALID,
         "profile b is in neither",
         "AWS_PROFILE"},
        {{NULL, NULL, "[default]\naws_access_key_id = 5ec2e7\n", NULL},
         DSQL_INVALID,
         "profile default: the secret access key is missing",
         "credentials"},
        {{NULL, NULL, "[default]\n5ec2e7\n", NULL}, DSQL_INVALID, "credentials, line 2", "mend"},
        {{NULL, "[profile b]\nsso_session = x\n", NULL, "b"},
         DSQL_UNSUPPORTED,
         "profile b: it signs in with IAM Identity Center",
         "export-credentials"},
        {{NULL, "[profile b]\nsso_start_url = x\n", "[b]\n" KEYS("x"), "b"},
         DSQL_UNSUPPORTED,
         "sso",
         "export-credentials"},
        {{NULL, "[profile b]\n" ROLE("r") "mfa_serial=x\nsource_profile=b\n", NULL, "b"},
         DSQL_UNSUPPORTED,
         "mfa_serial",
         "without MFA"},
        {{NULL, "[profile b]\n" ROLE("r"), NULL, "b"},
         DSQL_INVALID,
         "neither source_profile nor credential_source",
         "one of the two"},
        {{NULL, "[profile b]\n" ROLE("r") "source_profile=b\ncredential_source=Environment\n", NULL,
          "b"},
         DSQL_INVALID,
         "both source_profile and credential_source",
         "one of the two"},
        {{NULL, "[profile b]\n" ROLE("r") "source_profile=b\n", NULL, "b"},
         DSQL_INVALID,
         "leads back",
         "keys of its own"},
        {{NULL,
          "[profile b]\n" ROLE("r") "source_profile=c\n[profile c]\n" ROLE(
              "r") "source_profile=d\n"
                   "[profile d]\n" ROLE("r") "source_profile=b\n",
          NULL, "b"},
         DSQL_INVALID,
         "profile d: its source_profile leads back",
         "keys of its own"},
        {{NULL, "[profile b]\n" ROLE("r") "source_profile=c\n", NULL, "b"},
         DSQL_INVALID,
         "source_profile c is in neither",
         "add it"},
        {{NULL, "[profile b]\n" ROLE("r") "source_profile=c\n[profile c]\nregion=us-east-1\n", NULL,
          "b"},
         DSQL_INVALID,
         "profile c: it is a source_profile, but has no credentials",
         "role_arn"},
        {{NULL, "[profile b]\n" ROLE("r") "credential_source=Moon\n", NULL, "b"},
         DSQL_INVALID,
         "credential_source is none",
         "Ec2InstanceMetadata"},
        {{NULL, "[profile b]\n" ROLE("r") "credential_source=Environment\n", NULL, "b"},
         DSQL_DENIED,
         "credential_source Environment has nothing",
         "source_profile"},
        {{NULL, "[profile b]\n" ROLE("r") "source_profile=b\nduration_seconds=60\n" KEYS("x"), NULL,
          "b"},
         DSQL_INVALID,
         "duration_seconds",
         "leave it out"},
        {{"AWS_REGION=nonsense!", "[profile b]\n" ROLE("r") "source_profile=b\n" KEYS("x"), NULL,
          "b"},
         DSQL_INVALID,
         "no AWS region",
         "us-east-1"},
        {{"AWS_WEB_IDENTITY_TOKEN_FILE={HOME}/.aws/token", NULL, NULL, NULL},
         DSQL_INVALID,
         "no role",
         "AWS_ROLE_ARN"},
        {{"AWS_WEB_IDENTITY_TOKEN_FILE={HOME}/nothing AWS_ROLE_ARN=a", NULL, NULL, NULL},
         DSQL_IO,
         "web identity: /tmp/",
         "check the path"},
        {{CONTAINER " AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE={HOME}/nothing", NULL, NULL, NULL},
         DSQL_IO,
         "container credentials: /tmp/",
         "check the path"},
        {{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://192.0.2.1/x", NULL, NULL, NULL},
         DSQL_INVALID,
         "192.0.2.1",
         "https://"},
        {{NULL, "[default]\ncredential_process = echo 5ec2e7\n", NULL, NULL},
         DSQL_PROTOCOL,
         "profile default: credential_process: the answer is no JSON",
         "Version"},
        {{NULL, "[default]\ncredential_process = echo 5ec2e7; exit 3\n", NULL, NULL},
         DSQL_DENIED,
         "credential_process: the command ended with status 3",
         "by hand"},
        {{NULL, "[default]\ncredential_process = kill -9 $$\n", NULL, NULL},
         DSQL_DENIED,
         "signal 9",
         "by hand"},
        {{NULL, "[default]\ncredential_process = exec yes 5ec2e7\n", NULL, NULL},
         DSQL_LIMIT,
         "printed too much",
         ""},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_keys keys = {0};
        struct dsql_err err = {0};
        set_up(&cases[i].setup);
        enum dsql_rc rc = fetch(cases[i].setup.profile, false, &keys, &err);
        if (rc != cases[i].rc || err.rc != rc || !strstr(err.message, cases[i].part) ||
            !strstr(err.hint, cases[i].hint))
            fail_msg("case %zu: %s: %s (%s)", i, dsql_rc_name(rc), err.message, err.hint);
        assert_null(strstr(err.message, "5ec2e7"));
        assert_null(strstr(err.hint, "5ec2e7"));
        assert_string_equal(keys.access_key_id, "");
        dsql_keys_fini(&keys);
    }
}

TEST(a_command_that_hangs_is_ended)
{
    static const struct setup setup = {NULL, "[default]\ncredential_process = sleep 1000\n", NULL,
                                       NULL};
    struct dsql_keys keys = {0};
    struct dsql_err err = {0};
    set_up(&setup);
    assert_int_equal(fetch(NULL, true, &keys, &err), DSQL_TIMEOUT);
    assert_non_null(strstr(err.message, "did not end in time"));
}

#define ROLE_PATH "/latest/meta-data/iam/security-credentials/"

TEST(services_that_fail)
{
    static const struct {
        const char *name, *env, *config, *path;
    } services[] = {
        {"container credentials", CONTAINER, NULL, "/container"},
        {"web identity", WEB, NULL, "/"},
        {"profile default", NULL, "[default]\n" ROLE("r") "source_profile=default\n" KEYS("AKIA"),
         "/"},
        {"instance role", NULL, NULL, ROLE_PATH "web-role"},
    };
    static const struct {
        enum world_fault fault;
        enum dsql_rc rc;
        const char *part;
    } faults[] = {
        {WORLD_STALLS, DSQL_TIMEOUT, "did not answer within"},
        {WORLD_HANGS_UP, DSQL_LOST, "no answer from"},
        {WORLD_GARBAGE, DSQL_PROTOCOL, "not HTTP"},
        {WORLD_NO_ANSWER, DSQL_PROTOCOL, "the answer"},
        {WORLD_HUGE, DSQL_LIMIT, "too long"},
        {WORLD_403, DSQL_DENIED, "403"},
        {WORLD_404, DSQL_DENIED, "404"},
        {WORLD_500, DSQL_IO, "500"},
        {WORLD_REFUSES, DSQL_DENIED, "AccessDenied: you may not"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(services); i++)
        for (size_t k = 0; k < DSQL_COUNT_OF(faults); k++) {
            const struct setup setup = {services[i].env, services[i].config, NULL, NULL};
            struct dsql_keys keys = {0};
            struct dsql_err err = {0};
            set_up(&setup);
            world.broken_path = services[i].path;
            world.fault = faults[k].fault;
            enum dsql_rc rc = fetch(NULL, faults[k].fault == WORLD_STALLS, &keys, &err);
            if (rc != faults[k].rc || !strstr(err.message, faults[k].part) ||
                strncmp(err.message, services[i].name, strlen(services[i].name)) != 0)
                fail_msg("%s, fault %zu: %s: %s", services[i].name, k, dsql_rc_name(rc),
                         err.message);
            assert_null(strstr(err.message, "5ec2e7"));
            dsql_keys_fini(&keys);
        }
}

TEST(a_metadata_service_that_is_not_there_is_no_failure)
{
    static const struct {
        const char *path;
        enum world_fault fault;
        enum dsql_rc rc;
        const char *part;
    } cases[] = {
        {"/latest/api/token", WORLD_STALLS, DSQL_DENIED, "instance: 127.0.0.1"},
        {"/latest/api/token", WORLD_HANGS_UP, DSQL_DENIED, "instance: no answer"},
        {"/latest/api/token", WORLD_403, DSQL_DENIED, "instance: the metadata service answered"},
        {"/latest/api/token", WORLD_404, DSQL_DENIED, "instance: the metadata service answered"},
        {ROLE_PATH, WORLD_404, DSQL_DENIED, "instance: the instance has no role"},
        {"/latest/api/token", WORLD_500, DSQL_IO, "instance role: it gave no session token"},
        {"/latest/api/token", WORLD_HUGE, DSQL_LIMIT, "instance role:"},
        {ROLE_PATH, WORLD_500, DSQL_IO, "instance role: asked for its role"},
        {ROLE_PATH, WORLD_NO_ANSWER, DSQL_PROTOCOL, "instance role: asked for its role"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        const struct setup setup = {0};
        struct dsql_keys keys = {0};
        struct dsql_err err = {0};
        set_up(&setup);
        world.broken_path = cases[i].path;
        world.fault = cases[i].fault;
        enum dsql_rc rc = fetch(NULL, cases[i].fault == WORLD_STALLS, &keys, &err);
        if (rc != cases[i].rc || !strstr(err.message, cases[i].part))
            fail_msg("case %zu: %s: %s", i, dsql_rc_name(rc), err.message);
        dsql_keys_fini(&keys);
    }
}

TEST(where_a_container_may_be_asked)
{
    static const struct {
        const char *env;
        enum dsql_rc rc;
        const char *url;
    } cases[] = {
        {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/x", DSQL_OK, "http://169.254.170.2/v2/x"},
        {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=v2 AWS_CONTAINER_CREDENTIALS_FULL_URI=http://a/",
         DSQL_OK, "http://169.254.170.2/v2"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI=https://anywhere.example/x", DSQL_OK,
         "https://anywhere.example/x"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://localhost:80/x", DSQL_OK,
         "http://localhost:80/x"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.1.2.3/x", DSQL_OK, "http://127.1.2.3/x"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://[::1]/x", DSQL_OK, "http://[::1]/x"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/v1", DSQL_OK,
         "http://169.254.170.23/v1"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://[fd00:ec2::23]/v1", DSQL_OK,
         "http://[fd00:ec2::23]/v1"},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.169.254/v1", DSQL_INVALID, NULL},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1.example/", DSQL_INVALID, NULL},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1@evil.example/", DSQL_INVALID, NULL},
        {"AWS_CONTAINER_CREDENTIALS_FULL_URI=127.0.0.1/x", DSQL_INVALID, NULL},
        {"", DSQL_NOT_FOUND, NULL},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_aws_env env;
        STRBUF(url, 512);
        aws_world_environment(&world, cases[i].env);
        assert_int_equal(dsql_aws_env_init(&env, world.env, NULL), DSQL_OK);
        enum dsql_rc rc = dsql_provider_container_url(&env, &url, NULL);
        if (rc != cases[i].rc || (cases[i].url && strcmp(url.ptr, cases[i].url) != 0))
            fail_msg("%s: %s %s", cases[i].env, dsql_rc_name(rc), url.ptr);
        dsql_aws_env_fini(&env);
    }
}

TEST(where_sts_is_asked)
{
    static const struct {
        const char *env, *profile_region, *region;
        const char *url, *scope;
    } cases[] = {
        {NULL, "", "", "https://sts.amazonaws.com/", "us-east-1"},
        {NULL, "", "eu-west-1", "https://sts.eu-west-1.amazonaws.com/", "eu-west-1"},
        {NULL, "us-west-2", "eu-west-1", "https://sts.us-west-2.amazonaws.com/", "us-west-2"},
        {"AWS_REGION=cn-north-1", "us-west-2", "", "https://sts.cn-north-1.amazonaws.com.cn/",
         "cn-north-1"},
        {"AWS_DEFAULT_REGION=us-gov-west-1", "", "", "https://sts.us-gov-west-1.amazonaws.com/",
         "us-gov-west-1"},
        {"AWS_ENDPOINT_URL_STS=http://h:1", "", "eu-west-1", "http://h:1", "eu-west-1"},
        {"AWS_ENDPOINT_URL=http://h:2", "", "", "http://h:2", "us-east-1"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        const char *lines[] = {cases[i].env, NULL};
        struct dsql_aws_env env;
        struct dsql_sts_place place;
        assert_int_equal(dsql_aws_env_init(&env, lines, NULL), DSQL_OK);
        const struct dsql_provider p = {.env = &env, .region = dsql_span_of(cases[i].region)};
        assert_int_equal(dsql_sts_find(&p, dsql_span_of(cases[i].profile_region), &place, NULL),
                         DSQL_OK);
        assert_string_equal(place.url, cases[i].url);
        assert_string_equal(place.region, cases[i].scope);
        dsql_aws_env_fini(&env);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_is_set_up_wins),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_command_that_hangs_is_ended),
        cmocka_unit_test(services_that_fail),
        cmocka_unit_test(a_metadata_service_that_is_not_there_is_no_failure),
        cmocka_unit_test(where_a_container_may_be_asked),
        cmocka_unit_test(where_sts_is_asked),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

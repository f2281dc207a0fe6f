/* Cluster names: what is understood, and what a person is told about the rest. */
#include <stdio.h>

#include "aws/endpoint.h"
#include "support/test.h"

#define ID "abcdefghijklmnopqrstuvwx01"

TEST(understood)
{
    static const struct {
        const char *text, *region; /* as given */
        const char *host, *host_region, *cluster_id;
    } cases[] = {
        {ID ".dsql.us-east-1.on.aws", "", ID ".dsql.us-east-1.on.aws", "us-east-1", ID},
        {ID ".dsql.us-east-1.on.aws", "us-east-1", ID ".dsql.us-east-1.on.aws", "us-east-1", ID},
        {" peccy.DSQL.us-east-1.on.AWS\n", "", "peccy.dsql.us-east-1.on.aws", "us-east-1", "peccy"},
        {ID ".dsql-fnh4.eu-west-2.on.aws", "", ID ".dsql-fnh4.eu-west-2.on.aws", "eu-west-2", ID},
        {ID, "ap-northeast-1", ID ".dsql.ap-northeast-1.on.aws", "ap-northeast-1", ID},
        {"ABCDEFGHIJKLMNOPQRSTUVWX01", " us-east-2 ", ID ".dsql.us-east-2.on.aws", "us-east-2", ID},
        {"localhost", "us-east-1", "localhost", "us-east-1", ""},
        {"dsql_local", "us-east-1", "dsql_local", "us-east-1", ""},
        {"127.0.0.1", "us-east-1", "127.0.0.1", "us-east-1", ""},
        {"vpce-0a1b.dsql-fnh4.us-east-1.vpce.amazonaws.com", "us-east-1",
         "vpce-0a1b.dsql-fnh4.us-east-1.vpce.amazonaws.com", "us-east-1", ""},
        {"x.dsqlite.us-east-1.on.aws", "us-west-2", "x.dsqlite.us-east-1.on.aws", "us-west-2", ""},
        {"x.dsql.us-east-1.on.aws.example.com", "us-west-2", "x.dsql.us-east-1.on.aws.example.com",
         "us-west-2", ""},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_endpoint endpoint;
        struct dsql_err err;
        if (dsql_endpoint_parse(dsql_span_of(cases[i].text), dsql_span_of(cases[i].region),
                                &endpoint, &err))
            fail_msg("%s: %s", cases[i].text, err.message);
        assert_string_equal(endpoint.host, cases[i].host);
        assert_string_equal(endpoint.region, cases[i].host_region);
        assert_string_equal(endpoint.cluster_id, cases[i].cluster_id);
    }
}

TEST(refused)
{
    static const char name_it[] = "Name one such as us-east-1.";
    static const char set_region[] =
        "Name the region with --region R or AWS_REGION, or give the whole name: "
        "<cluster-id>.dsql.<region>.on.aws.";
    static const char like[] = "Give a name like <cluster-id>.dsql.<region>.on.aws.";
    static const char alone[] = "Give the host name alone, without scheme, user and path.";
    static const struct {
        const char *text, *region, *message, *hint;
    } cases[] = {
        {"", "", "the cluster endpoint is empty",
         "Set DSQL_ENDPOINT to a name like <cluster-id>.dsql.<region>.on.aws."},
        {" \t", "us-east-1", "the cluster endpoint is empty",
         "Set DSQL_ENDPOINT to a name like <cluster-id>.dsql.<region>.on.aws."},
        {ID, "", "the region of the cluster '" ID "' is not known", set_region},
        {"localhost", "", "the region of the cluster 'localhost' is not known", set_region},
        {"x.dsql.useast1.on.aws", "",
         "the region of the cluster 'x.dsql.useast1.on.aws' is not known", set_region},
        {"https://x.dsql.us-east-1.on.aws", "",
         "the cluster endpoint 'https://x.dsql.us-east-1.on.aws' is not a host name", alone},
        {"admin@x.dsql.us-east-1.on.aws", "",
         "the cluster endpoint 'admin@x.dsql.us-east-1.on.aws' is not a host name", alone},
        {"x.dsql.us-east-1.on.aws:5432", "",
         "the cluster endpoint 'x.dsql.us-east-1.on.aws:5432' is not a host name",
         "Give the host name alone, without a port."},
        {"x.dsql.us-east-1.on.aws.", "",
         "the cluster endpoint 'x.dsql.us-east-1.on.aws.' is not a host name",
         "Leave out the final dot: certificates and tokens do not have it."},
        {"x..on.aws", "", "the cluster endpoint 'x..on.aws' is not a host name", like},
        {"-x.on.aws", "", "the cluster endpoint '-x.on.aws' is not a host name", like},
        {"a b", "", "the cluster endpoint 'a b' is not a host name", like},
        {"x.dsql.us-east-1.on.aws", "us-west-2",
         "the cluster x.dsql.us-east-1.on.aws is not in the region us-west-2",
         "Leave the region out, or set it to us-east-1."},
        {ID, "US-EAST-1", "'US-EAST-1' is not the name of an AWS region", name_it},
        {ID, "useast1", "'useast1' is not the name of an AWS region", name_it},
        {ID, "us-east-", "'us-east-' is not the name of an AWS region", name_it},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_endpoint endpoint = {.host = "untouched"};
        struct dsql_err err = {0};
        assert_int_equal(dsql_endpoint_parse(dsql_span_of(cases[i].text),
                                             dsql_span_of(cases[i].region), &endpoint, &err),
                         DSQL_INVALID);
        assert_string_equal(err.message, cases[i].message);
        assert_string_equal(err.hint, cases[i].hint);
        assert_string_equal(endpoint.host, "untouched");
    }
}

TEST(lengths)
{
    char host[DSQL_HOST_MAX + 1], region[DSQL_REGION_MAX + 2];
    memset(host, 'a', sizeof(host));
    for (size_t i = 63; i < sizeof(host); i += 64)
        host[i] = '.';
    assert_true(dsql_endpoint_is_host((struct dsql_span){host, DSQL_HOST_MAX}));
    assert_false(dsql_endpoint_is_host((struct dsql_span){host, DSQL_HOST_MAX + 1}));
    host[63] = 'a'; /* a label of 127 */
    assert_false(dsql_endpoint_is_host((struct dsql_span){host, DSQL_HOST_MAX}));

    memset(region, 'a', sizeof(region));
    region[2] = '-';
    assert_true(dsql_endpoint_is_region((struct dsql_span){region, DSQL_REGION_MAX}));
    assert_false(dsql_endpoint_is_region((struct dsql_span){region, DSQL_REGION_MAX + 1}));

    /* The longest names of either kind fit where they are kept. */
    struct dsql_endpoint endpoint;
    assert_int_equal(dsql_endpoint_parse(DSQL_SPAN(ID), (struct dsql_span){region, DSQL_REGION_MAX},
                                         &endpoint, NULL),
                     DSQL_OK);
    host[63] = '.';
    assert_int_equal(dsql_endpoint_parse((struct dsql_span){host, DSQL_HOST_MAX},
                                         DSQL_SPAN("us-east-1"), &endpoint, NULL),
                     DSQL_OK);
    assert_int_equal(strlen(endpoint.host), DSQL_HOST_MAX);
    (void)snprintf(host + 63, sizeof(host) - 63, "%s", ".dsql.us-east-1.on.aws");
    assert_int_equal(
        dsql_endpoint_parse((struct dsql_span){host, 63 + 22}, DSQL_SPAN(""), &endpoint, NULL),
        DSQL_OK);
    assert_int_equal(strlen(endpoint.cluster_id), 63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(understood),
        cmocka_unit_test(refused),
        cmocka_unit_test(lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

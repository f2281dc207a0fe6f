/* The forms that credentials are written in: ini files, JSON, STS's XML, times. */
#include "aws/amz_time.h"
#include "aws/ini.h"
#include "aws/keys_json.h"
#include "aws/profile.h"
#include "aws/sts_xml.h"
#include "support/test.h"

/* Items as one line: "[section]" and "key=value", BROKEN with its line. */
static void walk(const char *text, struct dsql_strbuf *out)
{
    struct dsql_ini ini;
    struct dsql_span key, value;
    dsql_ini_init(&ini, dsql_span_of(text));
    for (;;)
        switch (dsql_ini_next(&ini, &key, &value)) {
        case DSQL_INI_SECTION:
            dsql_strbuf_addf(out, "[%.*s]", DSQL_SPAN_ARG(ini.section));
            break;
        case DSQL_INI_VALUE:
            dsql_strbuf_addf(out, "%.*s=%.*s,", DSQL_SPAN_ARG(key), DSQL_SPAN_ARG(value));
            break;
        case DSQL_INI_BROKEN:
            dsql_strbuf_addf(out, "BROKEN %u", ini.line);
            return;
        case DSQL_INI_END:
            return;
        }
}

TEST(ini_files)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"", ""},
        {"\xef\xbb\xbf[a]\nb=c", "[a]b=c,"},
        {"# x\n; y\n\n[a]\r\nb = c d \r\n", "[a]b=c d,"},
        {"[ profile x ] # why\nb=c\n[d]", "[profile x]b=c,[d]"},
        {"[a]\ns3 =\n  style = path\n  more = x\nb=c", "[a]s3=,b=c,"},
        {"[a]\n  b = c\n  d = e\n    f = g\n", "[a]b=c,d=e,"},
        {"[a]\nb: c=d", "[a]b=c=d,"},
        {"[a]\nb=", "[a]b=,"},
        {"[a]\nb", "[a]BROKEN 2"},
        {"[a]\n= c", "[a]BROKEN 2"},
        {"b=c", "BROKEN 1"},
        {"[a", "BROKEN 1"},
        {"[]", "BROKEN 1"},
        {"[a] b", "BROKEN 1"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        STRBUF(out, 500);
        walk(cases[i].text, &out);
        assert_string_equal(out.ptr, cases[i].wanted);
    }
    assert_true(dsql_span_eq(dsql_ini_uncommented(DSQL_SPAN("a # b")), DSQL_SPAN("a")));
    assert_true(dsql_span_eq(dsql_ini_uncommented(DSQL_SPAN("a\t;b")), DSQL_SPAN("a")));
    assert_true(dsql_span_eq(dsql_ini_uncommented(DSQL_SPAN("a#b;c")), DSQL_SPAN("a#b;c")));
    assert_true(dsql_span_eq(dsql_ini_uncommented(DSQL_SPAN("#a")), DSQL_SPAN("#a")));
}

TEST(sections_name_profiles)
{
    static const struct {
        enum dsql_aws_file file;
        const char *section, *profile; /* NULL: none */
    } cases[] = {
        {DSQL_AWS_CONFIG, "default", "default"},
        {DSQL_AWS_CONFIG, "profile app", "app"},
        {DSQL_AWS_CONFIG, "profile\tapp", "app"},
        {DSQL_AWS_CONFIG, "profile \"my app\"", "my app"},
        {DSQL_AWS_CONFIG, "profile 'my app'", "my app"},
        {DSQL_AWS_CONFIG, "profile \"my\" app", NULL},
        {DSQL_AWS_CONFIG, "profile", NULL},
        {DSQL_AWS_CONFIG, "profileapp", NULL},
        {DSQL_AWS_CONFIG, "app", NULL},
        {DSQL_AWS_CONFIG, "sso-session x", NULL},
        {DSQL_AWS_CREDENTIALS, "default", "default"},
        {DSQL_AWS_CREDENTIALS, "app", "app"},
        {DSQL_AWS_CREDENTIALS, "profile app", "profile app"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_span name;
        bool ok = dsql_profile_name(cases[i].file, dsql_span_of(cases[i].section), &name);
        if (ok != (cases[i].profile != NULL) ||
            (ok && !dsql_span_eq(name, dsql_span_of(cases[i].profile))))
            fail_msg("[%s]", cases[i].section);
    }
}

TEST(times)
{
    static const struct {
        const char *text;
        int64_t seconds; /* -1: none */
    } cases[] = {
        {"2024-08-27T00:00:00Z", 1724716800},
        {"2024-08-27T00:00:00.123Z", 1724716800},
        {"2024-08-27T02:30:00+02:30", 1724716800},
        {"2024-08-26T19:00:00-05:00", 1724716800},
        {"2024-08-27T00:00:00", -1},
        {"2024-08-27T00:00:00.Z", -1},
        {"2024-08-27T00:00:00+0230", -1},
        {"2024-08-27T00:00:00+25:00", -1},
        {"2024-08-27 00:00:00Z", -1},
        {"2024-02-30T00:00:00Z", -1},
        {"2024-08-27T00:00:00Zx", -1},
        {"20240827T000000Z", -1},
        {"", -1},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_wall t = {-DSQL_S};
        bool ok = dsql_amz_time_parse_iso(dsql_span_of(cases[i].text), &t);
        if (ok != (cases[i].seconds >= 0) || t.ns != cases[i].seconds * DSQL_S)
            fail_msg("%s", cases[i].text);
    }
}

static void check(enum dsql_rc rc, enum dsql_rc wanted, const struct dsql_keys *keys,
                  const char *session, const struct dsql_err *err, const char *part,
                  const char *text)
{
    if (rc != wanted || (rc && !strstr(err->message, part)))
        fail_msg("%s: %s: %s", text, dsql_rc_name(rc), rc ? err->message : "");
    assert_null(rc ? strstr(err->message, "5ec2e7") : NULL);
    if (rc) {
        assert_string_equal(keys->access_key_id, "");
        return;
    }
    assert_string_equal(keys->access_key_id, "AKID");
    assert_string_equal(dsql_secret_reveal(&keys->secret_access_key).ptr, "5ec2e7");
    assert_string_equal(dsql_secret_reveal(&keys->session_token).ptr, session);
    assert_true(keys->expires.ns == 0 || keys->expires.ns == INT64_C(1724716800) * DSQL_S);
}

TEST(json)
{
    static const struct {
        enum dsql_keys_form form;
        const char *text;
        enum dsql_rc rc;
        const char *part; /* of the message, or the session token */
    } cases[] = {
        {DSQL_KEYS_METADATA,
         "{\"Code\":\"Success\",\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"5ec2e7\","
         "\"Token\":\"t\",\"Expiration\":\"2024-08-27T00:00:00Z\",\"LastUpdated\":7}",
         DSQL_OK, "t"},
        {DSQL_KEYS_METADATA, "{\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"5ec2e7\"}", DSQL_OK,
         ""},
        {DSQL_KEYS_METADATA,
         "{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":\"EC2 can't\"}", DSQL_DENIED,
         "AssumeRoleUnauthorizedAccess: EC2 can't"},
        {DSQL_KEYS_METADATA, "{\"code\":\"NoIdProvider\",\"message\":\"none\\nthere\"}",
         DSQL_DENIED, "NoIdProvider: none?there"},
        {DSQL_KEYS_METADATA, "{\"AccessKeyId\":7,\"SecretAccessKey\":\"5ec2e7\"}", DSQL_PROTOCOL,
         "AccessKeyId"},
        {DSQL_KEYS_METADATA, "{\"AccessKeyId\":\"AKID\"}", DSQL_PROTOCOL, "SecretAccessKey"},
        {DSQL_KEYS_METADATA, "{\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"5ec2e7 x\"}",
         DSQL_PROTOCOL, "secret access key"},
        {DSQL_KEYS_METADATA,
         "{\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"5ec2e7\",\"Token\":{}}", DSQL_PROTOCOL,
         "Token"},
        {DSQL_KEYS_METADATA,
         "{\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"5ec2e7\",\"Expiration\":\"soon\"}",
         DSQL_PROTOCOL, "Expiration"},
        {DSQL_KEYS_METADATA, "", DSQL_PROTOCOL, "no JSON"},
        {DSQL_KEYS_METADATA, "[\"5ec2e7\"]", DSQL_PROTOCOL, "no JSON"},
        {DSQL_KEYS_METADATA, "{\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"5ec2e7",
         DSQL_PROTOCOL, "no JSON"},
        {DSQL_KEYS_PROCESS,
         "{\"Version\":1,\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"5ec2e7\","
         "\"SessionToken\":\"s\",\"Expiration\":\"2024-08-27T00:00:00+00:00\"}",
         DSQL_OK, "s"},
        {DSQL_KEYS_PROCESS, "{\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"5ec2e7\"}",
         DSQL_PROTOCOL, "Version"},
        {DSQL_KEYS_PROCESS,
         "{\"Version\":2,\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"5ec2e7\"}", DSQL_PROTOCOL,
         "Version"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_keys keys = {0};
        struct dsql_err err = {0};
        enum dsql_rc rc =
            dsql_keys_parse_json(cases[i].form, dsql_span_of(cases[i].text), &keys, &err);
        check(rc, cases[i].rc, &keys, cases[i].part, &err, cases[i].part, cases[i].text);
        dsql_keys_fini(&keys);
    }
}

#define CREDENTIALS(parts)                                                                            \
    "<?xml version=\"1.0\"?><AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">" \
    "<AssumeRoleResult><!-- c --><AssumedRoleUser><Arn>a</Arn></AssumedRoleUser><Credentials>" parts  \
    "</Credentials></AssumeRoleResult><ResponseMetadata/></AssumeRoleResponse>\n"
#define ID      "<AccessKeyId>AKID</AccessKeyId>"
#define SECRET  "<SecretAccessKey>5ec2e7</SecretAccessKey>"
#define SESSION "<SessionToken>a&amp;b&#47;=</SessionToken>"
#define EXPIRES "<Expiration>2024-08-27T00:00:00Z</Expiration>"

TEST(xml)
{
    static const struct {
        const char *text;
        enum dsql_rc rc;
        const char *part;
    } cases[] = {
        {CREDENTIALS(ID SECRET SESSION EXPIRES), DSQL_OK, "a&b/="},
        {CREDENTIALS("\n  " EXPIRES "\n  " SESSION "\n " SECRET ID), DSQL_OK, "a&b/="},
        {CREDENTIALS(ID SECRET EXPIRES), DSQL_PROTOCOL, "SessionToken"},
        {CREDENTIALS(ID ID SECRET SESSION EXPIRES), DSQL_PROTOCOL, "AccessKeyId"},
        {CREDENTIALS(ID SECRET SESSION "<Expiration>soon</Expiration>"), DSQL_PROTOCOL,
         "Expiration"},
        {CREDENTIALS(ID SECRET EXPIRES "<SessionToken>&x;</SessionToken>"), DSQL_PROTOCOL,
         "SessionToken"},
        {CREDENTIALS(ID SECRET EXPIRES "<SessionToken>a b</SessionToken>"), DSQL_PROTOCOL,
         "characters"},
        {ID SECRET SESSION EXPIRES, DSQL_PROTOCOL, "AccessKeyId"}, /* not inside Credentials */
        {"<Credentials>" ID SECRET SESSION EXPIRES, DSQL_PROTOCOL, "no XML"},
        {"<Credentials>" ID SECRET SESSION EXPIRES "</Wrong>", DSQL_PROTOCOL, "no XML"},
        {"<!DOCTYPE x [<!ENTITY a \"b\">]>" CREDENTIALS(ID SECRET SESSION EXPIRES), DSQL_PROTOCOL,
         "no XML"},
        {"<html><body>proxy</body></html>", DSQL_PROTOCOL, "AccessKeyId"},
        {"{\"AssumeRoleResponse\":{}}", DSQL_PROTOCOL, "no XML"},
        {"", DSQL_PROTOCOL, "AccessKeyId"},
        {"<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>", DSQL_PROTOCOL, "no XML"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_keys keys = {0};
        struct dsql_err err = {0};
        enum dsql_rc rc = dsql_sts_parse_keys(dsql_span_of(cases[i].text), &keys, &err);
        check(rc, cases[i].rc, &keys, cases[i].part, &err, cases[i].part, cases[i].text);
        dsql_keys_fini(&keys);
    }
}

TEST(refusals_of_sts)
{
    struct dsql_sts_error error = {.code = "untouched"};
    assert_true(dsql_sts_parse_error(
        DSQL_SPAN("<ErrorResponse xmlns='x'><Error><Type>Sender</Type><Code>AccessDenied</Code>"
                  "<Message>User: a is &lt;not&gt;\nauthorized</Message></Error>"
                  "<RequestId>1</RequestId></ErrorResponse>"),
        &error));
    assert_string_equal(error.code, "AccessDenied");
    assert_string_equal(error.message, "User: a is <not>?authorized");
    assert_false(dsql_sts_parse_error(DSQL_SPAN("<html><Code>x</Code></html>"), &error));
    assert_false(dsql_sts_parse_error(DSQL_SPAN("<Error><Code>x</Code>"), &error));
    assert_false(dsql_sts_parse_error(DSQL_SPAN("nonsense"), &error));
    assert_string_equal(error.code, "AccessDenied");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ini_files), cmocka_unit_test(sections_name_profiles),
        cmocka_unit_test(times),     cmocka_unit_test(json),
        cmocka_unit_test(xml),       cmocka_unit_test(refusals_of_sts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

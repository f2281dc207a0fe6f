/* The environment of a local endpoint's clients: which lines pass, the host by the file of hosts,
 * Java's options, and the three formats. */
#include "cli/local_env.h"
#include "support/test.h"

#define NAME "k4fdq6abcdefghijklmnopqrst.dsql.us-east-1.on.aws"

static char memory[4096];

static const char *written(const char *lines, const char *hosts, const char *java,
                           enum dsql_env_format format)
{
    struct dsql_strbuf out;
    const struct dsql_env_place place = {dsql_span_of(hosts), dsql_span_of(java)};
    dsql_strbuf_init(&out, memory, sizeof(memory));
    dsql_local_env_write(&out, dsql_span_of(lines), &place, format);
    assert_false(out.cut);
    return memory;
}

TEST(hosts)
{
    static const struct {
        const char *text;
        bool has;
    } cases[] = {
        {"", false},
        {"127.0.0.1 " NAME, true},
        {"127.0.0.1 localhost\n127.0.0.1\tx " NAME " y\n", true},
        {"127.0.0.1 K4FDQ6ABCDEFGHIJKLMNOPQRST.dsql.us-east-1.ON.AWS\r\n", true},
        {"  127.0.0.1  " NAME " # ours\n", true},
        {"# 127.0.0.1 " NAME "\n", false},
        {"127.0.0.1 x # " NAME "\n", false},
        {"127.0.0.1 x" NAME "\n127.0.0.1 " NAME "x\n", false},
        {"127.0.0.2 " NAME "\n::1 " NAME "\n", false},
        {NAME " 127.0.0.1\n", false},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++)
        if (dsql_hosts_have(dsql_span_of(cases[i].text), DSQL_SPAN(NAME)) != cases[i].has)
            fail_msg("case %zu: %s", i, cases[i].text);
}

/* The endpoint's own name stands where localhost was, if this machine knows it. */
TEST(host)
{
    static const char lines[] =
        "PGHOST=localhost\nDSQL_ENDPOINT=localhost:5\nCLUSTER_ENDPOINT=" NAME "\n";
    assert_string_equal(written(lines, "", "", DSQL_ENV_PLAIN), lines);
    assert_string_equal(written(lines, "127.0.0.1 " NAME, "", DSQL_ENV_PLAIN),
                        "PGHOST=" NAME "\nDSQL_ENDPOINT=" NAME ":5\nCLUSTER_ENDPOINT=" NAME "\n");
    /* One that somebody chose stays. */
    static const char chosen[] = "PGHOST=localhosts.example\nCLUSTER_ENDPOINT=" NAME "\n";
    assert_string_equal(written(chosen, "127.0.0.1 " NAME, "", DSQL_ENV_PLAIN), chosen);
}

TEST(only_known_variables)
{
    assert_string_equal(
        written("PATH=/x\nPGHOST=a\nLD_PRELOAD=x\nAWS_X=1\nDSQL_Y=2\nREGION=r\nREGIONS=s\n"
                "JAVA_TOOL_OPTIONS=-javaagent:x\nPG;x=1\nno line\nSSL_CERT_FILE=f",
                "", "", DSQL_ENV_PLAIN),
        "PGHOST=a\nAWS_X=1\nDSQL_Y=2\nREGION=r\nSSL_CERT_FILE=f\n");
}

#define OURS(path)                                                                                 \
    "\"-Djavax.net.ssl.trustStore=" path "\" -Djavax.net.ssl.trustStoreType=PKCS12 "               \
    "-Djavax.net.ssl.trustStorePassword=changeit"

TEST(java)
{
    static const char store[] = "DSQL_LOCAL_TRUST_STORE=/a b/t.p12\n";
    assert_non_null(strstr(written(store, "", "", DSQL_ENV_PLAIN),
                           "\nJAVA_TOOL_OPTIONS=" OURS("/a b/t.p12") "\n"));
    assert_non_null(strstr(written(store, "", "-Xmx1g", DSQL_ENV_PLAIN),
                           "\nJAVA_TOOL_OPTIONS=-Xmx1g " OURS("/a b/t.p12") "\n"));
    /* Not twice when the environment is taken again. */
    assert_non_null(strstr(written(store, "", OURS("/a b/t.p12"), DSQL_ENV_PLAIN),
                           "\nJAVA_TOOL_OPTIONS=" OURS("/a b/t.p12") "\n"));
    assert_null(strstr(
        written("DSQL_LOCAL_TRUST_STORE=/t\" -javaagent:x \"\n", "", "", DSQL_ENV_PLAIN), "JAVA"));
}

TEST(formats)
{
    static const char lines[] =
        "PGHOST=a.b-c\nPGUSER=\nPGPASSWORD=x/?a=1&b=%2F\nAWS_X=a'b\"$c`\\d\n";
    assert_string_equal(
        written(lines, "", "", DSQL_ENV_SHELL),
        "export PGHOST='a.b-c'\nexport PGUSER=''\nexport PGPASSWORD='x/?a=1&b=%2F'\n"
        "export AWS_X='a'\\''b\"$c`\\d'\n");
    assert_string_equal(written(lines, "", "", DSQL_ENV_DOTENV),
                        "PGHOST=a.b-c\nPGUSER=\nPGPASSWORD='x/?a=1&b=%2F'\n"
                        "AWS_X=\"a'b\\\"\\$c\\`\\\\d\"\n");
    assert_string_equal(
        written(lines, "", "", DSQL_ENV_JSON),
        "{\n  \"PGHOST\": \"a.b-c\",\n  \"PGUSER\": \"\",\n"
        "  \"PGPASSWORD\": \"x/?a=1&b=%2F\",\n  \"AWS_X\": \"a'b\\\"$c`\\\\d\"\n}\n");
    assert_string_equal(written("", "", "", DSQL_ENV_JSON), "{}\n");
    enum dsql_env_format format;
    assert_true(dsql_env_format_of(DSQL_SPAN("json"), &format) && format == DSQL_ENV_JSON);
    assert_true(dsql_env_format_of(DSQL_SPAN("dotenv"), &format) && format == DSQL_ENV_DOTENV);
    assert_true(dsql_env_format_of(DSQL_SPAN("shell"), &format) && format == DSQL_ENV_SHELL);
    assert_false(dsql_env_format_of(DSQL_SPAN("plain"), &format));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts), cmocka_unit_test(host),    cmocka_unit_test(only_known_variables),
        cmocka_unit_test(java),  cmocka_unit_test(formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

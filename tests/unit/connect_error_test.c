/* Each way a connect can fail, and the one class it has. */
#include "core/connect_error.h"
#include "support/test.h"

#define DENIED_TEXT "unable to accept connection, access denied"

static const struct {
    struct dsql_connect_failure failure;
    enum dsql_connect_class cls;
    enum dsql_rc rc;
} cases[] = {
    {{"53400", "Unable to accept connection, rate exceeded.", "", false, false},
     DSQL_CONNECT_THROTTLED,
     DSQL_THROTTLED},
    {{"53300", "Unable to accept connection, too many open connections.", NULL, false, false},
     DSQL_CONNECT_FULL,
     DSQL_LIMIT},
    {{"08006", DENIED_TEXT, "Signature expired: 20240101T000000Z is now earlier", false, false},
     DSQL_CONNECT_TOKEN_EXPIRED,
     DSQL_DENIED},
    {{"08006", DENIED_TEXT, "Signature not yet current: 20240101T000000Z is still later", false,
      false},
     DSQL_CONNECT_TOKEN_EXPIRED,
     DSQL_DENIED},
    {{"08006", DENIED_TEXT, "Wrong user to action mapping. user: admin", false, false},
     DSQL_CONNECT_DENIED,
     DSQL_DENIED},
    {{"08006", DENIED_TEXT, NULL, false, false}, DSQL_CONNECT_DENIED, DSQL_DENIED},
    {{"28P01", "password authentication failed", "", false, false},
     DSQL_CONNECT_DENIED,
     DSQL_DENIED},
    {{"3D000", "database \"x\" does not exist", "", false, false},
     DSQL_CONNECT_DENIED,
     DSQL_DATABASE},
    {{"", "Connection refused", "", false, false}, DSQL_CONNECT_NETWORK, DSQL_LOST},
    {{NULL, "server closed the connection unexpectedly", NULL, false, false},
     DSQL_CONNECT_NETWORK,
     DSQL_LOST},
    {{"57P03", "the database system is starting up", "", false, false},
     DSQL_CONNECT_NETWORK,
     DSQL_LOST},
    {{"", "unable to accept connection, waking up cluster, please retry later", "", false, false},
     DSQL_CONNECT_NETWORK,
     DSQL_UNAVAILABLE},
    {{"", "SSL error: certificate verify failed", "", true, false}, DSQL_CONNECT_TLS, DSQL_DENIED},
    {{"", "could not create socket: Too many open files", "", false, true},
     DSQL_CONNECT_RESOURCES,
     DSQL_LIMIT},
};

TEST(classes)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        enum dsql_rc rc = DSQL_OK;
        enum dsql_connect_class cls = dsql_connect_classify(&cases[i].failure, &rc);
        assert_string_equal(dsql_connect_class_name(cls), dsql_connect_class_name(cases[i].cls));
        assert_string_equal(dsql_rc_name(rc), dsql_rc_name(cases[i].rc));
        assert_true(dsql_connect_advice(cls)[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(classes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

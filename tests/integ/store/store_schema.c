/* What dsql_store_verify_schema() says of the cluster: "complete", or this text is in its message.
 */
#include <string.h>

#include "support/store.h"

int main(int argc, char **argv)
{
    struct fixture fix;
    struct dsql_err err = {0};
    REQUIRE(argc == 2);
    fixture_open(&fix, 2, NULL);
    enum dsql_rc rc = dsql_store_verify_schema(fix.store, INT64_C(30000000000), &err);
    if (strcmp(argv[1], "complete") == 0) {
        REQUIRE_OK(rc);
    } else {
        REQUIRE(rc == DSQL_CONDITION_FAILED);
        REQUIRE(strstr(err.message, argv[1]));
        REQUIRE(strstr(err.hint, "dsql schema"));
    }
    fixture_close(&fix);
    return 0;
}

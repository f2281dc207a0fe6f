#include "cli/fetch_keys.h"

#include "aws/credentials.h"
#include "base/clock.h"

/* A credential_process may take its minute, and STS comes after it. */
#define CREDENTIALS_WAIT_NS (90 * DSQL_S)

enum dsql_rc dsql_fetch_keys(const char *profile, const char *region, struct dsql_keys *keys,
                             struct dsql_err *err)
{
    const struct dsql_credentials_options options = {.profile = profile, .region = region};
    struct dsql_credentials *credentials;
    enum dsql_rc rc = dsql_credentials_new(&options, &credentials, err);
    if (rc)
        return rc;
    rc = dsql_credentials_get(credentials, CREDENTIALS_WAIT_NS, keys, err);
    dsql_credentials_destroy(credentials);
    return rc;
}

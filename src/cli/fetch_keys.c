#include "cli/fetch_keys.h"

#include "aws/chain.h"
#include "base/clock.h"

/* A credential_process may take its minute, and STS comes after it. */
#define CREDENTIALS_WAIT_NS (90 * DSQL_S)

static void say_nothing(void *arg, enum dsql_log_level level, const char *line, size_t len)
{
    (void)arg, (void)level, (void)line, (void)len;
}

enum dsql_rc dsql_fetch_keys(const char *profile, const char *region, struct dsql_keys *keys,
                             struct dsql_err *err)
{
    const struct dsql_credentials_options options = {.profile = profile, .region = region};
    struct dsql_log quiet;
    struct dsql_credentials_setup setup = {.log = &quiet};
    struct dsql_credentials *credentials;
    dsql_log_init(&quiet, &dsql_clock_system, say_nothing, NULL);
    enum dsql_rc rc = dsql_chain_new(&options, &dsql_provider_limits_default, &dsql_clock_system,
                                     &setup.source, err);
    if (!rc)
        rc = dsql_credentials_make(&setup, &credentials, err);
    if (rc)
        return rc;
    rc = dsql_credentials_get(credentials, CREDENTIALS_WAIT_NS, keys, err);
    dsql_credentials_destroy(credentials);
    return rc;
}

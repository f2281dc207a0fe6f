#include "local/process/secrets.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "local/process/first_sql.h"

static enum dsql_rc make_one(struct dsql_secret *secret)
{
    unsigned char bytes[DSQL_LOCAL_SECRET_LEN / 2];
    char hex[DSQL_LOCAL_SECRET_LEN + 1];
    dsql_random_bytes(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
    enum dsql_rc rc = dsql_secret_set(secret, (struct dsql_span){hex, DSQL_LOCAL_SECRET_LEN});
    explicit_bzero(bytes, sizeof(bytes));
    explicit_bzero(hex, sizeof(hex));
    return rc;
}

enum dsql_rc dsql_local_secrets_make(struct dsql_local_secrets *secrets, struct dsql_err *err)
{
    if (make_one(&secrets->client) || make_one(&secrets->own))
        return dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    return DSQL_OK;
}

void dsql_local_secrets_fini(struct dsql_local_secrets *secrets)
{
    dsql_secret_fini(&secrets->client);
    dsql_secret_fini(&secrets->own);
}

int dsql_local_secrets_pipe(const struct dsql_local_secrets *secrets)
{
    int fds[2];
    const struct dsql_revealed client = dsql_secret_reveal(&secrets->client);
    const struct dsql_revealed own = dsql_secret_reveal(&secrets->own);
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -1;
    /* A pipe holds far more: this never waits. */
    bool sent = write(fds[1], client.ptr, client.len) == (ssize_t)client.len &&
                write(fds[1], own.ptr, own.len) == (ssize_t)own.len;
    close(fds[1]);
    if (sent)
        return fds[0];
    close(fds[0]);
    return -1;
}

struct dsql_pg_param dsql_local_secret_param(const struct dsql_secret *secret)
{
    return (struct dsql_pg_param){DSQL_SPAN(DSQL_LOCAL_SECRET_NAME),
                                  dsql_revealed_span(dsql_secret_reveal(secret))};
}

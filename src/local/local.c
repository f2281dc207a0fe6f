#include "local/local.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "local/certificate.h"

/* A command may run long and open connections all the while. */
#define ENV_TOKEN_SECONDS INT64_C(86400)

static void add_random(struct dsql_strbuf *sb, size_t len)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    unsigned char bytes[64];
    assert(len <= sizeof(bytes));
    dsql_random_bytes(bytes, len);
    for (size_t i = 0; i < len; i++)
        dsql_strbuf_add_char(sb, alphabet[bytes[i] % 32]);
    explicit_bzero(bytes, sizeof(bytes));
}

enum dsql_rc dsql_local_options_default(struct dsql_local_options *options)
{
    *options = (struct dsql_local_options){
        .host = "localhost",
        .region = "us-east-1",
        .arn = "arn:aws:iam::000000000000:user/local",
        .rate = 100,
        .burst = 1000,
        .open_max = 10000,
        .lifetime_ns = DSQL_H,
        .time_scale = 1,
        .limits = dsql_sql_limits_default,
    };
    struct dsql_strbuf id, secret;
    char memory[48];
    dsql_strbuf_init(&id, options->access_key_id, sizeof(options->access_key_id));
    dsql_strbuf_add_str(&id, "AKIALOCAL");
    add_random(&id, 11);
    dsql_strbuf_init(&secret, memory, sizeof(memory));
    add_random(&secret, 40);
    enum dsql_rc rc = dsql_secret_set(&options->secret_access_key, dsql_strbuf_span(&secret));
    explicit_bzero(memory, sizeof(memory));
    return rc;
}

void dsql_local_options_fini(struct dsql_local_options *options)
{
    dsql_secret_fini(&options->secret_access_key);
    dsql_secret_fini(&options->session_token);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    (void)remove(path);
    return 0;
}

/* A folder that exists must be ours or empty: it is handed to PostgreSQL's user. */
static bool may_use(const char *folder)
{
    char ours[DSQL_LOCAL_PATH_MAX];
    (void)snprintf(ours, sizeof(ours), "%.200s/lock", folder);
    DIR *dir = opendir(folder);
    if (!dir)
        return errno == ENOENT;
    bool empty = true;
    for (const struct dirent *entry; (entry = readdir(dir));)
        empty = empty && entry->d_name[0] == '.' &&
                (entry->d_name[1] == '\0' || (entry->d_name[1] == '.' && entry->d_name[2] == '\0'));
    closedir(dir);
    return empty || access(ours, F_OK) == 0;
}

static enum dsql_rc make_folder(struct dsql_local *local, const char *folder, struct dsql_err *err)
{
    const char *parent = getenv("TMPDIR");
    int len = folder ? snprintf(local->folder, sizeof(local->folder), "%s", folder)
                     : snprintf(local->folder, sizeof(local->folder), "%s/dsql-local-XXXXXX",
                                parent && parent[0] ? parent : "/tmp");
    /* A Unix socket's path has room for 107 bytes. */
    if (len < 0 || len > 80)
        return dsql_err_set(err, DSQL_INVALID, "the path %.100s is too long: at most 80 characters",
                            local->folder);
    if (folder && !may_use(folder))
        return dsql_err_set(err, DSQL_INVALID,
                            "%.200s is not empty and not a folder of dsql local; choose another",
                            folder);
    local->throwaway = !folder;
    bool made =
        folder ? mkdir(folder, 0711) == 0 || errno == EEXIST : mkdtemp(local->folder) != NULL;
    if (!made || chmod(local->folder, 0711) != 0)
        return dsql_err_set(err, DSQL_IO, "can't make %.200s: %s", local->folder, strerror(errno));
    char *absolute = realpath(local->folder, NULL);
    if (!absolute || strlen(absolute) > 80) {
        free(absolute);
        return dsql_err_set(err, DSQL_INVALID, "can't use %.200s", local->folder);
    }
    (void)snprintf(local->folder, sizeof(local->folder), "%s", absolute);
    free(absolute);
    return DSQL_OK;
}

static enum dsql_rc lock_folder(struct dsql_local *local, struct dsql_err *err)
{
    char path[DSQL_LOCAL_PATH_MAX + 8];
    (void)snprintf(path, sizeof(path), "%s/lock", local->folder);
    local->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (local->lock >= 0 && flock(local->lock, LOCK_EX | LOCK_NB) == 0)
        return DSQL_OK;
    if (errno == EWOULDBLOCK)
        return dsql_err_set(err, DSQL_INVALID, "%.200s is in use by another dsql local",
                            local->folder);
    return dsql_err_set(err, DSQL_IO, "can't lock %.200s: %s", path, strerror(errno));
}

enum dsql_rc dsql_local_start(struct dsql_local *local, struct dsql_local_options *options,
                              const char *folder, struct dsql_log *log, struct dsql_err *err)
{
    *local = (struct dsql_local){.options = *options, .lock = -1};
    *options = (struct dsql_local_options){0};
    enum dsql_rc rc = make_folder(local, folder, err);
    if (!rc)
        rc = lock_folder(local, err);
    if (!rc)
        rc = dsql_postgres_start(&local->pg, local->folder, local->throwaway,
                                 &local->options.limits, err);
    if (!rc) {
        (void)snprintf(local->ca, sizeof(local->ca), "%.200s/ca.pem", local->folder);
        rc = dsql_certificate_context(local->options.host, local->ca, &local->tls, err);
    }
    if (!rc)
        rc = dsql_front_init(&local->front, &local->options, &local->pg, local->tls, log, err);
    if (rc) {
        local->front.options = NULL;
        dsql_local_stop(local);
    }
    return rc;
}

void dsql_local_stop(struct dsql_local *local)
{
    if (local->front.options)
        dsql_front_fini(&local->front);
    SSL_CTX_free(local->tls);
    dsql_postgres_stop(&local->pg);
    char env[DSQL_LOCAL_PATH_MAX + 8];
    (void)snprintf(env, sizeof(env), "%s/env", local->folder);
    if (local->lock >= 0)
        (void)unlink(env); /* it names an endpoint that is gone */
    if (local->throwaway && local->folder[0])
        (void)nftw(local->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    if (local->lock >= 0)
        close(local->lock);
    dsql_local_options_fini(&local->options);
    *local = (struct dsql_local){.lock = -1};
}

enum dsql_rc dsql_local_env(const struct dsql_local *local, struct dsql_strbuf *out,
                            struct dsql_err *err)
{
    const struct dsql_local_options *options = &local->options;
    const struct dsql_token_order order = {
        .keys = {.access_key_id = dsql_span_of(options->access_key_id),
                 .secret_access_key = &options->secret_access_key,
                 .session_token = &options->session_token},
        .host = dsql_span_of(options->host),
        .region = dsql_span_of(options->region),
        .action = DSQL_TOKEN_CONNECT_ADMIN,
        .at = dsql_clock_wall(&dsql_clock_system),
        .expires_s = ENV_TOKEN_SECONDS,
    };
    struct dsql_secret token = {0};
    enum dsql_rc rc = dsql_token_mint(&order, &token, err);
    if (rc)
        return rc;
    dsql_strbuf_addf(out, "PGHOST=%s\nPGHOSTADDR=127.0.0.1\nPGPORT=%u\n", options->host,
                     (unsigned)options->port);
    dsql_strbuf_addf(out, "PGUSER=admin\nPGDATABASE=postgres\nPGSSLMODE=verify-full\n");
    dsql_strbuf_addf(out, "PGSSLROOTCERT=%s\nDSQL_ENDPOINT=%s:%u\nDSQL_USER=admin\n", local->ca,
                     options->host, (unsigned)options->port);
    /* The caller's own of the same meaning must not win. */
    dsql_strbuf_addf(out, "DSQL_REGION=%s\nAWS_REGION=%s\nAWS_SESSION_TOKEN=\n", options->region,
                     options->region);
    dsql_strbuf_addf(out, "AWS_ACCESS_KEY_ID=%s\nAWS_SECRET_ACCESS_KEY=%s\nPGPASSWORD=%s\n",
                     options->access_key_id, dsql_secret_reveal(&options->secret_access_key).ptr,
                     dsql_secret_reveal(&token).ptr);
    dsql_secret_fini(&token);
    return out->cut ? dsql_err_set(err, DSQL_NO_MEMORY, "out of memory") : DSQL_OK;
}

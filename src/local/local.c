#include "local/local.h"

#include <stdio.h>

#include "base/clock.h"
#include "local/process/certificate.h"
#include "local/process/cluster_name.h"
#include "local/process/trust_files.h"

/* A command may run long and open connections all the while. */
#define ENV_TOKEN_SECONDS INT64_C(86400)

void dsql_local_options_default(struct dsql_local_options *options)
{
    *options = (struct dsql_local_options){
        .region = "us-east-1",
        .arn = "arn:aws:iam::000000000000:user/local",
        .rate = 100,
        .burst = 1000,
        .open_max = 10000,
        .logins_max = 1000,
        .login_limit_ns = DSQL_M, /* as PostgreSQL's authentication_timeout */
        .lifetime_ns = DSQL_H,
        .clock = dsql_clock_or_boot(NULL),
        .time_scale = 1,
        .limits = dsql_sql_limits_default,
        .stale = {.chance = 1},
    };
}

void dsql_local_options_fini(struct dsql_local_options *options)
{
    dsql_local_keys_fini(&options->keys);
}

bool dsql_local_is_arn(struct dsql_span text)
{
    struct dsql_span field[6], rest = text;
    bool more = true;
    for (size_t i = 0; i < DSQL_COUNT_OF(field) - 1; i++) {
        more = more && dsql_span_cut(rest, ':', &field[i], &rest);
        if (!more)
            return false;
    }
    field[5] = rest;
    bool digits = field[4].len == 12;
    for (size_t i = 0; i < field[4].len; i++)
        digits = digits && field[4].ptr[i] >= '0' && field[4].ptr[i] <= '9';
    bool printable = true;
    for (size_t i = 0; i < text.len; i++)
        printable = printable && text.ptr[i] > ' ' && text.ptr[i] < 0x7f && text.ptr[i] != '\'';
    bool iam =
        dsql_span_eq(field[2], DSQL_SPAN("iam")) &&
        (dsql_span_starts(rest, DSQL_SPAN("user/")) || dsql_span_starts(rest, DSQL_SPAN("role/")));
    bool sts = dsql_span_eq(field[2], DSQL_SPAN("sts")) &&
               dsql_span_starts(rest, DSQL_SPAN("assumed-role/"));
    return printable && digits && dsql_span_eq(field[0], DSQL_SPAN("arn")) &&
           dsql_span_starts(field[1], DSQL_SPAN("aws")) && field[3].len == 0 && (iam || sts) &&
           text.ptr[text.len - 1] != '/';
}

/* The keys that were given, else those of the folder, else new ones; the folder has them
 * afterwards. */
static enum dsql_rc settle_keys(struct dsql_local *local, struct dsql_err *err)
{
    struct dsql_local_keys *keys = &local->options.keys;
    enum dsql_rc rc = DSQL_OK;
    if (!keys->access_key_id[0]) {
        rc = dsql_local_keys_read(keys, &local->folder, err);
        if (!rc)
            return DSQL_OK;
        if (rc == DSQL_NOT_FOUND)
            rc = dsql_local_keys_make(keys, err);
    }
    return rc ? rc : dsql_local_keys_write(keys, &local->folder, err);
}

static enum dsql_rc settle_name(struct dsql_local *local, struct dsql_err *err)
{
    local->named = local->options.host[0] != '\0';
    return local->named ? DSQL_OK
                        : dsql_cluster_name(&local->folder, local->options.region,
                                            &local->options.host, err);
}

static enum dsql_rc answer_env(void *arg, struct dsql_strbuf *out, struct dsql_err *err)
{
    return dsql_local_env(arg, out, err);
}

static enum dsql_rc open_front(struct dsql_local *local, struct dsql_log *log, struct dsql_err *err)
{
    char path[DSQL_LOCAL_PATH_MAX];
    enum dsql_rc rc =
        dsql_front_init(&local->front, &local->options, &local->pg, local->tls, log, err);
    if (rc) {
        local->front.options = NULL;
        return rc;
    }
    local->control.front = &local->front;
    local->control.env = answer_env;
    local->control.arg = local;
    dsql_folder_path(&local->folder, "control", &path);
    return dsql_control_open(&local->control, path, err);
}

/* All parts, the folder last. */
static void end(struct dsql_local *local, void (*leave)(struct dsql_folder *folder))
{
    if (local->front.options) {
        dsql_control_close(&local->control);
        dsql_front_fini(&local->front);
    }
    SSL_CTX_free(local->tls);
    dsql_postgres_stop(&local->pg);
    if (local->folder.lock >= 0)
        dsql_folder_unlink(&local->folder, "env"); /* it names an endpoint that is gone */
    leave(&local->folder);
    dsql_local_options_fini(&local->options);
    *local = (struct dsql_local){.folder = DSQL_FOLDER_NONE, .control = {.listener = {.fd = -1}}};
}

/* Says what stands around PostgreSQL, louder if it is not all. */
static void log_wall(const struct dsql_kernel_wall *wall, struct dsql_log *log)
{
    char memory[64];
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, memory, sizeof(memory));
    dsql_kernel_wall_describe(wall, &text);
    if (wall->landlock > 0)
        dsql_log(log, DSQL_EVENT_LOCAL_WALL, DSQL_F("wall", dsql_strbuf_span(&text)));
    else
        dsql_log(log, DSQL_EVENT_LOCAL_NO_WALL, DSQL_F("wall", dsql_strbuf_span(&text)),
                 DSQL_F("reason", wall->off ? "--no-wall" : "this kernel has no Landlock"));
}

enum dsql_rc dsql_local_start(struct dsql_local *local, struct dsql_local_options *options,
                              const char *folder, struct dsql_log *log, struct dsql_err *err)
{
    *local = (struct dsql_local){.options = *options, .control = {.listener = {.fd = -1}}};
    *options = (struct dsql_local_options){0};
    enum dsql_rc rc = dsql_folder_open(&local->folder, folder, err);
    if (!rc)
        rc = settle_keys(local, err);
    if (!rc)
        rc = settle_name(local, err);
    if (!rc)
        rc = dsql_postgres_start(&local->pg, &local->folder, local->options.no_wall,
                                 &local->options.limits, local->options.clock, err);
    if (!rc)
        rc = dsql_folder_brought_up(&local->folder, err);
    if (!rc)
        rc = dsql_certificate_context(local->options.host, &local->folder,
                                      dsql_clock_wall(local->options.clock), &local->tls, err);
    if (!rc)
        rc = dsql_trust_files_write(&local->folder, local->options.roots, err);
    if (!rc)
        log_wall(&local->pg.programs.wall, log);
    if (!rc)
        rc = open_front(local, log, err);
    if (rc)
        end(local, dsql_folder_undo);
    return rc;
}

void dsql_local_stop(struct dsql_local *local)
{
    end(local, dsql_folder_close);
}

/* Where it is and who connects. The caller's own of the same meaning must not win: each name that
 * some program looks at is there. */
static void add_address(const struct dsql_local *local, struct dsql_strbuf *out)
{
    const struct dsql_local_options *options = &local->options;
    const char *host = local->named ? options->host : "localhost", *region = options->region;
    unsigned port = options->port;
    dsql_strbuf_addf(out, "PGHOST=%s\nPGHOSTADDR=127.0.0.1\nPGPORT=%u\n", host, port);
    dsql_strbuf_addf(out, "PGUSER=admin\nPGDATABASE=postgres\nPGSSLMODE=verify-full\n");
    dsql_strbuf_addf(out, "DSQL_ENDPOINT=%s:%u\nDSQL_USER=admin\nDSQL_REGION=%s\n", host, port,
                     region);
    dsql_strbuf_addf(out, "CLUSTER_ENDPOINT=%s\nCLUSTER_USER=admin\nREGION=%s\n", options->host,
                     region);
    dsql_strbuf_addf(out, "AWS_REGION=%s\nAWS_DEFAULT_REGION=%s\n", region, region);
}

/* The files that clients trust, under the name that each kind of program knows. */
static void add_trust(const struct dsql_local *local, struct dsql_strbuf *out)
{
    static const char *const files[][2] = {{"PGSSLROOTCERT", "ca.pem"},
                                           {"NODE_EXTRA_CA_CERTS", "ca.pem"},
                                           {"SSL_CERT_FILE", DSQL_TRUST_BUNDLE},
                                           {"DSQL_LOCAL_TRUST_STORE", DSQL_TRUST_STORE}};
    char path[DSQL_LOCAL_PATH_MAX];
    for (size_t i = 0; i < DSQL_COUNT_OF(files); i++) {
        dsql_folder_path(&local->folder, files[i][1], &path);
        dsql_strbuf_addf(out, "%s=%s\n", files[i][0], path);
    }
}

enum dsql_rc dsql_local_env(const struct dsql_local *local, struct dsql_strbuf *out,
                            struct dsql_err *err)
{
    const struct dsql_local_options *options = &local->options;
    const struct dsql_token_order order = {
        .keys = {.access_key_id = dsql_span_of(options->keys.access_key_id),
                 .secret_access_key = &options->keys.secret_access_key,
                 .session_token = &options->keys.session_token},
        .host = dsql_span_of(options->host),
        .region = dsql_span_of(options->region),
        .action = DSQL_TOKEN_CONNECT_ADMIN,
        .at = dsql_clock_wall(options->clock),
        .expires_s = ENV_TOKEN_SECONDS,
    };
    struct dsql_secret token = {0};
    enum dsql_rc rc = dsql_token_mint(&order, &token, err);
    if (rc)
        return rc;
    add_address(local, out);
    add_trust(local, out);
    dsql_strbuf_addf(out, "AWS_ACCESS_KEY_ID=%s\nAWS_SECRET_ACCESS_KEY=%s\nAWS_SESSION_TOKEN=%s\n",
                     options->keys.access_key_id,
                     dsql_secret_reveal(&options->keys.secret_access_key).ptr,
                     dsql_secret_reveal(&options->keys.session_token).ptr);
    dsql_strbuf_addf(out, "PGPASSWORD=%s\nDSQL_LOCAL_CONTROL=%s\nDSQL_LOCAL_ARN=%s\n",
                     dsql_secret_reveal(&token).ptr, local->control.path, options->arn);
    dsql_secret_fini(&token);
    return out->cut ? dsql_err_set(err, DSQL_NO_MEMORY, "out of memory") : DSQL_OK;
}

#include "local/process/cluster.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/sha.h>

#include "local/process/first_sql.h"
#include "local/process/module_file.h"

enum { ARGS_MAX = 32 };

#define DIGEST_FILE "first_sql"

/* The digest of the SQL that a cluster gets first. */
struct digest {
    char hex[2 * SHA256_DIGEST_LENGTH + 1];
};

static struct digest digest_of(const char *text)
{
    unsigned char bytes[SHA256_DIGEST_LENGTH];
    struct digest digest = {{0}};
    (void)SHA256((const unsigned char *)text, strlen(text), bytes);
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(digest.hex + 2 * i, 3, "%02x", bytes[i]);
    return digest;
}

void dsql_cluster_settings_init(struct dsql_cluster_settings *settings,
                                const struct dsql_folder *folder)
{
    /* The folder may have moved since it was made. */
    (void)snprintf(settings->library_path, sizeof(settings->library_path),
                   "dynamic_library_path=%s:$libdir", folder->path);
    settings->all[0] = settings->library_path;
    settings->all[1] = "shared_preload_libraries=" DSQL_MODULE_NAME;
    settings->all[2] = "dynamic_shared_memory_type=mmap";
}

static enum dsql_rc run_initdb(const struct dsql_programs *programs, const char *data,
                               struct dsql_err *err)
{
    const char *const args[] = {"initdb",
                                "-D",
                                data,
                                "-U",
                                DSQL_LOCAL_SUPERUSER,
                                "--auth=trust",
                                "--locale=C",
                                "--encoding=UTF8",
                                "--no-sync",
                                NULL};
    return dsql_program_run(programs, DSQL_KERNEL_WALL_INITDB, args, "", err);
}

/* The first statement that fails ends it, and its error is the last line of the log. */
static enum dsql_rc run_first_sql(const struct dsql_programs *programs, const char *data,
                                  struct dsql_err *err)
{
    static const char *const own[] = {"exit_on_error=on", "log_min_messages=fatal",
                                      "log_error_verbosity=terse", "log_checkpoints=off",
                                      "log_min_error_statement=panic"};
    const char *args[ARGS_MAX] = {"postgres", "--single", "-j", "-D", data};
    struct dsql_cluster_settings shared;
    size_t n = 5;
    dsql_cluster_settings_init(&shared, programs->folder);
    for (size_t i = 0; i < DSQL_CLUSTER_SETTINGS + DSQL_COUNT_OF(own); i++) {
        args[n++] = "-c";
        args[n++] = i < DSQL_CLUSTER_SETTINGS ? shared.all[i] : own[i - DSQL_CLUSTER_SETTINGS];
    }
    args[n++] = "postgres";
    assert(n < ARGS_MAX);
    return dsql_program_run(programs, DSQL_KERNEL_WALL_SINGLE, args, dsql_local_first_sql, err);
}

enum dsql_rc dsql_cluster_make(const struct dsql_programs *programs, const char *data,
                               const struct dsql_clock *clock, struct dsql_err *err)
{
    const struct dsql_folder *folder = programs->folder;
    const struct digest digest = digest_of(dsql_local_first_sql);
    char ran[sizeof(digest.hex)];
    size_t len = 0;
    bool fresh = false;
    enum dsql_rc rc = dsql_folder_read(folder, DIGEST_FILE, ran, sizeof(ran), &len, err);
    bool unknown = rc == DSQL_NOT_FOUND;
    if (rc && !unknown)
        return rc;
    if (!unknown && dsql_span_eq((struct dsql_span){ran, len}, dsql_span_of(digest.hex)))
        return DSQL_OK;
    rc = dsql_folder_sub(folder, "pg", &fresh, err);
    if (!rc && !fresh && unknown && !folder->older) {
        (void)dsql_err_set(err, DSQL_INVALID, "%.200s was not made completely", data);
        dsql_err_hint(err, "remove the folder %.150s and start again", folder->path);
        return DSQL_INVALID;
    }
    if (!rc && fresh)
        rc = run_initdb(programs, data, err);
    if (!rc)
        rc = run_first_sql(programs, data, err);
    for (int attempt = 1; attempt < DSQL_CLUSTER_ATTEMPTS && rc && !fresh; attempt++) {
        dsql_clock_sleep(clock, DSQL_CLUSTER_PAUSE_NS);
        rc = run_first_sql(programs, data, err);
    }
    return rc ? rc : dsql_folder_write(folder, DIGEST_FILE, 0600, dsql_span_of(digest.hex), err);
}

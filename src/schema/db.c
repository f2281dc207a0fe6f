/* A schema in a cluster: version, apply, drop. What compares is in verify.c. */
#include <libpq-fe.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/shown.h"
#include "schema/schema.h"

enum { TRIES = 30 };

#define POLL_NS   (200 * DSQL_MS)
#define REPORT_NS (2 * DSQL_S)

static void tell(const struct dsql_schema_watch *watch, const char *state, const char *what,
                 struct dsql_span name, const char *detail)
{
    if (watch && watch->see)
        watch->see(watch->arg, state, what, name, detail);
}

static const struct dsql_clock *clock_of(const struct dsql_schema_watch *watch)
{
    return dsql_clock_or_boot(watch ? watch->clock : NULL);
}

static const char *sqlstate_of(const PGresult *result)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return state ? state : "";
}

static enum dsql_rc database_error(PGconn *conn, const PGresult *result, struct dsql_span sql,
                                   struct dsql_err *err)
{
    const char *message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    bool lost = PQstatus(conn) != CONNECTION_OK;
    struct dsql_span line;
    dsql_span_cut(sql, '\n', &line, &sql);
    enum dsql_rc rc =
        dsql_err_set(err, lost ? DSQL_LOST : DSQL_DATABASE, "%.150s: %s", dsql_shown(line).text,
                     dsql_shown_str(message ? message : PQerrorMessage(conn)).text);
    if (err)
        (void)snprintf(err->sqlstate, sizeof(err->sqlstate), "%s", sqlstate_of(result));
    if (lost)
        dsql_err_hint(err, "run the command again: it goes on where it was cut off");
    return rc;
}

/* Another session changes the catalogue, or creates the same thing at the same time: IF NOT EXISTS
 * does not see what is not committed yet. */
static bool lost_a_race(struct dsql_span sql, const char *sqlstate)
{
    bool creates = dsql_span_starts(sql, DSQL_SPAN("CREATE ")) ||
                   dsql_span_starts(sql, DSQL_SPAN("ALTER TABLE "));
    return strcmp(sqlstate, "40001") == 0 ||
           (creates && (strcmp(sqlstate, "23505") == 0 || strcmp(sqlstate, "42P07") == 0 ||
                        strcmp(sqlstate, "42701") == 0 || strcmp(sqlstate, "42710") == 0));
}

enum dsql_rc dsql_schema_exec(PGconn *conn, struct dsql_span sql, size_t count,
                              const char *const *values, PGresult **result, struct dsql_err *err)
{
    struct dsql_rng rng = dsql_rng_from_os();
    char *text = strndup(sql.ptr, sql.len);
    enum dsql_rc rc = DSQL_NO_MEMORY;
    if (!text)
        return dsql_err_set(err, rc, "out of memory");
    for (int tries = 1;; tries++) {
        PGresult *got = PQexecParams(conn, text, (int)count, NULL, values, NULL, NULL, 0);
        ExecStatusType status = PQresultStatus(got);
        if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
            if (result)
                *result = got;
            else
                PQclear(got);
            rc = DSQL_OK;
            break;
        }
        bool again = lost_a_race(sql, sqlstate_of(got)) && tries < TRIES;
        if (!again)
            rc = database_error(conn, got, sql, err);
        PQclear(got);
        if (!again)
            break;
        dsql_clock_sleep(clock_of(NULL),
                         dsql_rng_between(&rng, 10 * DSQL_MS, 50 * DSQL_MS * tries));
    }
    free(text);
    return rc;
}

/* One value of one row: *found says whether there was a row with a value in it. */
static enum dsql_rc ask(PGconn *conn, const char *sql, size_t count, const char *const *values,
                        char *out, size_t cap, bool *found, struct dsql_err *err)
{
    PGresult *result;
    enum dsql_rc rc = dsql_schema_exec(conn, dsql_span_of(sql), count, values, &result, err);
    if (rc)
        return rc;
    *found = PQntuples(result) > 0 && !PQgetisnull(result, 0, 0);
    (void)snprintf(out, cap, "%s", *found ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    return DSQL_OK;
}

enum { SQL_MAX = 640 };

enum dsql_rc dsql_schema_read_version(const struct dsql_schema *schema, PGconn *conn,
                                      char version[DSQL_SCHEMA_VERSION_MAX], struct dsql_err *err)
{
    char table[64], sql[SQL_MAX];
    const char *values[] = {schema->version_table};
    bool found = false;
    enum dsql_rc rc =
        ask(conn, "SELECT to_regclass($1)", 1, values, table, sizeof(table), &found, err);
    version[0] = 0;
    if (rc || !found)
        return rc;
    (void)snprintf(sql, sizeof(sql),
                   "SELECT curr_version FROM %s WHERE version_partition = 0 "
                   "AND db_name = current_database()",
                   schema->version_table);
    return ask(conn, sql, 0, NULL, version, DSQL_SCHEMA_VERSION_MAX, &found, err);
}

static enum dsql_rc write_version(const struct dsql_schema *schema, PGconn *conn, const char *old,
                                  struct dsql_err *err)
{
    const char *values[] = {schema->version, old};
    char sql[SQL_MAX];
    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO %s (version_partition, db_name, creation_time, "
                   "curr_version, min_compatible_version) "
                   "VALUES (0, current_database(), now() AT TIME ZONE 'UTC', $1, $1) "
                   "ON CONFLICT (version_partition, db_name) DO UPDATE "
                   "SET curr_version = excluded.curr_version, "
                   "min_compatible_version = excluded.min_compatible_version",
                   schema->version_table);
    enum dsql_rc rc = dsql_schema_exec(conn, dsql_span_of(sql), 1, values, NULL, err);
    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO %s (version_partition, year, month, "
                   "update_time, description, manifest_md5, new_version, old_version) "
                   "SELECT 0, extract(year FROM t), extract(month FROM t), t, "
                   "'dsql schema apply', '', $1, $2 "
                   "FROM (SELECT now() AT TIME ZONE 'UTC' AS t) AS at_once",
                   schema->history_table);
    return rc ? rc : dsql_schema_exec(conn, dsql_span_of(sql), 2, values, NULL, err);
}

/* -- Indexes. */

enum index_state { INDEX_MISSING, INDEX_INVALID, INDEX_VALID };

static enum dsql_rc look_at_index(PGconn *conn, struct dsql_span name, enum index_state *state,
                                  struct dsql_err *err)
{
    char text[128], answer[8];
    const char *values[] = {text};
    bool found;
    (void)snprintf(text, sizeof(text), "%.*s", DSQL_SPAN_ARG(name));
    enum dsql_rc rc =
        ask(conn, "SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass($1)", 1,
            values, answer, sizeof(answer), &found, err);
    if (!rc)
        *state = !found ? INDEX_MISSING : answer[0] == 't' ? INDEX_VALID : INDEX_INVALID;
    return rc;
}

/* Whether a build that could be this index's is under way. Jobs name the table or the index. */
static enum dsql_rc job_of_index(PGconn *conn, const struct dsql_schema_step *step, char *status,
                                 size_t cap, bool *found, struct dsql_err *err)
{
    char table[128], index[128];
    const char *values[] = {table, index};
    (void)snprintf(table, sizeof(table), "%%%.*s", DSQL_SPAN_ARG(step->table));
    (void)snprintf(index, sizeof(index), "%%%.*s", DSQL_SPAN_ARG(step->name));
    return ask(conn,
               "SELECT status FROM sys.jobs WHERE status IN ('submitted', 'processing') "
               "AND (object_name LIKE $1 OR object_name LIKE $2)",
               2, values, status, cap, found, err);
}

/* Until the build has ended, one way or the other. */
static enum dsql_rc wait_for_index(PGconn *conn, const struct dsql_schema_step *step,
                                   const char *job, const struct dsql_schema_watch *watch,
                                   struct dsql_err *err)
{
    const struct dsql_clock *clock = clock_of(watch);
    struct dsql_mono began = dsql_clock_mono(clock);
    int64_t tell_after_ns = 0;
    const char *values[] = {job};
    for (;;) {
        char status[64] = "";
        bool found = false;
        enum dsql_rc rc = job ? ask(conn,
                                    "SELECT status FROM sys.jobs WHERE job_id = $1 AND status IN "
                                    "('submitted', 'processing')",
                                    1, values, status, sizeof(status), &found, err)
                              : job_of_index(conn, step, status, sizeof(status), &found, err);
        if (rc || !found)
            return rc;
        int64_t waited_ns = dsql_mono_since(dsql_clock_mono(clock), began);
        if (waited_ns >= tell_after_ns) {
            char detail[96];
            (void)snprintf(detail, sizeof(detail), "%.32s, %lld s so far", status,
                           (long long)(waited_ns / DSQL_S));
            tell(watch, "waiting", "index", step->name, detail);
            tell_after_ns = waited_ns + REPORT_NS;
        }
        dsql_clock_sleep(clock, POLL_NS);
    }
}

static enum dsql_rc explain_failure(PGconn *conn, const struct dsql_schema_step *step,
                                    const char *job, struct dsql_err *err)
{
    char details[256] = "";
    bool found = false;
    const char *values[] = {job};
    if (job[0] && ask(conn, "SELECT details FROM sys.jobs WHERE job_id = $1", 1, values, details,
                      sizeof(details), &found, err))
        return err ? err->rc : DSQL_DATABASE;
    (void)dsql_err_set(err, DSQL_DATABASE, "the index %.*s could not be built: %s",
                       DSQL_SPAN_ARG(step->name),
                       found ? dsql_shown_str(details).text : "it is not valid");
    dsql_err_hint(err, "mend the data of %.*s and run the command again: it builds the index anew",
                  DSQL_SPAN_ARG(step->table));
    return DSQL_DATABASE;
}

static enum dsql_rc drop(PGconn *conn, const char *what, struct dsql_span name,
                         struct dsql_err *err)
{
    char sql[160];
    int len = snprintf(sql, sizeof(sql), "DROP %s IF EXISTS %.*s", what, DSQL_SPAN_ARG(name));
    return dsql_schema_exec(conn, (struct dsql_span){sql, (size_t)len}, 0, NULL, NULL, err);
}

/* Waits for a build that is under way, and clears away what is left of one that failed. */
static enum dsql_rc settle_index(PGconn *conn, const struct dsql_schema_step *step,
                                 const struct dsql_schema_watch *watch, enum index_state *state,
                                 bool *cleared, struct dsql_err *err)
{
    enum dsql_rc rc = look_at_index(conn, step->name, state, err);
    if (rc || *state != INDEX_INVALID)
        return rc;
    rc = wait_for_index(conn, step, NULL, watch, err);
    if (!rc)
        rc = look_at_index(conn, step->name, state, err);
    if (rc || *state != INDEX_INVALID)
        return rc;
    *cleared = true;
    *state = INDEX_MISSING;
    return drop(conn, "INDEX", step->name, err);
}

/* Has it built, and waits. */
static enum dsql_rc build_index(PGconn *conn, const struct dsql_schema_step *step,
                                const struct dsql_schema_watch *watch, enum index_state *state,
                                char *job, size_t cap, struct dsql_err *err)
{
    PGresult *result;
    enum dsql_rc rc = dsql_schema_exec(conn, step->text, 0, NULL, &result, err);
    if (rc)
        return rc;
    (void)snprintf(job, cap, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
    PQclear(result);
    rc = wait_for_index(conn, step, job[0] ? job : NULL, watch, err);
    return rc ? rc : look_at_index(conn, step->name, state, err);
}

static enum dsql_rc apply_index(PGconn *conn, const struct dsql_schema_step *step,
                                const struct dsql_schema_watch *watch, struct dsql_err *err)
{
    enum index_state state = INDEX_MISSING;
    bool rebuilt = false;
    char job[64] = "";
    enum dsql_rc rc = settle_index(conn, step, watch, &state, &rebuilt, err);
    if (!rc && state == INDEX_VALID) {
        tell(watch, "exists", "index", step->name, "");
        return DSQL_OK;
    }
    /* Gone again: another run took it for the remains that both saw, and cleared it away. */
    for (int tries = 0; !rc && state == INDEX_MISSING && tries < TRIES; tries++)
        rc = build_index(conn, step, watch, &state, job, sizeof(job), err);
    if (rc)
        return rc;
    if (state != INDEX_VALID)
        return explain_failure(conn, step, job, err);
    tell(watch, rebuilt ? "rebuilt" : "created", "index", step->name, "");
    return DSQL_OK;
}

static enum dsql_rc apply_step(PGconn *conn, const struct dsql_schema_step *step,
                               const struct dsql_schema_watch *watch, struct dsql_err *err)
{
    char name[128], there[64];
    const char *values[] = {name};
    bool found = false;
    enum dsql_rc rc;
    switch (step->kind) {
    case DSQL_SCHEMA_INDEX:
        return apply_index(conn, step, watch, err);
    case DSQL_SCHEMA_ROW:
        return dsql_schema_exec(conn, step->text, 0, NULL, NULL, err);
    case DSQL_SCHEMA_TABLE:
        break;
    }
    (void)snprintf(name, sizeof(name), "%.*s", DSQL_SPAN_ARG(step->name));
    rc = ask(conn, "SELECT to_regclass($1)", 1, values, there, sizeof(there), &found, err);
    if (!rc)
        rc = found ? dsql_schema_add_columns(conn, step, watch, err)
                   : dsql_schema_exec(conn, step->text, 0, NULL, NULL, err);
    if (!rc)
        tell(watch, found ? "exists" : "created", "table", step->name, "");
    return rc;
}

/* A statement with IF NOT EXISTS says nothing of the shape of what exists. */
static enum dsql_rc refuse_other_shapes(const struct dsql_schema *schema, PGconn *conn,
                                        const struct dsql_schema_watch *watch, struct dsql_err *err)
{
    struct dsql_schema_findings findings;
    enum dsql_rc rc = dsql_schema_verify_shapes(schema, conn, watch, &findings, err);
    if (rc || findings.shapes == 0)
        return rc;
    (void)dsql_err_set(err, DSQL_CONDITION_FAILED,
                       "%zu things in the cluster have another shape than the schema's; nothing "
                       "was changed",
                       findings.shapes);
    dsql_err_hint(err, DSQL_SCHEMA_SHAPES_HINT);
    return DSQL_CONDITION_FAILED;
}

enum dsql_rc dsql_schema_apply(const struct dsql_schema *schema, PGconn *conn,
                               const struct dsql_schema_watch *watch, struct dsql_err *err)
{
    char version[DSQL_SCHEMA_VERSION_MAX];
    enum dsql_rc rc = dsql_schema_read_version(schema, conn, version, err);
    if (rc)
        return rc;
    int order = dsql_schema_version_compare(dsql_span_of(version), dsql_span_of(schema->version));
    if (order > 0) {
        (void)dsql_err_set(err, DSQL_CONDITION_FAILED,
                           "the cluster has %s schema version %s, this program knows %s",
                           schema->name, dsql_shown_str(version).text, schema->version);
        dsql_err_hint(err, "use the dsql of that version or a later one");
        return DSQL_CONDITION_FAILED;
    }
    struct dsql_span rest = schema->text();
    struct dsql_schema_step step;
    rc = refuse_other_shapes(schema, conn, watch, err);
    while (!rc && dsql_schema_next(&rest, &step))
        rc = apply_step(conn, &step, watch, err);
    if (!rc && order != 0)
        rc = write_version(schema, conn, version, err);
    return rc;
}

enum dsql_rc dsql_schema_drop(const struct dsql_schema *schema, PGconn *conn,
                              const struct dsql_schema_watch *watch, struct dsql_err *err)
{
    enum { TABLES_MAX = 64 };
    struct dsql_span names[TABLES_MAX], rest = schema->text();
    struct dsql_schema_step step;
    size_t n = 0;
    while (dsql_schema_next(&rest, &step))
        if (step.kind == DSQL_SCHEMA_TABLE) {
            assert(n < TABLES_MAX);
            names[n++] = step.name;
        }
    enum dsql_rc rc = DSQL_OK;
    while (!rc && n-- > 0) {
        rc = drop(conn, "TABLE", names[n], err);
        if (!rc)
            tell(watch, "dropped", "table", names[n], "");
    }
    return rc;
}

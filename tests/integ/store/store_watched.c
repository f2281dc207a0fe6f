/*
 * A process with a store, watched by Prometheus: uses the store in every way that leaves its mark
 * in a metric, and serves /metrics on a port of its own, which it names. Failures are part of it:
 * the endpoint is told to fail. Ends when its standard input does.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dsql/visibility.h"
#include "dsql/visibility_query.h"
#include "support/http_server.h"
#include "support/store.h"

#define STR(text) dsql_slice_str(text)

enum { PAUSE_MS = 20 };

static struct fixture fix;
static int32_t shard;

static enum dsql_rc take_over(struct dsql_store_tx *tx, void *arg, struct dsql_err *err)
{
    (void)arg;
    struct dsql_ReadLockShards lock = {shard};
    struct dsql_UpdateShards update = {shard, 1, STR("d"), STR("e")};
    enum dsql_rc rc = dsql_call_ReadLockShards(fix.store, tx, &lock, NULL, err);
    return rc ? rc : dsql_call_UpdateShards(fix.store, tx, &update, 1, NULL, err);
}

/* Lists all runs of a namespace: a condition that is an AND of nothing. */
static enum dsql_rc list(struct dsql_visibility *visibility, struct dsql_err *err)
{
    static const char all[] = {1, 'A', 0, 0};
    const struct dsql_visibility_query query = {STR("ns"), {all, sizeof(all)}};
    struct dsql_visibility_page page = {0};
    enum dsql_rc rc =
        dsql_visibility_list(visibility, &query, 10, (struct dsql_slice){0}, NULL, &page, err);
    dsql_visibility_page_fini(&page);
    return rc;
}

static struct dsql_visibility *open_visibility(void)
{
    struct dsql_err err = {0};
    struct dsql_visibility *visibility;
    struct dsql_visibility_options options;
    const struct dsql_visibility_record run = {.namespace_id = STR("ns"),
                                               .run_id = STR("run"),
                                               .version = 1,
                                               .status = 1,
                                               .close_us = DSQL_VISIBILITY_OPEN,
                                               .workflow_id = STR("workflow")};
    dsql_visibility_options_default(&options);
    REQUIRE_OK(dsql_visibility_open(fix.pool, &options, &visibility, &err));
    REQUIRE_OK(dsql_visibility_record(visibility, DSQL_VISIBILITY_STARTED, &run, NULL, NULL, &err));
    return visibility;
}

static enum dsql_rc save(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    (void)arg;
    const struct dsql_stmt stmt = {.name = "save", .sql = "SAVEPOINT here"};
    return dsql_tx_exec(tx, &stmt, NULL, 0, NULL, err);
}

/* What no failing endpoint explains. */
static bool is_own_fault(enum dsql_rc rc)
{
    enum dsql_class cls = dsql_rc_class(rc);
    return cls == DSQL_CLASS_CALLER || cls == DSQL_CLASS_PERMANENT || cls == DSQL_CLASS_CONDITION;
}

static void answer(void *arg, const struct http_asked *asked, struct http_told *told)
{
    static char *page;
    char *text;
    size_t len;
    (void)arg;
    (void)asked;
    REQUIRE(dsql_metrics_text(fix.metrics, &text, &len) == DSQL_OK);
    free(page);
    REQUIRE(asprintf(&page,
                     "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
                     "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                     len, text) > 0);
    free(text);
    told->raw = page;
}

int main(void)
{
    struct http_server server;
    struct dsql_err err = {0};
    fixture_open(&fix, 4, NULL);
    shard = fixture_shard(&fix);
    struct dsql_InsertIntoShards first = {shard, 1, STR("d"), STR("e")};
    REQUIRE_OK(dsql_call_InsertIntoShards(fix.store, NULL, &first, 1, NULL, &err));
    struct dsql_visibility *visibility = open_visibility();
    http_server_start(&server, answer, NULL);
    printf("%s\n", server.url);
    (void)fflush(stdout);
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (poll(&input, 1, PAUSE_MS) == 0) {
        struct dsql_SelectFromShards read = {shard};
        enum dsql_rc rc = dsql_call_SelectFromShards(fix.store, NULL, &read, NULL, &err);
        REQUIRE(!rc || !is_own_fault(rc), "%s", err.message);
        rc = dsql_store_run(fix.store, "UpdateShard", take_over, NULL, NULL, &err);
        REQUIRE(!rc || !is_own_fault(rc), "%s", err.message);
        rc = list(visibility, &err);
        REQUIRE(!rc || !is_own_fault(rc), "%s", err.message);
        struct dsql_visibility_compacted compacted;
        rc = dsql_visibility_compact(visibility, NULL, &compacted, &err);
        REQUIRE(!rc || !is_own_fault(rc), "%s", err.message);
        rc = dsql_tx_run(fix.pool, "save", save, NULL, NULL, &err);
        REQUIRE(rc != DSQL_OK, "a savepoint");
    }
    http_server_stop(&server);
    dsql_visibility_close(visibility);
    fixture_close(&fix);
    return 0;
}

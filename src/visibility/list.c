/* Pages of a list: portions of a path until the page is full, the list or the time is over. */
#include <stdlib.h>

#include "pool/pool.h"
#include "visibility/read.h"
#include "visibility/token.h"
#include "visibility/visibility.h"

enum {
    PAGE_MAX = 10000,
    COLLECT_MAX = 2000, /* runs that are read and sorted for a page */
    PORTION_MAX = 4096, /* runs of a statement */
};

/* No page takes longer to look for its runs, however much time its caller has. */
#define LIST_NS (10 * DSQL_S)

struct list {
    struct dsql_vis_call call;
    struct dsql_vis_expr expr;
    struct dsql_vis_ask ask;
    struct dsql_vis_path path;
    struct dsql_visibility_page *page;
    struct dsql_rows *division_rows;
    struct dsql_span *divisions;
    int64_t page_size, portion, begun_ns;
    /* Where it has got to. Its run id is in `run_id`: the rows that it came with go. */
    struct dsql_vis_position position;
    struct dsql_strbuf run_id;
    bool has_position, over, more;
};

static bool has_row(const struct list *list)
{
    return list->page->rows > 0;
}

/* An answer must still reach the caller: a third of its time is kept for that, and for the last
 * portion. */
static bool is_late(const struct list *list)
{
    int64_t left = dsql_vis_left(&list->call);
    int64_t taken = dsql_clock_mono(list->call.visibility->clock).ns - list->begun_ns;
    return taken > LIST_NS ||
           (left != INT64_MAX && left < (list->call.until_ns - list->begun_ns) / 3);
}

static bool is_done(const struct list *list)
{
    if (list->over || list->page->rows == (size_t)list->page_size)
        return true;
    return (has_row(list) && list->page->scanned >= list->call.visibility->bounds.scanned) ||
           is_late(list);
}

static enum dsql_rc move_to(struct list *list, const struct dsql_rows *rows, size_t row)
{
    struct dsql_span run_id = {0};
    run_id.ptr = dsql_rows_bytes(rows, row, DSQL_VIS_AT_RUN, &run_id.len);
    if (!run_id.ptr || !dsql_rows_i64(rows, row, DSQL_VIS_AT_CLOSE, &list->position.close_inv) ||
        !dsql_rows_i64(rows, row, DSQL_VIS_AT_START, &list->position.start_inv))
        return dsql_err_set(list->call.err, DSQL_PROTOCOL, "a run's position can't be read");
    dsql_strbuf_clear(&list->run_id);
    dsql_strbuf_add(&list->run_id, run_id);
    if (list->run_id.cut)
        return dsql_err_set(list->call.err, DSQL_NO_MEMORY, "out of memory");
    list->position.run_id = dsql_strbuf_span(&list->run_id);
    list->has_position = true;
    return DSQL_OK;
}

/* Adds the hits of a portion as long as there is room, and remembers the last run that counts. */
static enum dsql_rc take_rows(struct list *list, const struct dsql_rows *rows)
{
    size_t n = dsql_rows_count(rows);
    for (size_t row = 0; row < n; row++) {
        bool hit = false;
        if (!dsql_rows_bool(rows, row, DSQL_VIS_HIT, &hit))
            return dsql_err_set(list->call.err, DSQL_PROTOCOL, "a list without a mark");
        if (hit && list->page->rows == (size_t)list->page_size) {
            list->more = true;
            return DSQL_OK;
        }
        enum dsql_rc rc = move_to(list, rows, row);
        if (!rc && hit)
            rc = dsql_vis_page_add(list->page, rows, row, DSQL_VIS_COLUMNS, list->call.err);
        if (rc)
            return rc;
    }
    return DSQL_OK;
}

static int64_t scanned_of(const struct dsql_rows *rows)
{
    int64_t scanned = 0;
    (void)dsql_rows_i64(rows, 0, DSQL_VIS_SCANNED, &scanned);
    return scanned > 0 ? scanned : (int64_t)dsql_rows_count(rows);
}

static enum dsql_rc run_portion(struct list *list, int64_t limit, struct dsql_rows **rows)
{
    struct dsql_vis_sql sql;
    int64_t room = list->page_size - (int64_t)list->page->rows + 1;
    enum dsql_rc rc =
        dsql_vis_plan_list(&list->ask, &list->path, list->has_position ? &list->position : NULL,
                           limit, room, &sql, list->call.err);
    if (!rc)
        rc = dsql_vis_query(&list->call, "visibility_list", &sql, rows);
    dsql_vis_sql_fini(&sql);
    return rc;
}

/* -- The three kinds of portions. */

/* One more than wanted, so that the last page is known to be the last one. */
static enum dsql_rc take_plain(struct list *list)
{
    struct dsql_rows *rows = NULL;
    int64_t limit = list->page_size - (int64_t)list->page->rows + 1;
    enum dsql_rc rc = run_portion(list, limit, &rows);
    if (!rc) {
        int64_t n = (int64_t)dsql_rows_count(rows);
        list->page->scanned += n;
        list->over = n < limit;
        rc = take_rows(list, rows);
    }
    dsql_rows_free(rows);
    return rc;
}

/* The first portion is as large as the page: most filters take most runs. */
static enum dsql_rc take_filtered(struct list *list)
{
    struct dsql_rows *rows = NULL;
    int64_t limit = list->portion;
    enum dsql_rc rc = run_portion(list, limit, &rows);
    if (!rc) {
        int64_t scanned = scanned_of(rows);
        list->page->scanned += scanned;
        list->over = scanned < limit;
        rc = take_rows(list, rows);
        list->portion = 4 * limit < PORTION_MAX ? 4 * limit : PORTION_MAX;
    }
    dsql_rows_free(rows);
    return rc;
}

static enum dsql_rc take_collected(struct list *list)
{
    struct dsql_rows *rows = NULL;
    const int64_t limit = COLLECT_MAX + 1;
    enum dsql_rc rc = run_portion(list, limit, &rows);
    if (!rc) {
        int64_t scanned = scanned_of(rows);
        list->page->scanned += scanned;
        if (scanned >= limit) {
            dsql_vis_choose(&list->expr, false, &list->path);
        } else {
            list->over = true;
            rc = take_rows(list, rows);
        }
    }
    dsql_rows_free(rows);
    return rc;
}

static enum dsql_rc take_portion(struct list *list)
{
    if (dsql_vis_lacks_divisions(&list->path) && !list->divisions) {
        enum dsql_rc rc =
            dsql_vis_find_divisions(&list->call, list->ask.namespace_id, &list->division_rows,
                                    &list->divisions, &list->ask.division_count);
        if (rc)
            return rc;
        list->ask.divisions = list->divisions;
    }
    if (list->path.collects)
        return take_collected(list);
    return dsql_vis_is_filtered(&list->path) ? take_filtered(list) : take_plain(list);
}

/* -- A call. */

/* A full page has a token even if it is the last one: that is what Temporal's own stores do, and
 * its suite asks for. */
static enum dsql_rc give_token(struct list *list, uint64_t digest)
{
    struct dsql_visibility_page *page = list->page;
    if (list->over && !list->more && (int64_t)page->rows < list->page_size)
        return DSQL_OK;
    size_t len = DSQL_VIS_TOKEN_HEAD + list->position.run_id.len;
    unsigned char *token = realloc(page->token_data, len);
    if (!token)
        return dsql_err_set(list->call.err, DSQL_NO_MEMORY, "out of memory");
    dsql_vis_token_put(digest, &list->position, (char *)token);
    page->token_data = token;
    page->token = dsql_slice(token, len);
    return DSQL_OK;
}

/* The token may be the page's own, whose memory is used again. */
static enum dsql_rc start(struct list *list, struct dsql_slice token, uint64_t digest)
{
    struct dsql_vis_position position;
    if (token.len == 0)
        return DSQL_OK;
    enum dsql_rc rc = dsql_vis_token_read(dsql_vis_span(token), digest, &position, list->call.err);
    if (rc)
        return rc;
    dsql_strbuf_add(&list->run_id, position.run_id);
    position.run_id = dsql_strbuf_span(&list->run_id);
    list->position = position;
    list->has_position = true;
    return list->run_id.cut ? dsql_err_set(list->call.err, DSQL_NO_MEMORY, "out of memory")
                            : DSQL_OK;
}

static void end(struct list *list)
{
    dsql_vis_expr_fini(&list->expr);
    dsql_strbuf_fini(&list->run_id);
    dsql_rows_free(list->division_rows);
    free(list->divisions);
}

static enum dsql_rc run_list(struct list *list, const struct dsql_visibility_query *query,
                             struct dsql_slice token)
{
    uint64_t digest =
        dsql_vis_digest(dsql_vis_span(query->namespace_id), dsql_vis_span(query->expression));
    enum dsql_rc rc =
        dsql_vis_decode(dsql_vis_span(query->expression), &list->expr, list->call.err);
    if (!rc)
        rc = dsql_vis_check(&list->expr, list->call.err);
    if (!rc)
        rc = start(list, token, digest);
    dsql_vis_page_clear(list->page);
    if (rc)
        return rc;
    dsql_vis_choose(&list->expr, true, &list->path);
    do
        rc = take_portion(list);
    while (!rc && !is_done(list));
    return rc ? rc : give_token(list, digest);
}

static void observe(const struct list *list)
{
    struct dsql_metrics *metrics = list->call.visibility->pool->metrics;
    const struct dsql_visibility_page *page = list->page;
    if (!metrics)
        return;
    dsql_counter_add(metrics, DSQL_SERIES(visibility_read), (uint64_t)page->scanned);
    dsql_counter_add(metrics, DSQL_SERIES(visibility_answered), page->rows);
    if (page->token.len > 0 && page->rows < (size_t)list->page_size)
        dsql_counter_add(metrics, DSQL_SERIES(visibility_short_pages), 1);
}

enum dsql_rc dsql_visibility_list(struct dsql_visibility *visibility,
                                  const struct dsql_visibility_query *query, int64_t page_size,
                                  struct dsql_slice token, const struct dsql_tx_policy *policy,
                                  struct dsql_visibility_page *page, struct dsql_err *err)
{
    struct list list = {.page = page};
    if (page_size <= 0)
        return dsql_err_set(err, DSQL_INVALID, "a page of %lld runs", (long long)page_size);
    list.page_size = page_size < PAGE_MAX ? page_size : PAGE_MAX;
    list.portion = list.page_size + 1;
    list.position = (struct dsql_vis_position){INT64_MIN, INT64_MIN, DSQL_SPAN("")};
    list.ask = (struct dsql_vis_ask){.expr = &list.expr,
                                     .namespace_id = dsql_vis_span(query->namespace_id)};
    list.begun_ns = dsql_clock_mono(visibility->clock).ns;
    dsql_strbuf_init_heap(&list.run_id, 4096);
    dsql_vis_call_begin(&list.call, visibility, "ListVisibility", policy, err);
    enum dsql_rc rc = run_list(&list, query, token);
    if (rc)
        dsql_vis_page_clear(page);
    else
        observe(&list);
    end(&list);
    return rc;
}

/* -- One run. */

enum dsql_rc dsql_visibility_get(struct dsql_visibility *visibility, struct dsql_slice namespace_id,
                                 struct dsql_slice run_id, const struct dsql_tx_policy *policy,
                                 struct dsql_visibility_page *page, struct dsql_err *err)
{
    struct dsql_vis_call call;
    struct dsql_vis_sql sql;
    struct dsql_rows *rows = NULL;
    dsql_vis_call_begin(&call, visibility, "GetVisibility", policy, err);
    dsql_vis_page_clear(page);
    dsql_vis_sql_init(&sql, 0);
    (void)dsql_vis_text_param(&sql, dsql_vis_span(namespace_id));
    (void)dsql_vis_text_param(&sql, dsql_vis_span(run_id));
    dsql_strbuf_add_str(&sql.text, "SELECT ");
    dsql_strbuf_add_str(&sql.text, dsql_vis_columns);
    dsql_strbuf_add_str(&sql.text, " FROM executions_visibility r WHERE r.namespace_id = $1 AND "
                                   "r.run_id = $2 AND r.deleted_until IS NULL");
    enum dsql_rc rc = sql.failed || sql.text.cut
                          ? dsql_err_set(err, DSQL_NO_MEMORY, "out of memory")
                          : dsql_vis_query(&call, "visibility_get", &sql, &rows);
    dsql_vis_sql_fini(&sql);
    if (!rc && dsql_rows_count(rows) == 0)
        rc = dsql_err_set(err, DSQL_NOT_FOUND, "there is no such run");
    if (!rc)
        rc = dsql_vis_page_add(page, rows, 0, 0, err);
    dsql_rows_free(rows);
    return rc;
}

/*
 * Rows and postings in the order of their common key, 100 runs at a time. Both are read in one
 * snapshot, so that a write is seen whole or not at all.
 */
#include "visibility/check.h"

#include <stdlib.h>

enum {
    RUNS_MAX = 100,       /* of a page */
    POSTINGS_MAX = 20000, /* of a page: more are there only of runs that are not, or of one run */
};

static const uint32_t runs_types[] = {DSQL_VIS_TEXT, DSQL_VIS_TEXT, DSQL_VIS_INT8};
static const struct dsql_stmt runs_stmt = {
    .name = "visibility_check_runs",
    .sql = "SELECT " DSQL_VIS_RUN_COLUMNS " FROM executions_visibility "
           "WHERE (namespace_id, run_id) > ($1, $2) ORDER BY namespace_id, run_id LIMIT $3",
    .types = runs_types,
    .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ,
};

/* $3 and $4: the last run of the page. */
static const uint32_t postings_types[] = {DSQL_VIS_TEXT, DSQL_VIS_TEXT, DSQL_VIS_TEXT,
                                          DSQL_VIS_TEXT, DSQL_VIS_INT8};
#define SELECT_POSTINGS                                                                            \
    "SELECT " DSQL_VIS_POSTING_COLUMNS                                                             \
    " FROM visibility_postings WHERE (namespace_id, run_id) > ($1, $2)"
#define IN_ORDER " ORDER BY namespace_id, run_id, attribute, value LIMIT "
static const struct dsql_stmt postings_stmt = {
    .name = "visibility_check_postings",
    .sql = SELECT_POSTINGS " AND (namespace_id, run_id) <= ($3, $4)" IN_ORDER "$5",
    .types = postings_types,
    .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ,
};
static const struct dsql_stmt last_postings_stmt = {
    .name = "visibility_check_rest",
    .sql = SELECT_POSTINGS IN_ORDER "$3",
    .types = runs_types,
    .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ,
};

struct page {
    char *after[2]; /* namespace and run that it begins behind */
    struct dsql_rows *runs, *postings;
    size_t run_count, posting_count; /* that are looked at: whole runs only */
    bool last;
};

static void page_clear(struct page *page)
{
    dsql_rows_free(page->runs);
    dsql_rows_free(page->postings);
    page->runs = page->postings = NULL;
}

static struct dsql_param text_param(struct dsql_span text)
{
    return dsql_text_n(text.ptr ? text.ptr : "", text.len);
}

static enum dsql_rc read_page(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct page *page = arg;
    struct dsql_param params[5] = {dsql_text(page->after[0]), dsql_text(page->after[1]),
                                   dsql_i64(RUNS_MAX)};
    page_clear(page);
    enum dsql_rc rc = dsql_tx_query(tx, &runs_stmt, params, 3, &page->runs, err);
    if (rc)
        return rc;
    page->run_count = dsql_rows_count(page->runs);
    page->last = page->run_count < RUNS_MAX;
    if (page->last) {
        params[2] = dsql_i64(POSTINGS_MAX);
        return dsql_tx_query(tx, &last_postings_stmt, params, 3, &page->postings, err);
    }
    params[2] = text_param(dsql_vis_cell(page->runs, page->run_count - 1, 0));
    params[3] = text_param(dsql_vis_cell(page->runs, page->run_count - 1, 1));
    params[4] = dsql_i64(POSTINGS_MAX);
    return dsql_tx_query(tx, &postings_stmt, params, 5, &page->postings, err);
}

static int compare_rows(const struct dsql_rows *a, size_t row_a, const struct dsql_rows *b,
                        size_t row_b)
{
    return dsql_vis_compare_keys(dsql_vis_cell(a, row_a, 0), dsql_vis_cell(a, row_a, 1),
                                 dsql_vis_cell(b, row_b, 0), dsql_vis_cell(b, row_b, 1));
}

/* With as many postings as a page may have, the last run's may not be all of them: the page ends
 * before that run. False if it is the only one. */
static bool keep_whole_runs(struct page *page)
{
    page->posting_count = dsql_rows_count(page->postings);
    if (page->posting_count < POSTINGS_MAX)
        return true;
    size_t last = page->posting_count - 1;
    while (page->posting_count > 0 &&
           compare_rows(page->postings, page->posting_count - 1, page->postings, last) == 0)
        page->posting_count--;
    while (page->run_count > 0 &&
           compare_rows(page->runs, page->run_count - 1, page->postings, last) >= 0)
        page->run_count--;
    page->last = false;
    return page->posting_count > 0;
}

/* The next page begins behind the last run or posting of this one. */
static bool step(struct page *page)
{
    const struct dsql_rows *from = page->runs;
    size_t row = page->run_count - 1;
    if (page->run_count == 0 ||
        (page->posting_count > 0 &&
         compare_rows(page->postings, page->posting_count - 1, page->runs, row) > 0)) {
        from = page->postings;
        row = page->posting_count - 1;
    }
    for (size_t column = 0; column < 2; column++) {
        struct dsql_span text = dsql_vis_cell(from, row, column);
        free(page->after[column]);
        page->after[column] = strndup(text.ptr, text.len);
        if (!page->after[column])
            return false;
    }
    return true;
}

void dsql_vis_report(struct dsql_vis_check *check, const char *kind, struct dsql_span namespace_id,
                     struct dsql_span run_id, const char *detail, bool repaired)
{
    check->out->findings++;
    check->out->repaired += repaired;
    const struct dsql_visibility_finding finding = {
        .kind = kind,
        .namespace_id = dsql_slice(namespace_id.ptr, namespace_id.len),
        .run_id = dsql_slice(run_id.ptr, run_id.len),
        .detail = detail,
        .repaired = repaired,
    };
    if (check->watch && check->watch->see)
        check->watch->see(check->watch->arg, &finding);
}

static enum dsql_rc check_run(struct dsql_vis_check *check, const struct dsql_vis_run *run,
                              const struct dsql_vis_postings *postings)
{
    struct dsql_visibility_attributes expected = {0};
    struct dsql_vis_verdict verdict;
    bool repaired = false;
    enum dsql_rc rc = dsql_vis_judge(run, postings, &expected, &verdict, check->err);
    dsql_visibility_attributes_fini(&expected);
    if (rc || !verdict.kind)
        return rc;
    if (check->repairs)
        rc = dsql_vis_mend(check, run->namespace_id, run->run_id, &repaired);
    if (!rc)
        dsql_vis_report(check, verdict.kind, run->namespace_id, run->run_id, verdict.detail,
                        repaired);
    return rc;
}

/* Walks over runs and postings together. */
static enum dsql_rc check_page(struct dsql_vis_check *check, const struct page *page)
{
    enum dsql_rc rc = DSQL_OK;
    size_t run_at = 0, posting_at = 0;
    while (!rc && (run_at < page->run_count || posting_at < page->posting_count)) {
        struct dsql_vis_run run = {0};
        bool has_posting = posting_at < page->posting_count;
        int order = run_at == page->run_count ? 1
                    : !has_posting            ? -1
                                   : compare_rows(page->runs, run_at, page->postings, posting_at);
        if (order <= 0) {
            dsql_vis_run_read(page->runs, run_at++, &run);
            check->out->runs += !run.deleted;
            check->out->tombstones += run.deleted;
        } else {
            run.namespace_id = dsql_vis_cell(page->postings, posting_at, 0);
            run.run_id = dsql_vis_cell(page->postings, posting_at, 1);
        }
        struct dsql_vis_postings its = {page->postings, posting_at, posting_at};
        while (order >= 0 && its.to < page->posting_count &&
               dsql_vis_compare_keys(run.namespace_id, run.run_id,
                                     dsql_vis_cell(page->postings, its.to, 0),
                                     dsql_vis_cell(page->postings, its.to, 1)) == 0)
            its.to++;
        posting_at = its.to;
        rc = check_run(check, &run, &its);
    }
    check->out->postings += (int64_t)page->posting_count;
    return rc;
}

static enum dsql_rc check_runs(struct dsql_vis_check *check)
{
    struct page page = {.after = {strdup(""), strdup("")}};
    enum dsql_rc rc = page.after[0] && page.after[1] ? DSQL_OK : DSQL_NO_MEMORY;
    while (!rc && !page.last) {
        rc = dsql_tx_run(check->visibility->pool, "CheckVisibility", read_page, &page,
                         &check->reads, check->err);
        if (!rc && !keep_whole_runs(&page))
            rc = dsql_err_set(check->err, DSQL_LIMIT, "a run has more than %d postings",
                              POSTINGS_MAX);
        if (!rc)
            rc = check_page(check, &page);
        if (!rc && !page.last && !step(&page))
            rc = DSQL_NO_MEMORY;
        if (!rc && check->watch && check->watch->progress)
            check->watch->progress(check->watch->arg, check->out->runs, check->out->postings);
    }
    if (rc == DSQL_NO_MEMORY)
        rc = dsql_err_set(check->err, rc, "out of memory");
    page_clear(&page);
    free(page.after[0]);
    free(page.after[1]);
    return rc;
}

static enum dsql_rc run_check(struct dsql_visibility *visibility, bool repairs,
                              const struct dsql_visibility_watch *watch,
                              const struct dsql_tx_policy *policy,
                              struct dsql_visibility_checked *checked, struct dsql_err *err)
{
    struct dsql_visibility_checked own = {0};
    struct dsql_vis_check check = {.visibility = visibility,
                                   .watch = watch,
                                   .reads = policy ? *policy : visibility->options.policy,
                                   .repairs = repairs,
                                   .out = checked ? checked : &own,
                                   .err = err};
    *check.out = (struct dsql_visibility_checked){0};
    /* A repair that is made twice finds nothing to do the second time. */
    check.writes = dsql_visibility_write_policy(visibility, policy);
    check.writes.single = false;
    check.reads.single = false;
    check.reads.read_only = true;
    check.reads.settle = NULL;
    enum dsql_rc rc = check_runs(&check);
    return rc ? rc : dsql_vis_check_counts(&check);
}

enum dsql_rc dsql_visibility_check(struct dsql_visibility *visibility,
                                   const struct dsql_visibility_watch *watch,
                                   const struct dsql_tx_policy *policy,
                                   struct dsql_visibility_checked *checked, struct dsql_err *err)
{
    return run_check(visibility, false, watch, policy, checked, err);
}

enum dsql_rc dsql_visibility_repair(struct dsql_visibility *visibility,
                                    const struct dsql_visibility_watch *watch,
                                    const struct dsql_tx_policy *policy,
                                    struct dsql_visibility_checked *checked, struct dsql_err *err)
{
    return run_check(visibility, true, watch, policy, checked, err);
}

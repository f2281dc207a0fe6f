/*
 * Rows, postings and parts of memos in the order of their common key, 100 runs at a time. All are
 * read in one snapshot, so that a write is seen whole or not at all.
 */
#include "visibility/check.h"

#include <stdlib.h>

enum { RUNS_MAX = 100 }; /* of a page */

static const uint32_t runs_types[] = {DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_INT8};
static const struct dsql_stmt runs_stmt = {
    .name = "visibility_check_runs",
    .sql = "SELECT " DSQL_VIS_RUN_COLUMNS " FROM executions_visibility "
           "WHERE (namespace_id, run_id) > ($1, $2) ORDER BY namespace_id, run_id LIMIT $3",
    .types = runs_types,
    .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ,
};

/* -- What runs have in other tables. */

enum { POSTINGS, PARTS, KINDS };

/* $3 and $4: the last run of the page. */
static const uint32_t beside_types[] = {DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_TEXT, DSQL_OID_TEXT,
                                        DSQL_OID_INT8};
#define BEHIND       " WHERE (namespace_id, run_id) > ($1, $2)"
#define UP_TO        " AND (namespace_id, run_id) <= ($3, $4)"
#define POSTINGS_SQL "SELECT " DSQL_VIS_POSTING_COLUMNS " FROM visibility_postings" BEHIND
#define PARTS_SQL    "SELECT " DSQL_VIS_PART_COLUMNS " FROM visibility_memos" BEHIND
#define BY_VALUE     " ORDER BY namespace_id, run_id, attribute, value LIMIT "
#define BY_PART      " ORDER BY namespace_id, run_id, part LIMIT "
#define READ_STMT(its_name, its_types, its_sql)                                                    \
    {                                                                                              \
        .name = its_name, .sql = its_sql, .types = its_types,                                      \
        .flags = DSQL_STMT_PREPARE | DSQL_STMT_READ                                                \
    }

/* A page reads at most `max` rows. More exist only if one run has that many, or if the rows belong
 * to no run. */
static const struct {
    int64_t max;
    struct dsql_stmt stmt, last_stmt;
} besides[KINDS] = {
    [POSTINGS] = {20000,
                  READ_STMT("visibility_check_postings", beside_types,
                            POSTINGS_SQL UP_TO BY_VALUE "$5"),
                  READ_STMT("visibility_check_rest", runs_types, POSTINGS_SQL BY_VALUE "$3")},
    [PARTS] = {1000,
               READ_STMT("visibility_check_parts", beside_types, PARTS_SQL UP_TO BY_PART "$5"),
               READ_STMT("visibility_check_parts_rest", runs_types, PARTS_SQL BY_PART "$3")},
};

/* `count` rows are looked at: those of whole runs only. */
struct rows {
    struct dsql_rows *rows;
    size_t count;
};

struct page {
    char *after[2]; /* namespace and run that it begins behind */
    struct rows runs, beside[KINDS];
    bool last;
};

static void clear(struct rows *rows)
{
    dsql_rows_free(rows->rows);
    *rows = (struct rows){0};
}

static void page_clear(struct page *page)
{
    clear(&page->runs);
    for (size_t kind = 0; kind < KINDS; kind++)
        clear(&page->beside[kind]);
}

static struct dsql_param text_param(struct dsql_span text)
{
    return dsql_text_n(text.ptr ? text.ptr : "", text.len);
}

static enum dsql_rc read_beside(struct page *page, size_t kind, struct dsql_tx *tx,
                                struct dsql_err *err)
{
    struct rows *beside = &page->beside[kind];
    const struct dsql_stmt *stmt = &besides[kind].last_stmt;
    struct dsql_param params[5] = {dsql_text(page->after[0]), dsql_text(page->after[1])};
    size_t count = 2;
    if (!page->last) {
        stmt = &besides[kind].stmt;
        for (size_t column = 0; column < 2; column++)
            params[count++] =
                text_param(dsql_vis_cell(page->runs.rows, page->runs.count - 1, column));
    }
    params[count++] = dsql_i64(besides[kind].max);
    enum dsql_rc rc = dsql_tx_query(tx, stmt, params, count, &beside->rows, err);
    beside->count = rc ? 0 : dsql_rows_count(beside->rows);
    return rc;
}

static enum dsql_rc read_page(struct dsql_tx *tx, void *arg, struct dsql_err *err)
{
    struct page *page = arg;
    const struct dsql_param params[] = {dsql_text(page->after[0]), dsql_text(page->after[1]),
                                        dsql_i64(RUNS_MAX)};
    page_clear(page);
    enum dsql_rc rc = dsql_tx_query(tx, &runs_stmt, params, 3, &page->runs.rows, err);
    if (rc)
        return rc;
    page->runs.count = dsql_rows_count(page->runs.rows);
    page->last = page->runs.count < RUNS_MAX;
    for (size_t kind = 0; !rc && kind < KINDS; kind++)
        rc = read_beside(page, kind, tx, err);
    return rc;
}

static int compare_rows(const struct dsql_rows *a, size_t row_a, const struct dsql_rows *b,
                        size_t row_b)
{
    return dsql_vis_compare_keys(dsql_vis_cell(a, row_a, 0), dsql_vis_cell(a, row_a, 1),
                                 dsql_vis_cell(b, row_b, 0), dsql_vis_cell(b, row_b, 1));
}

static void keep_before(struct rows *rows, const struct dsql_rows *end, size_t end_row)
{
    while (rows->count > 0 && compare_rows(rows->rows, rows->count - 1, end, end_row) >= 0)
        rows->count--;
}

/* Where there are as many as a page may have, the last run's may not be all of them: the page ends
 * before that run. False if it is the only one. */
static bool keep_whole_runs(struct page *page)
{
    for (size_t kind = 0; kind < KINDS; kind++) {
        const struct dsql_rows *full = page->beside[kind].rows;
        size_t read = dsql_rows_count(full);
        if ((int64_t)read < besides[kind].max)
            continue;
        keep_before(&page->runs, full, read - 1);
        for (size_t other = 0; other < KINDS; other++)
            keep_before(&page->beside[other], full, read - 1);
        page->last = false;
    }
    return page->last || page->runs.count > 0 || page->beside[POSTINGS].count > 0 ||
           page->beside[PARTS].count > 0;
}

/* The next page begins behind the last run of this one, in whatever table it is. */
static bool step(struct page *page)
{
    const struct rows *from = &page->runs;
    for (size_t kind = 0; kind < KINDS; kind++) {
        const struct rows *beside = &page->beside[kind];
        if (beside->count > 0 &&
            (from->count == 0 ||
             compare_rows(beside->rows, beside->count - 1, from->rows, from->count - 1) > 0))
            from = beside;
    }
    for (size_t column = 0; column < 2; column++) {
        struct dsql_span text = dsql_vis_cell(from->rows, from->count - 1, column);
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
                              const struct dsql_vis_some *postings,
                              const struct dsql_vis_some *parts)
{
    struct dsql_visibility_attributes expected = {0};
    struct dsql_vis_verdict verdict;
    bool repaired = false;
    enum dsql_rc rc = dsql_vis_judge(run, postings, parts, &expected, &verdict, check->err);
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

/* The rows of a run from `at` on, if the next ones are its. */
static struct dsql_vis_some take_its(const struct rows *rows, size_t *at,
                                     const struct dsql_vis_run *run)
{
    struct dsql_vis_some its = {rows->rows, *at, *at};
    while (its.to < rows->count && dsql_vis_compare_keys(run->namespace_id, run->run_id,
                                                         dsql_vis_cell(rows->rows, its.to, 0),
                                                         dsql_vis_cell(rows->rows, its.to, 1)) == 0)
        its.to++;
    *at = its.to;
    return its;
}

/* Sets the run that comes first, whatever is there of it. False at the end. */
static bool first_of(const struct page *page, size_t run_at, const size_t at[KINDS],
                     struct dsql_vis_run *run)
{
    const struct rows *first = run_at < page->runs.count ? &page->runs : NULL;
    size_t row = run_at;
    for (size_t kind = 0; kind < KINDS; kind++) {
        const struct rows *beside = &page->beside[kind];
        if (at[kind] < beside->count &&
            (!first || compare_rows(beside->rows, at[kind], first->rows, row) < 0)) {
            first = beside;
            row = at[kind];
        }
    }
    *run = (struct dsql_vis_run){0};
    if (first == &page->runs) {
        dsql_vis_run_read(page->runs.rows, row, run);
    } else if (first) {
        run->namespace_id = dsql_vis_cell(first->rows, row, 0);
        run->run_id = dsql_vis_cell(first->rows, row, 1);
    }
    return first;
}

/* Walks over runs and what is beside them together. */
static enum dsql_rc check_page(struct dsql_vis_check *check, const struct page *page)
{
    enum dsql_rc rc = DSQL_OK;
    size_t run_at = 0, at[KINDS] = {0};
    struct dsql_vis_run run;
    while (!rc && first_of(page, run_at, at, &run)) {
        run_at += run.there;
        check->out->runs += run.there && !run.deleted;
        check->out->tombstones += run.deleted;
        struct dsql_vis_some postings = take_its(&page->beside[POSTINGS], &at[POSTINGS], &run),
                             parts = take_its(&page->beside[PARTS], &at[PARTS], &run);
        rc = check_run(check, &run, &postings, &parts);
    }
    check->out->postings += (int64_t)page->beside[POSTINGS].count;
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
            rc = dsql_err_set(check->err, DSQL_LIMIT,
                              "a run has %lld postings or %lld parts of a memo, or more",
                              (long long)besides[POSTINGS].max, (long long)besides[PARTS].max);
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

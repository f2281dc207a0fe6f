/* Any bytes as an expression, and as a token: what is decoded becomes statements. */
#include "support/fuzz.h"
#include "visibility/eval.h"
#include "visibility/token.h"

static void plan(const struct dsql_vis_expr *expr, bool may_collect)
{
    const struct dsql_span divisions[] = {DSQL_SPAN(""), DSQL_SPAN("TemporalScheduler")};
    const struct dsql_vis_ask ask = {expr, DSQL_SPAN("ns"), divisions, 2};
    const struct dsql_vis_position at = {-1, -1, DSQL_SPAN("run")};
    struct dsql_vis_path path;
    struct dsql_vis_sql sql;
    dsql_vis_choose(expr, may_collect, &path);
    assert(path.scan_count > 0);
    if (dsql_vis_plan_list(&ask, &path, &at, 10, 5, &sql, NULL) == DSQL_OK)
        assert(sql.count > 0 && strlen(sql.text.ptr) == sql.text.len);
    dsql_vis_sql_fini(&sql);
    if (dsql_vis_plan_count(&ask, &path, DSQL_SPAN("ExecutionStatus"), 10, &sql, NULL) == DSQL_OK)
        assert(sql.count > 0);
    dsql_vis_sql_fini(&sql);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dsql_span bytes = {(const char *)data, size};
    struct dsql_vis_expr expr = {0};
    struct dsql_vis_position at;
    const struct dsql_vis_counted runs = {DSQL_SPAN("d"), DSQL_SPAN("k"), 1};
    bool keyword;
    (void)!dsql_vis_token_read(bytes, 0, &at, NULL);
    if (dsql_vis_decode(bytes, &expr, NULL) != DSQL_OK)
        return 0;
    if (dsql_vis_check(&expr, NULL) == DSQL_OK) {
        plan(&expr, true);
        plan(&expr, false);
        if (dsql_vis_is_counted(&expr, &keyword))
            (void)dsql_vis_selects(&expr, &runs);
    }
    dsql_vis_expr_fini(&expr);
    return 0;
}

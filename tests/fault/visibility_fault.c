/* The Nth allocation fails, for every N, while an expression is decoded and statements are made. */
#include "support/alloc_fault.h"
#include "support/test.h"
#include "support/vis_expr.h"
#include "visibility/plan.h"

static struct vis_expr e;

static bool plan(const struct dsql_vis_expr *expr, bool may_collect)
{
    const struct dsql_vis_ask ask = {.expr = expr, .namespace_id = DSQL_SPAN("ns")};
    struct dsql_vis_path path;
    struct dsql_vis_sql sql;
    dsql_vis_choose(expr, may_collect, &path);
    bool ok = dsql_vis_plan_list(&ask, &path, NULL, 10, 10, &sql, NULL) == DSQL_OK;
    dsql_vis_sql_fini(&sql);
    if (!ok)
        return false;
    ok = dsql_vis_plan_count(&ask, &path, DSQL_SPAN("Keyword02"), 10, &sql, NULL) == DSQL_OK;
    dsql_vis_sql_fini(&sql);
    return ok;
}

static bool use_expression(void)
{
    struct dsql_vis_expr expr = {0};
    if (dsql_vis_decode(vis_bytes(&e), &expr, NULL) != DSQL_OK)
        return false;
    bool ok = plan(&expr, true) && plan(&expr, false);
    dsql_vis_expr_fini(&expr);
    return ok;
}

TEST(an_expression_becomes_statements)
{
    vis_begin(&e);
    vis_and(&e, 4);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_STARTS, DSQL_VIS_TYPE_KEYWORD, "WorkflowId", 1);
    vis_text(&e, DSQL_SPAN("order"));
    vis_compare(&e, DSQL_VIS_MORE, DSQL_VIS_TYPE_TIME, "StartTime", 1);
    vis_time(&e, 5, 0);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_LIST, "KeywordList01", 40);
    for (int i = 0; i < 40; i++)
        vis_text(&e, DSQL_SPAN("a member that is not short"));
    assert_true(alloc_fault_run("expression", use_expression, false) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_expression_becomes_statements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Which indexes serve which queries: the ones that the Web UI, the SDKs and the server itself ask.
 */
#include "support/test.h"
#include "support/vis_expr.h"
#include "visibility/narrow.h"
#include "visibility/plan.h"

static struct vis_expr e;

/* "type(1) open, status(1) closed; filter 2": the scans with the number of their values, and how
 * many conjuncts are left to the filter. */
static void describe(const struct dsql_vis_path *path, struct dsql_strbuf *out)
{
    static const char *const names[] = {
        [DSQL_VIS_BY_RUN_ID] = "run",       [DSQL_VIS_BY_WORKFLOW_ID] = "workflow",
        [DSQL_VIS_BY_PARENT] = "parent",    [DSQL_VIS_BY_ROOT] = "root",
        [DSQL_VIS_BY_VALUE] = "value",      [DSQL_VIS_BY_TYPE] = "type",
        [DSQL_VIS_BY_TASK_QUEUE] = "queue", [DSQL_VIS_BY_STATUS] = "status",
        [DSQL_VIS_BY_TIME] = "time",        [DSQL_VIS_BY_TYPE_STATUS] = "type+status"};
    size_t left = 0;
    for (size_t i = 0; i < path->scan_count; i++) {
        const struct dsql_vis_scan *scan = &path->scans[i];
        dsql_strbuf_addf(
            out, "%s%s(%zu)", i ? ", " : "", dsql_vis_is_many(scan) ? "many" : names[scan->index],
            (scan->compare ? scan->compare->count : 0) * (scan->status ? scan->status->count : 1));
        if (scan->last == DSQL_VIS_OPEN)
            dsql_strbuf_add_str(out, " open");
        if (scan->last == DSQL_VIS_OPEN &&
            (scan->start_first != INT64_MIN || scan->start_last != INT64_MAX))
            dsql_strbuf_addf(out, " %lld..%lld", (long long)scan->start_first,
                             (long long)scan->start_last);
        if (scan->last == DSQL_VIS_OPEN)
            continue;
        if (scan->first == DSQL_VIS_OPEN + 1 && scan->last == DSQL_VIS_CLOSE_MAX)
            dsql_strbuf_add_str(out, " closed");
        else if (scan->first == DSQL_VIS_OPEN + 1)
            dsql_strbuf_addf(out, " closed..%lld", (long long)scan->last);
        else if (scan->first != DSQL_VIS_OPEN || scan->last != DSQL_VIS_CLOSE_MAX)
            dsql_strbuf_addf(out, " %lld..%lld", (long long)scan->first, (long long)scan->last);
    }
    for (size_t i = 0; i < path->conjunct_count; i++)
        left += !path->covered[i];
    dsql_strbuf_addf(out, "; filter %zu", left);
    dsql_strbuf_add_str(out, path->collects ? "; collects" : "");
    dsql_strbuf_add_str(out, path->repeats ? "; repeats" : "");
    dsql_strbuf_add_str(out, dsql_vis_lacks_divisions(path) ? "; any division" : "");
}

static void expect_as(bool may_collect, const char *wanted)
{
    struct dsql_vis_expr expr;
    struct dsql_vis_path path;
    struct dsql_err err;
    STRBUF(got, 512);
    assert_int_equal(dsql_vis_decode(vis_bytes(&e), &expr, &err), DSQL_OK);
    dsql_vis_choose(&expr, may_collect, &path);
    describe(&path, &got);
    assert_string_equal(got.ptr, wanted);
    dsql_vis_expr_fini(&expr);
}

static void expect(const char *wanted)
{
    expect_as(true, wanted);
}

TEST(the_list_of_all)
{
    vis_begin(&e);
    vis_and(&e, 1);
    vis_no_division(&e);
    expect("time(0); filter 0");

    /* What the server asks before it deletes a namespace. */
    vis_begin(&e);
    vis_or(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_NOT_NULL, DSQL_VIS_TYPE_KEYWORD, "TemporalNamespaceDivision", 0);
    expect("time(0); filter 1; any division");
}

TEST(status_and_type)
{
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_status(&e, 1);
    expect("status(1); filter 0");

    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_INT, "ExecutionStatus", 2);
    vis_number(&e, 3);
    vis_number(&e, 7);
    expect("status(2); filter 0");

    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_INT, "ExecutionStatus", 2);
    vis_number(&e, 3);
    vis_number(&e, 3);
    expect("status(2); filter 0; repeats");

    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_is(&e, "WorkflowType", "order");
    expect("type(1); filter 0");

    /* The adapter nests as Temporal's parser does. */
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_and(&e, 2);
    vis_is(&e, "WorkflowType", "order");
    vis_status(&e, 1);
    expect("type+status(1); filter 0");

    vis_begin(&e);
    vis_and(&e, 3);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_INT, "ExecutionStatus", 3);
    for (int64_t status = 2; status <= 4; status++)
        vis_number(&e, status);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_KEYWORD, "WorkflowType", 2);
    vis_text(&e, DSQL_SPAN("order"));
    vis_text(&e, DSQL_SPAN("refund"));
    expect("type+status(6); filter 0");

    /* More ranges than a statement has: the status is a filter. */
    vis_begin(&e);
    vis_and(&e, 3);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_INT, "ExecutionStatus", 3);
    for (int64_t status = 2; status <= 4; status++)
        vis_number(&e, status);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_KEYWORD, "WorkflowType", 22);
    for (const char *type = "abcdefghijklmnopqrstuv"; *type; type++)
        vis_text(&e, (struct dsql_span){type, 1});
    expect("type(22); filter 1");
}

TEST(schedules_batches_and_deployments)
{
    vis_begin(&e);
    vis_and(&e, 2);
    vis_is(&e, "TemporalNamespaceDivision", "TemporalScheduler");
    vis_status(&e, 1);
    expect("status(1); filter 0");

    vis_begin(&e);
    vis_and(&e, 1);
    vis_is(&e, "TemporalNamespaceDivision", "TemporalBatcher");
    expect("time(0); filter 0");

    /* No run is of the division ''. */
    vis_begin(&e);
    vis_and(&e, 1);
    vis_is(&e, "TemporalNamespaceDivision", "");
    expect("time(0); filter 1; any division");

    vis_begin(&e);
    vis_and(&e, 3);
    vis_no_division(&e);
    vis_status(&e, 1);
    vis_is(&e, "TemporalWorkerDeploymentVersion", "pay:7");
    expect("value(1) open, many(1) open, status(1) closed; filter 3");
}

TEST(ids)
{
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_is(&e, "WorkflowId", "w");
    expect("workflow(1); filter 1");

    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_is(&e, "RunId", "r");
    expect("run(1); filter 1");

    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_STARTS, DSQL_VIS_TYPE_KEYWORD, "WorkflowId", 1);
    vis_text(&e, DSQL_SPAN("or"));
    expect("workflow(1); filter 1; collects");
    expect_as(false, "time(0); filter 1");

    /* A prefix that is empty narrows nothing. */
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_STARTS, DSQL_VIS_TYPE_KEYWORD, "WorkflowId", 1);
    vis_text(&e, DSQL_SPAN(""));
    expect("time(0); filter 1");

    /* The search box of the Web UI: by id, type or run. */
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_or(&e, 3);
    vis_is(&e, "WorkflowId", "x");
    vis_is(&e, "WorkflowType", "x");
    vis_is(&e, "RunId", "x");
    expect("workflow(1), type(1), run(1); filter 2; repeats");
}

TEST(times)
{
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_BETWEEN, DSQL_VIS_TYPE_TIME, "CloseTime", 2);
    vis_time(&e, 10, 0);
    vis_time(&e, 20, 999);
    expect("time(0) -20000000..-10000000; filter 0");

    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_LESS, DSQL_VIS_TYPE_TIME, "CloseTime", 1);
    vis_time(&e, 10, 0);
    expect("time(0) -9999999..9223372036854775807; filter 0");

    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_IS_NULL, DSQL_VIS_TYPE_TIME, "CloseTime", 0);
    expect("time(0) open; filter 0");

    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_NOT_IN, DSQL_VIS_TYPE_TIME, "CloseTime", 1);
    vis_time(&e, 10, 0);
    expect("time(0); filter 1");

    /* Open runs by their start, closed ones by their close, and those that closed before they
     * started. */
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_AT_LEAST, DSQL_VIS_TYPE_TIME, "StartTime", 1);
    vis_time(&e, 10, 0);
    expect("time(0) open -9223372036854775808..-10000000, time(0) closed..-10000000, "
           "value(1) -9999999..9223372036854775807; filter 2");

    /* What started early has closed within ten minutes, or has a posting that says otherwise. */
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_AT_MOST, DSQL_VIS_TYPE_TIME, "StartTime", 1);
    vis_time(&e, 10, 0);
    expect("time(0) open -10000000..9223372036854775807, "
           "time(0) -610000000..9223372036854775807, value(1) closed..-610000001; filter 2");

    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_BETWEEN, DSQL_VIS_TYPE_TIME, "StartTime", 2);
    vis_time(&e, 10, 0);
    vis_time(&e, 20, 0);
    expect("time(0) open -20000000..-10000000, time(0) -620000000..-10000000, "
           "value(1) -9999999..9223372036854775807, value(1) closed..-620000001; filter 2");

    vis_begin(&e);
    vis_and(&e, 3);
    vis_no_division(&e);
    vis_status(&e, 1);
    vis_compare(&e, DSQL_VIS_MORE, DSQL_VIS_TYPE_TIME, "StartTime", 1);
    vis_time(&e, 10, 0);
    expect("status(1) open -9223372036854775808..-10000001, status(1) closed..-10000001, "
           "value(1) -10000000..9223372036854775807; filter 3");
}

TEST(custom_attributes)
{
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_is(&e, "Keyword01", "blue");
    expect("value(1), many(1); filter 2");

    vis_begin(&e);
    vis_and(&e, 1);
    vis_is(&e, "Keyword01", "blue");
    expect("value(1), many(1); filter 1");

    /* Too long for a key: the row decides. */
    char text[DSQL_VISIBILITY_VALUE_WHOLE + 1];
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    vis_begin(&e);
    vis_and(&e, 1);
    vis_is(&e, "Keyword01", text);
    expect("value(1), many(1); filter 1");

    vis_begin(&e);
    vis_and(&e, 1);
    vis_compare(&e, DSQL_VIS_MORE, DSQL_VIS_TYPE_INT, "Int01", 1);
    vis_number(&e, 5);
    expect("value(1), many(1); filter 1; collects");

    /* NOT, !=, and an OR that an attribute without an index spoils. */
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_not(&e);
    vis_is(&e, "Keyword01", "blue");
    expect("time(0); filter 1");
    vis_begin(&e);
    vis_or(&e, 2);
    vis_is(&e, "Keyword01", "blue");
    vis_compare(&e, DSQL_VIS_IS_NULL, DSQL_VIS_TYPE_KEYWORD, "Keyword02", 0);
    expect("time(0); filter 1; any division");
}

TEST(many_conditions_are_one)
{
    vis_begin(&e);
    vis_and(&e, DSQL_VIS_CONJUNCTS_MAX + 1);
    for (size_t i = 0; i < DSQL_VIS_CONJUNCTS_MAX; i++)
        vis_is(&e, "Keyword01", "blue");
    vis_no_division(&e);
    expect("value(1), many(1); filter 1");
}

/* -- The text of a statement. */

static void has(const struct dsql_vis_sql *sql, const char *part)
{
    if (!strstr(sql->text.ptr, part))
        assert_string_equal(sql->text.ptr, part);
}

TEST(a_statement)
{
    struct dsql_vis_expr expr;
    struct dsql_vis_path path;
    struct dsql_vis_sql sql;
    struct dsql_err err;
    const struct dsql_vis_position position = {-7, -9, DSQL_SPAN("run")};
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_is(&e, "WorkflowId", "a'b");
    assert_int_equal(dsql_vis_decode(vis_bytes(&e), &expr, &err), DSQL_OK);
    struct dsql_vis_ask ask = {.expr = &expr, .namespace_id = DSQL_SPAN("ns")};
    dsql_vis_choose(&expr, true, &path);
    assert_int_equal(dsql_vis_plan_list(&ask, &path, &position, 100, 11, &sql, &err), DSQL_OK);
    has(&sql, "FROM executions_visibility WHERE namespace_id = $1 AND workflow_id = $5 AND "
              "close_inv >= $2 AND (close_inv, start_inv, run_id) > ($2, $3, $4) "
              "ORDER BY close_inv, start_inv, run_id LIMIT 100)) u "
              "ORDER BY close_inv, start_inv, run_id LIMIT 100");
    assert_int_equal(sql.count, 6);
    assert_int_equal(sql.params[1].as.i64, -7);
    assert_int_equal(sql.types[1], DSQL_OID_INT8);
    assert_int_equal(sql.types[4], DSQL_OID_TEXT);
    dsql_vis_sql_fini(&sql);
    dsql_vis_expr_fini(&expr);
}

TEST(a_type_that_is_another)
{
    struct dsql_vis_expr expr;
    struct dsql_err err;
    vis_begin(&e);
    vis_and(&e, 1);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_INT, "WorkflowId", 1);
    vis_number(&e, 5);
    assert_int_equal(dsql_vis_decode(vis_bytes(&e), &expr, &err), DSQL_OK);
    assert_int_equal(dsql_vis_check(&expr, &err), DSQL_INVALID);
    dsql_vis_expr_fini(&expr);
    vis_begin(&e);
    vis_status(&e, 40000);
    assert_int_equal(dsql_vis_decode(vis_bytes(&e), &expr, &err), DSQL_OK);
    assert_int_equal(dsql_vis_check(&expr, &err), DSQL_INVALID);
    dsql_vis_expr_fini(&expr);
}

/* -- Values of postings. */

static struct dsql_span posted(struct dsql_vis_sql *sql, enum dsql_vis_type type,
                               struct dsql_vis_value value)
{
    return dsql_vis_posted(sql, type, &value);
}

TEST(times_as_texts)
{
    static const struct {
        int64_t seconds;
        int32_t nanos;
        const char *text;
    } cases[] = {{0, 0, "1970-01-01T00:00:00.000000000Z"},
                 {951782399, 999999999, "2000-02-28T23:59:59.999999999Z"},
                 {951782400, 1, "2000-02-29T00:00:00.000000001Z"},
                 {-1, 5, "1969-12-31T23:59:59.000000005Z"},
                 {INT64_C(-62167219200), 0, "0000-01-01T00:00:00.000000000Z"},
                 {INT64_C(253402300799), 0, "9999-12-31T23:59:59.000000000Z"},
                 {INT64_C(4107542400), 0, "2100-03-01T00:00:00.000000000Z"}};
    struct dsql_vis_sql sql;
    dsql_vis_sql_init(&sql, DSQL_COUNT_OF(cases));
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_vis_value value = {.number = cases[i].seconds, .nanos = cases[i].nanos};
        assert_string_equal(posted(&sql, DSQL_VIS_TYPE_TIME, value).ptr, cases[i].text);
    }
    dsql_vis_sql_fini(&sql);
}

TEST(what_is_behind_a_prefix)
{
    static const char *const cases[][2] = {
        {"a", "b"},
        {"az", "a{"},
        {"a\x7f", "a\xc2\x80"},
        {"\xed\x9f\xbf", "\xee\x80\x80"},
        {"a\xf4\x8f\xbf\xbf", "b"},
        {"a\xef\xbf\xbf", "a\xf0\x90\x80\x80"},
        {"\xf4\x8f\xbf\xbf", NULL},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_vis_sql sql;
        struct dsql_span behind;
        dsql_vis_sql_init(&sql, 0);
        bool some = dsql_vis_behind(&sql, dsql_span_of(cases[i][0]), &behind);
        assert_int_equal(some, cases[i][1] != NULL);
        if (some)
            assert_true(dsql_span_eq(behind, dsql_span_of(cases[i][1])));
        dsql_vis_sql_fini(&sql);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list_of_all),
        cmocka_unit_test(status_and_type),
        cmocka_unit_test(schedules_batches_and_deployments),
        cmocka_unit_test(ids),
        cmocka_unit_test(times),
        cmocka_unit_test(custom_attributes),
        cmocka_unit_test(many_conditions_are_one),
        cmocka_unit_test(a_statement),
        cmocka_unit_test(a_type_that_is_another),
        cmocka_unit_test(times_as_texts),
        cmocka_unit_test(what_is_behind_a_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

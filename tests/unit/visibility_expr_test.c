/* Encoded expressions, page tokens, and expressions over counters. */
#include "support/test.h"
#include "support/vis_expr.h"
#include "visibility/eval.h"
#include "visibility/token.h"

static struct vis_expr e;

static void begin_all_types(void)
{
    vis_begin(&e);
    vis_and(&e, 3);
    vis_or(&e, 2);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_LIST, "KeywordList01", 2);
    vis_text(&e, DSQL_SPAN("a"));
    vis_text(&e, DSQL_SPAN("\xc3\xa4"));
    vis_not(&e);
    vis_compare(&e, DSQL_VIS_BETWEEN, DSQL_VIS_TYPE_TIME, "Datetime01", 2);
    vis_time(&e, -5, 1);
    vis_time(&e, 5, 999999999);
    vis_compare(&e, DSQL_VIS_MORE, DSQL_VIS_TYPE_DOUBLE, "Double01", 1);
    vis_real(&e, -0.5);
    vis_and(&e, 2);
    vis_compare(&e, DSQL_VIS_NOT_IN, DSQL_VIS_TYPE_BOOL, "Bool01", 1);
    vis_bool(&e, true);
    vis_compare(&e, DSQL_VIS_IS_NULL, DSQL_VIS_TYPE_TEXT, "Text01", 0);
}

TEST(every_type_is_read)
{
    struct dsql_vis_expr expr;
    struct dsql_err err;
    begin_all_types();
    assert_int_equal(dsql_vis_decode(vis_bytes(&e), &expr, &err), DSQL_OK);
    assert_int_equal(expr.node_count, 9);
    assert_int_equal(expr.value_count, 6);
    const struct dsql_vis_node *list = &expr.nodes[2], *between = &expr.nodes[4];
    assert_int_equal(expr.nodes[0].kind, DSQL_VIS_AND);
    assert_true(dsql_vis_is(list, "KeywordList01"));
    assert_true(dsql_span_eq(list->values[1].text, DSQL_SPAN("\xc3\xa4")));
    assert_int_equal(between->values[0].number, -5);
    assert_int_equal(between->values[1].nanos, 999999999);
    assert_true(expr.nodes[5].values[0].real == -0.5);
    assert_int_equal(expr.nodes[7].values[0].number, 1);
    /* The children of the root: OR, the DOUBLE, AND. */
    size_t child = dsql_vis_first(&expr, 0);
    assert_int_equal(child, 1);
    child = dsql_vis_next(&expr, 0, child);
    assert_int_equal(child, 5);
    child = dsql_vis_next(&expr, 0, child);
    assert_int_equal(child, 6);
    assert_int_equal(dsql_vis_next(&expr, 0, child), 0);
    dsql_vis_expr_fini(&expr);
}

static enum dsql_rc decode(struct dsql_span bytes)
{
    struct dsql_vis_expr expr = {0};
    enum dsql_rc rc = dsql_vis_decode(bytes, &expr, NULL);
    if (!rc)
        dsql_vis_expr_fini(&expr);
    return rc;
}

TEST(every_cut_is_noticed)
{
    begin_all_types();
    struct dsql_span whole = vis_bytes(&e);
    for (size_t len = 0; len < whole.len; len++)
        assert_int_equal(decode(dsql_span_first(whole, len)), DSQL_INVALID);
    dsql_strbuf_add_char(&e.out, 'A');
    assert_int_equal(decode(vis_bytes(&e)), DSQL_INVALID);
}

TEST(what_is_wrong_is_refused)
{
    begin_all_types();
    e.memory[0] = 2;
    assert_int_equal(decode(vis_bytes(&e)), DSQL_INVALID);

    vis_begin(&e);
    vis_or(&e, 0);
    assert_int_equal(decode(vis_bytes(&e)), DSQL_INVALID);

    static const struct {
        enum dsql_vis_op op;
        enum dsql_vis_type type;
        unsigned values;
    } cases[] = {
        {DSQL_VIS_LESS, DSQL_VIS_TYPE_LIST, 1},
        {DSQL_VIS_STARTS, DSQL_VIS_TYPE_TEXT, 1},
        {DSQL_VIS_BETWEEN, DSQL_VIS_TYPE_TEXT, 2},
        {DSQL_VIS_IN, DSQL_VIS_TYPE_KEYWORD, 0},
        {DSQL_VIS_LESS, DSQL_VIS_TYPE_KEYWORD, 2},
        {DSQL_VIS_IS_NULL, DSQL_VIS_TYPE_KEYWORD, 1},
        {0, DSQL_VIS_TYPE_KEYWORD, 1},
        {13, DSQL_VIS_TYPE_KEYWORD, 1},
        {DSQL_VIS_IN, 0, 1},
        {DSQL_VIS_IN, 8, 1},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        vis_begin(&e);
        vis_compare(&e, cases[i].op, cases[i].type, "a", cases[i].values);
        for (unsigned v = 0; v < cases[i].values; v++)
            vis_text(&e, DSQL_SPAN("x"));
        assert_int_equal(decode(vis_bytes(&e)), DSQL_INVALID);
    }
}

TEST(values_that_are_none)
{
    static const char *const texts[] = {"\xff", "\xc3", "\xed\xa0\x80"};
    for (size_t i = 0; i < DSQL_COUNT_OF(texts); i++) {
        vis_begin(&e);
        vis_is(&e, "WorkflowId", texts[i]);
        assert_int_equal(decode(vis_bytes(&e)), DSQL_INVALID);
    }
    vis_begin(&e);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_KEYWORD, "a", 1);
    vis_text(&e, (struct dsql_span){"a\0b", 3});
    assert_int_equal(decode(vis_bytes(&e)), DSQL_INVALID);
    vis_begin(&e);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_TIME, "a", 1);
    vis_time(&e, INT64_C(253402300800), 0);
    assert_int_equal(decode(vis_bytes(&e)), DSQL_INVALID);
    vis_begin(&e);
    vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_DOUBLE, "a", 1);
    vis_number(&e, INT64_C(0x7ff0000000000000)); /* infinite */
    assert_int_equal(decode(vis_bytes(&e)), DSQL_INVALID);
}

TEST(limits)
{
    vis_begin(&e);
    for (int i = 0; i < DSQL_VIS_DEPTH_MAX; i++)
        vis_not(&e);
    vis_no_division(&e);
    assert_int_equal(decode(vis_bytes(&e)), DSQL_INVALID);
    vis_begin(&e);
    for (int i = 0; i < DSQL_VIS_DEPTH_MAX - 1; i++)
        vis_not(&e);
    vis_no_division(&e);
    assert_int_equal(decode(vis_bytes(&e)), DSQL_OK);
    for (unsigned extra = 0; extra < 2; extra++) {
        vis_begin(&e);
        vis_and(&e, DSQL_VIS_NODES_MAX - 1 + extra);
        for (unsigned i = 0; i < DSQL_VIS_NODES_MAX - 1 + extra; i++)
            vis_no_division(&e);
        assert_int_equal(decode(vis_bytes(&e)), extra ? DSQL_INVALID : DSQL_OK);
        vis_begin(&e);
        vis_compare(&e, DSQL_VIS_IN, DSQL_VIS_TYPE_BOOL, "a", DSQL_VIS_VALUES_MAX + extra);
        for (unsigned i = 0; i < DSQL_VIS_VALUES_MAX + extra; i++)
            vis_bool(&e, true);
        assert_int_equal(decode(vis_bytes(&e)), extra ? DSQL_INVALID : DSQL_OK);
    }
}

TEST(a_token_is_of_its_query)
{
    const struct dsql_vis_position at = {INT64_MIN, -5, DSQL_SPAN("run-id")};
    struct dsql_vis_position read;
    char bytes[DSQL_VIS_TOKEN_HEAD + 6];
    uint64_t digest = dsql_vis_digest(DSQL_SPAN("ns"), DSQL_SPAN("expr"));
    assert_int_not_equal(digest, dsql_vis_digest(DSQL_SPAN("nse"), DSQL_SPAN("xpr")));
    assert_int_not_equal(digest, dsql_vis_digest(DSQL_SPAN("ns"), DSQL_SPAN("expr2")));
    dsql_vis_token_put(digest, &at, bytes);
    struct dsql_span token = {bytes, sizeof(bytes)};
    assert_int_equal(dsql_vis_token_read(token, digest, &read, NULL), DSQL_OK);
    assert_int_equal(read.close_inv, at.close_inv);
    assert_int_equal(read.start_inv, at.start_inv);
    assert_true(dsql_span_eq(read.run_id, at.run_id));
    assert_int_equal(dsql_vis_token_read(token, digest + 1, &read, NULL), DSQL_INVALID);
    for (size_t len = 0; len < DSQL_VIS_TOKEN_HEAD; len++)
        assert_int_equal(dsql_vis_token_read(dsql_span_first(token, len), digest, &read, NULL),
                         DSQL_INVALID);
    bytes[0] = 2;
    assert_int_equal(dsql_vis_token_read(token, digest, &read, NULL), DSQL_INVALID);
}

/* -- Counters. */

static bool selects(const char *division, int64_t status)
{
    struct dsql_vis_expr expr;
    bool keyword;
    const struct dsql_vis_counted runs = {dsql_span_of(division), DSQL_SPAN(""), status};
    assert_int_equal(dsql_vis_decode(vis_bytes(&e), &expr, NULL), DSQL_OK);
    assert_true(dsql_vis_is_counted(&expr, &keyword));
    bool does = dsql_vis_selects(&expr, &runs);
    dsql_vis_expr_fini(&expr);
    return does;
}

TEST(three_values)
{
    /* NOT of what is unknown is unknown. */
    vis_begin(&e);
    vis_not(&e);
    vis_is(&e, "TemporalNamespaceDivision", "x");
    assert_false(selects("x", 1));
    assert_true(selects("y", 1));
    assert_false(selects("", 1));

    vis_begin(&e);
    vis_or(&e, 2);
    vis_not(&e);
    vis_is(&e, "TemporalNamespaceDivision", "x");
    vis_status(&e, 2);
    assert_true(selects("", 2));
    assert_false(selects("", 1));

    vis_begin(&e);
    vis_not(&e);
    vis_and(&e, 2);
    vis_is(&e, "TemporalNamespaceDivision", "x");
    vis_status(&e, 2);
    assert_true(selects("", 1)); /* unknown AND false is false */
    assert_false(selects("", 2));

    vis_begin(&e);
    vis_or(&e, 2);
    vis_no_division(&e);
    vis_compare(&e, DSQL_VIS_NOT_NULL, DSQL_VIS_TYPE_KEYWORD, "TemporalNamespaceDivision", 0);
    assert_true(selects("", 1));
    assert_true(selects("x", 1));

    vis_begin(&e);
    vis_compare(&e, DSQL_VIS_BETWEEN, DSQL_VIS_TYPE_INT, "ExecutionStatus", 2);
    vis_number(&e, 2);
    vis_number(&e, 3);
    assert_false(selects("", 1));
    assert_true(selects("", 3));
}

TEST(what_counters_do_not_know)
{
    struct dsql_vis_expr expr;
    bool keyword;
    vis_begin(&e);
    vis_and(&e, 2);
    vis_no_division(&e);
    vis_is(&e, "WorkflowType", "x");
    assert_int_equal(dsql_vis_decode(vis_bytes(&e), &expr, NULL), DSQL_OK);
    assert_false(dsql_vis_is_counted(&expr, &keyword));
    dsql_vis_expr_fini(&expr);
    vis_begin(&e);
    vis_is(&e, "TemporalLowCardinalityKeyword01", "x");
    assert_int_equal(dsql_vis_decode(vis_bytes(&e), &expr, NULL), DSQL_OK);
    assert_true(dsql_vis_is_counted(&expr, &keyword));
    assert_true(keyword);
    dsql_vis_expr_fini(&expr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_is_read),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(what_is_wrong_is_refused),
        cmocka_unit_test(values_that_are_none),
        cmocka_unit_test(limits),
        cmocka_unit_test(a_token_is_of_its_query),
        cmocka_unit_test(three_values),
        cmocka_unit_test(what_counters_do_not_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

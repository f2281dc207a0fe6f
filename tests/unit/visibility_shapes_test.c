/* Which statements are prepared: those that come again, and not without end. */
#include "support/test.h"
#include "visibility/shapes.h"

TEST(what_comes_again_is_common)
{
    struct dsql_vis_shapes shapes;
    dsql_vis_shapes_init(&shapes);
    assert_false(dsql_vis_is_common(&shapes, 7));
    assert_false(dsql_vis_is_common(&shapes, 8));
    assert_true(dsql_vis_is_common(&shapes, 7));
    assert_true(dsql_vis_is_common(&shapes, 7));
    dsql_vis_shapes_fini(&shapes);
}

TEST(there_is_an_end)
{
    struct dsql_vis_shapes shapes;
    size_t common = 0;
    dsql_vis_shapes_init(&shapes);
    const uint64_t last = UINT64_C(4) * DSQL_VIS_SHAPES_MAX;
    for (uint64_t shape = 1; shape <= last; shape++) {
        assert_false(dsql_vis_is_common(&shapes, shape));
        common += dsql_vis_is_common(&shapes, shape);
    }
    assert_int_equal(common, DSQL_VIS_SHAPES_MAX);
    assert_true(dsql_vis_is_common(&shapes, 1));
    assert_false(dsql_vis_is_common(&shapes, last));
    dsql_vis_shapes_fini(&shapes);
}

static uint64_t shape_of(const char *text, uint32_t type)
{
    struct dsql_vis_sql sql;
    dsql_vis_sql_init(&sql, 0);
    dsql_strbuf_add_str(&sql.text, text);
    (void)dsql_vis_param(&sql, type, dsql_null());
    uint64_t shape = dsql_vis_shape(&sql);
    dsql_vis_sql_fini(&sql);
    return shape;
}

/* A statement is prepared with the types of its parameters. */
TEST(a_shape_is_text_and_types)
{
    uint64_t shape = shape_of("SELECT $1", DSQL_OID_TEXT);
    assert_true(shape == shape_of("SELECT $1", DSQL_OID_TEXT));
    assert_true(shape != shape_of("SELECT $1", DSQL_OID_INT8));
    assert_true(shape != shape_of("SELECT  $1", DSQL_OID_TEXT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_again_is_common),
        cmocka_unit_test(there_is_an_end),
        cmocka_unit_test(a_shape_is_text_and_types),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Large values without a database: parts, tickets, marks, and results that are put together. */
#include "temporal/large.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

static const struct dsql_op_info *op;
enum { FIRST_VALUE = 3 * (4 + 8) }; /* behind three numbers and their lengths */

/* A row of SelectFromExecutions, which has two values. */
static void add(struct dsql_result *result, const void *bytes, int32_t len)
{
    memcpy(result->data + result->len, &len, sizeof(len));
    result->len += sizeof(len);
    if (len > 0)
        memcpy(result->data + result->len, bytes, (size_t)len);
    result->len += len > 0 ? (size_t)len : 0;
}

static void add_row(struct dsql_result *result, const struct dsql_large *data,
                    const struct dsql_large *state)
{
    static const int64_t number = 7;
    const struct dsql_large *values[] = {data, state};
    for (int i = 0; i < 3; i++)
        add(result, &number, sizeof(number));
    for (size_t i = 0; i < 2; i++) {
        if (!values[i]) {
            add(result, "small", 5);
            add(result, "Json", 4);
            continue;
        }
        add(result, values[i]->ticket, sizeof(values[i]->ticket));
        add(result, values[i]->mark, (int32_t)values[i]->mark_len);
    }
    result->rows++;
}

static struct dsql_span next(struct dsql_result *result)
{
    int32_t len;
    memcpy(&len, result->data + result->at, sizeof(len));
    struct dsql_span value = {(const char *)result->data + result->at + sizeof(len),
                              len > 0 ? (size_t)len : 0};
    result->at += sizeof(len) + value.len;
    if (len < 0)
        value.ptr = NULL;
    return value;
}

static struct dsql_large large_of(char id, const char *bytes, size_t len, struct dsql_span encoding)
{
    struct dsql_large large = {.value = {bytes, len}};
    memset(&large.id, id, sizeof(large.id));
    assert_true(dsql_large_describe(&large, encoding));
    return large;
}

TEST(parts_are_the_value)
{
    static char bytes[2 * DSQL_LARGE_PART + 1];
    static const struct {
        size_t len, parts, last;
    } cases[] = {
        {DSQL_LARGE_PART + 1, 2, 1},
        {(size_t)2 * DSQL_LARGE_PART, 2, DSQL_LARGE_PART},
        {2 * DSQL_LARGE_PART + 1, 3, 1},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_large large = large_of('a', bytes, cases[i].len, DSQL_SPAN("Proto3"));
        assert_int_equal(dsql_large_parts(&large), cases[i].parts);
        size_t at = 0;
        for (size_t part = 0; part < cases[i].parts; part++) {
            struct dsql_span span = dsql_large_part(&large, part);
            assert_ptr_equal(span.ptr, bytes + at);
            assert_in_range(span.len, 1, DSQL_LARGE_PART);
            at += span.len;
        }
        assert_int_equal(at, cases[i].len);
        assert_int_equal(dsql_large_part(&large, cases[i].parts - 1).len, cases[i].last);
    }
}

TEST(marks_keep_the_encoding)
{
    struct dsql_large large = large_of('a', "x", 1, DSQL_SPAN("Proto3"));
    assert_int_equal(large.mark_len, 8);
    assert_memory_equal(large.mark, "+:Proto3", 8);
    assert_true(dsql_large_is_marked((struct dsql_span){large.mark, large.mark_len}));
    large = large_of('a', "x", 1, (struct dsql_span){0});
    assert_int_equal(large.mark_len, 1);
    assert_false(dsql_large_is_marked(DSQL_SPAN("Proto3")));
    assert_false(dsql_large_is_marked(DSQL_SPAN("")));
    assert_true(dsql_large_describe(&large, DSQL_SPAN("fourteen bytes")));
    assert_false(dsql_large_describe(&large, DSQL_SPAN("fifteen bytes!!")));
}

/* Two values of one row, and one of another; the third row is small. */
struct case_of_join {
    struct dsql_result result;
    struct dsql_large_set set;
    struct dsql_large a, b, c;
};

static void begin(struct case_of_join *join, char *memory)
{
    *join = (struct case_of_join){.result = {.columns = op->column_count}};
    join->result.data = (unsigned char *)memory;
    join->a = large_of('a', "first part, second", 18, DSQL_SPAN("Proto3"));
    join->b = large_of('b', "state", 5, (struct dsql_span){0});
    join->c = large_of('c', "other", 5, DSQL_SPAN(""));
    add_row(&join->result, &join->a, &join->b);
    add_row(&join->result, NULL, NULL);
    add_row(&join->result, NULL, &join->c);
    assert_int_equal(dsql_large_find(op, &join->result, &join->set, NULL), DSQL_OK);
    assert_int_equal(join->set.count, 3);
    assert_false(dsql_large_is_whole(&join->set));
}

TEST(results_are_put_together)
{
    struct case_of_join join;
    begin(&join, malloc(1000));
    dsql_large_take(&join.set, &join.a.id, 0, DSQL_SPAN("first part,"));
    dsql_large_take(&join.set, &join.b.id, 0, DSQL_SPAN("state"));
    dsql_large_take(&join.set, &join.c.id, 0, DSQL_SPAN("other"));
    assert_false(dsql_large_is_whole(&join.set));
    dsql_large_take(&join.set, &join.a.id, 1, DSQL_SPAN(" second"));
    assert_true(dsql_large_is_whole(&join.set));
    assert_int_equal(dsql_large_join(op, &join.result, &join.set, NULL), DSQL_OK);
    static const char *const wanted[][4] = {{"first part, second", "Proto3", "state", NULL},
                                            {"small", "Json", "small", "Json"},
                                            {"small", "Json", "other", ""}};
    for (size_t row = 0; row < 3; row++) {
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(next(&join.result).len, 8);
        for (size_t i = 0; i < 4; i++) {
            struct dsql_span value = next(&join.result);
            assert_int_equal(value.ptr == NULL, wanted[row][i] == NULL);
            if (wanted[row][i])
                assert_true(dsql_span_eq(value, dsql_span_of(wanted[row][i])));
        }
    }
    assert_int_equal(join.result.at, join.result.len);
    dsql_large_set_fini(&join.set);
    dsql_result_fini(&join.result);
}

/* A part that is missing, comes twice or is too long leaves the value incomplete. */
TEST(what_is_not_whole_is_seen)
{
    static const struct {
        int64_t numbers[3];
        const char *parts[3];
    } cases[] = {
        {{1, 2, 3}, {"first part,", " second", ""}},
        {{0, 0, 0}, {"first part,", "first part,", ""}},
        {{0, 2, 1}, {"first part,", " second", ""}},
        {{0, 1, 2}, {"first part,", " second!", ""}},
        {{0, 1, 2}, {"first part,", " secon", ""}},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct case_of_join join;
        begin(&join, malloc(1000));
        dsql_large_take(&join.set, &join.b.id, 0, DSQL_SPAN("state"));
        dsql_large_take(&join.set, &join.c.id, 0, DSQL_SPAN("other"));
        for (size_t part = 0; part < 3; part++)
            dsql_large_take(&join.set, &join.a.id, cases[i].numbers[part],
                            dsql_span_of(cases[i].parts[part]));
        assert_false(dsql_large_is_whole(&join.set));
        dsql_large_set_fini(&join.set);
        dsql_result_fini(&join.result);
    }
}

TEST(stubs_that_are_none_are_refused)
{
    char memory[400];
    struct dsql_large_set set = {0};
    struct dsql_large large = large_of('a', "x", 1, DSQL_SPAN("e"));
    for (int bad = 0; bad < 3; bad++) {
        struct dsql_result result = {.columns = op->column_count, .data = (unsigned char *)memory};
        struct dsql_large wrong = large;
        if (bad == 1)
            memset(wrong.ticket + 16, 0, 8); /* no length */
        if (bad == 2)
            memset(wrong.ticket + 16, 0xff, 8); /* more than there can be */
        add_row(&result, &wrong, NULL);
        if (bad == 0) { /* shorter by one */
            int32_t len = sizeof(wrong.ticket) - 1;
            char *value = memory + FIRST_VALUE;
            memcpy(value, &len, sizeof(len));
            memmove(value + sizeof(len) + len, value + sizeof(len) + len + 1, 40);
        }
        assert_int_equal(dsql_large_find(op, &result, &set, NULL), DSQL_PROTOCOL);
    }
    dsql_large_set_fini(&set);
}

/* Whatever replaces or deletes rows of a table with values has all its forms; what does not has
 * none. */
TEST(every_write_of_a_value_minds_what_stood_there)
{
    size_t clearing = 0;
    for (enum dsql_op id = 0; id < DSQL_OP_COUNT; id = (enum dsql_op)(id + 1)) {
        const struct dsql_op_info *info = dsql_op_info(id);
        size_t all = info->statement_count + (info->portion != NULL) + (info->then != NULL);
        for (size_t i = 0; i < all; i++) {
            const struct dsql_op_statement *s = &info->statements[i];
            const char *sql = s->by_size[0].sql;
            bool replaces = strncmp(sql, "UPDATE", 6) == 0 || strncmp(sql, "DELETE", 6) == 0 ||
                            strstr(sql, "DO UPDATE");
            static const char *const without[] = {"signals_requested_sets",
                                                  "namespace_metadata",
                                                  "cluster_membership",
                                                  "build_id_to_task_queue",
                                                  "nexus_endpoints_partition_status",
                                                  "schema_version"};
            for (size_t t = 0; t < DSQL_COUNT_OF(without); t++)
                replaces = replaces && !strstr(sql, without[t]);
            if (info->kind != DSQL_KIND_EXEC)
                replaces = false;
            if (replaces != (s->clear.sql != NULL))
                fail_msg("%s: %s", info->name, sql);
            clearing += replaces;
            if (!replaces)
                continue;
            assert_non_null(strstr(sql, "LIKE '+%'"));
            assert_null(strstr(s->plain[0].sql, "LIKE"));
            assert_int_equal(s->raising.sql != NULL, s->plain_raising.sql != NULL);
            for (size_t size = 0; size < DSQL_SIZES; size++)
                assert_int_equal(s->by_size[size].sql != NULL, s->plain[size].sql != NULL);
        }
    }
    assert_in_range(clearing, 70, 90);
}

int main(void)
{
    op = dsql_op_info(DSQL_OP_SelectFromExecutions);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_the_value),
        cmocka_unit_test(marks_keep_the_encoding),
        cmocka_unit_test(results_are_put_together),
        cmocka_unit_test(what_is_not_whole_is_seen),
        cmocka_unit_test(stubs_that_are_none_are_refused),
        cmocka_unit_test(every_write_of_a_value_minds_what_stood_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

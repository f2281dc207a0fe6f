/* docs/fencing.md beside the catalogue: what raises, what protects a write, what needs no
 * protection. */
#include <fnmatch.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "support/test.h"
#include "temporal/ops.h"

#define EACH_OP(op) for (enum dsql_op op = 0; op < DSQL_OP_COUNT; op = (enum dsql_op)(op + 1))

static const char *fencing_page(void)
{
    static char page[64 << 10];
    FILE *file = fopen(DSQL_SOURCE_DIR "/docs/fencing.md", "re");
    assert_non_null(file);
    page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return page;
}

/* The rows of the table with this head line. */
static struct dsql_span table_of(const char *head)
{
    const char *at = strstr(fencing_page(), head);
    struct dsql_span rest, line;
    if (!at)
        fail_msg("docs/fencing.md has no table %s", head);
    rest = dsql_span_of(at);
    dsql_span_cut(rest, '\n', &line, &rest); /* the head */
    dsql_span_cut(rest, '\n', &line, &rest); /* |---| */
    return rest;
}

/* The next row of a table, cut into its columns; false at its end. */
static bool next_row(struct dsql_span *table, struct dsql_span *columns, size_t count)
{
    struct dsql_span line;
    if (!dsql_span_starts(*table, DSQL_SPAN("| ")))
        return false;
    dsql_span_cut(*table, '\n', &line, table);
    line = dsql_span_from(line, 1);
    for (size_t i = 0; i < count; i++) {
        dsql_span_cut(line, '|', &columns[i], &line);
        columns[i] = dsql_span_trim(columns[i]);
    }
    return true;
}

static void assert_column(const char *name, struct dsql_span said, const char *is)
{
    if (!dsql_span_eq(said, dsql_span_of(is)))
        fail_msg("docs/fencing.md says of %s: %.*s, but it is: %s", name, DSQL_SPAN_ARG(said), is);
}

static bool raises(const struct dsql_op_info *op)
{
    return op->fence.mode == DSQL_FENCE_CHECKS || op->fence.mode == DSQL_FENCE_EXPECTS;
}

/* Every operation that raises is in the table with what it protects, its tokens and how it holds
 * them, and no other is. */
TEST(the_page_on_fences_says_what_raises)
{
    enum { NAME, PROTECTS, TOKEN, WHICH, COLUMNS };
    struct dsql_span table = table_of("| operation | protects | token | which is |");
    struct dsql_span row[COLUMNS];
    bool seen[DSQL_OP_COUNT] = {false};
    while (next_row(&table, row, COLUMNS)) {
        char name[64], tokens[128];
        struct dsql_strbuf sb;
        (void)snprintf(name, sizeof(name), "%.*s", (int)row[NAME].len - 2, row[NAME].ptr + 1);
        enum dsql_op op = dsql_op_find(name);
        if (op == DSQL_OP_COUNT || !raises(dsql_op_info(op)) || seen[op])
            fail_msg("docs/fencing.md: %s does not raise, or is there twice", name);
        const struct dsql_op_info *info = dsql_op_info(op);
        dsql_strbuf_init(&sb, tokens, sizeof(tokens));
        for (size_t i = 0; i < info->fence.tokens; i++)
            dsql_strbuf_addf(&sb, "%s%s", i ? ", " : "", info->fields[info->fence.keys + i].name);
        assert_column(name, row[PROTECTS], dsql_entities[info->fence.what].name);
        assert_column(name, row[TOKEN], tokens);
        assert_column(name, row[WHICH],
                      info->kind == DSQL_KIND_EXPECT          ? "locked"
                      : info->fence.mode == DSQL_FENCE_CHECKS ? "before the change"
                                                              : "in its predicate");
        seen[op] = true;
    }
    EACH_OP(op)
    {
        if (raises(dsql_op_info(op)) && !seen[op])
            fail_msg("docs/fencing.md does not say what %s raises", dsql_op_name(op));
    }
}

/* Counts for each operation the patterns between backticks that match it. Each matches one. */
static void match_first_column(const char *head, size_t *found)
{
    struct dsql_span table = table_of(head), row;
    while (next_row(&table, &row, 1))
        while (row.len > 0) {
            struct dsql_span before, pattern;
            char text[64];
            size_t matches = 0;
            dsql_span_cut(row, '`', &before, &row);
            dsql_span_cut(row, '`', &pattern, &row);
            (void)snprintf(text, sizeof(text), "%.*s", DSQL_SPAN_ARG(pattern));
            EACH_OP(op)
            {
                bool fits = fnmatch(text, dsql_op_name(op), 0) == 0;
                found[op] += fits;
                matches += fits;
                if (fits && dsql_op_info(op)->kind != DSQL_KIND_EXEC)
                    fail_msg("docs/fencing.md: %s changes nothing", dsql_op_name(op));
            }
            if (matches == 0)
                fail_msg("docs/fencing.md: there is no %s", text);
        }
}

/* Whatever changes a row raises by itself, is protected by another row, or needs no protection; the
 * page says of each which. */
TEST(the_page_on_fences_has_every_write_once)
{
    size_t found[DSQL_OP_COUNT] = {0};
    match_first_column("| writes | why a stale owner does no harm |", found);
    match_first_column("| writes | protected by | a stale or second writer gets |", found);
    EACH_OP(op)
    {
        const struct dsql_op_info *info = dsql_op_info(op);
        size_t wanted = info->kind == DSQL_KIND_EXEC && !raises(info);
        if (found[op] != wanted)
            fail_msg("docs/fencing.md has %s %zu times in its tables of writes, not %zu times",
                     info->name, found[op], wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_on_fences_says_what_raises),
        cmocka_unit_test(the_page_on_fences_has_every_write_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

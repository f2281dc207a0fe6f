/* Ids that are too long for a key: their short forms, and that every key of the schemas holds the
 * longest ids that Temporal allows. */
#include <stdio.h>

#include "base/strbuf.h"
#include "schema/schema.h"
#include "support/test.h"
#include "temporal/key.h"
#include "temporal/ops.h"
#include "visibility/keys.h"

/* The service: bytes of a key, and what each further column of it takes. A secondary index carries
 * the primary key. */
enum { KEY_MOST = 1981, KEY_COLUMN = 7 };

/* limit.maxIDLength counts bytes; a task queue's id has a name and twice a name of half that size
 * in base64, a CHASM path ends with an id; each byte may take two in a key. */
enum { TEMPORAL_ID = 1000, TEMPORAL_KEY = 2 * 3 * TEMPORAL_ID };

static struct dsql_span repeated(char *memory, const char *unit, size_t count)
{
    size_t len = strlen(unit);
    for (size_t i = 0; i < count; i++)
        memcpy(memory + i * len, unit, len);
    return (struct dsql_span){memory, count * len};
}

TEST(what_fits_stands_as_it_is)
{
    static char memory[TEMPORAL_KEY];
    const struct {
        const char *unit;
        size_t count;
        bool id, key; /* whether it is long as either */
    } cases[] = {
        {"a", 0, false, false},
        {"a", 255, false, false},
        {"a", 256, true, false},
        {"a", 1000, true, false},
        {"a", 1001, true, true},
        {"\xc3\xa9", 255, false, false},
        {"\xc3\xa9", 256, true, false},
        {"\xe6\x97\xa5", 255, false, false},
        {"\xe6\x97\xa5", 256, true, false},
        {"\xf0\x9f\x98\x80", 225, false, false}, /* 900 bytes */
        {"\xf0\x9f\x98\x80", 226, true, false},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        struct dsql_span text = repeated(memory, cases[i].unit, cases[i].count);
        if (dsql_id_is_long(text) != cases[i].id || dsql_key_is_long(text) != cases[i].key)
            fail_msg("case %zu", i);
    }
}

TEST(a_short_form_is_the_beginning_and_a_hash)
{
    static char memory[TEMPORAL_KEY];
    char form[DSQL_SHORT_FORM_MAX + 1];
    struct dsql_span id = repeated(memory, "a", 1000);
    size_t len = dsql_key_shorten(id, form);
    assert_int_equal(len, DSQL_SHORT_FORM_MAX);
    form[len] = 0;
    assert_memory_equal(form, memory, 160);
    /* What sha256sum says of a thousand letters a. */
    assert_string_equal(form + 160,
                        "~sha256:41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");

    /* Another last letter, another form. */
    char other[DSQL_SHORT_FORM_MAX];
    memory[999] = 'b';
    assert_int_equal(dsql_key_shorten(id, other), len);
    assert_memory_not_equal(form, other, len);

    /* No character is cut in two, wherever the cut falls. */
    for (size_t shift = 0; shift < 3; shift++) {
        (void)repeated(memory, "a", shift);
        struct dsql_span rest = repeated(memory + shift, "\xe6\x97\xa5", 300);
        len = dsql_key_shorten((struct dsql_span){memory, shift + rest.len}, form);
        size_t head = len - 72;
        assert_in_range(head, 158, 160);
        assert_int_equal((head - shift) % 3, 0);
        assert_memory_equal(form + head, "~sha256:", 8);
        assert_false(dsql_id_is_long((struct dsql_span){form, head}));
    }
}

/* Whoever calls a thing by the short form of another id gets a form of its own. */
TEST(a_short_form_is_long_itself)
{
    static char memory[TEMPORAL_KEY];
    char form[DSQL_SHORT_FORM_MAX], again[DSQL_SHORT_FORM_MAX];
    struct dsql_span id = repeated(memory, "x", 999);
    struct dsql_span shortened = {form, dsql_key_shorten(id, form)};
    assert_true(dsql_id_is_long(shortened));
    assert_true(dsql_key_is_long(shortened));
    assert_true(dsql_id_is_long(dsql_span_from(shortened, shortened.len - 72)));
    assert_false(dsql_id_is_long(dsql_span_from(shortened, shortened.len - 71)));
    assert_int_equal(dsql_key_shorten(shortened, again), sizeof(again));
    assert_memory_not_equal(form, again, sizeof(again));
}

/* The texts in keys of visibility. Ids of namespaces and runs are UUIDs; what a user may choose at
 * any length is cut. */
static size_t most_of_visible(struct dsql_span name)
{
    static const struct {
        const char *name;
        size_t bytes;
    } columns[] = {
        {"namespace_id", 36},
        {"run_id", 36},
        {"workflow_id", TEMPORAL_ID},
        {"workflow_type_name", TEMPORAL_ID},
        {"task_queue", TEMPORAL_ID},
        {"root_workflow_id", TEMPORAL_ID},
        {"parent_workflow_id", TEMPORAL_ID},
        {"division", DSQL_VISIBILITY_VALUE_MAX},
        {"attribute", DSQL_VISIBILITY_VALUE_MAX},
        {"value", DSQL_VISIBILITY_VALUE_MAX},
        {"count_keyword", DSQL_VISIBILITY_VALUE_MAX},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(columns); i++)
        if (dsql_span_eq(name, dsql_span_of(columns[i].name)))
            return columns[i].bytes;
    fail_msg("%.*s has no size", DSQL_SPAN_ARG(name));
    return 0;
}

/* The most that a column of a key takes. */
static size_t most_of(const struct dsql_schema *schema, const struct dsql_schema_column *column)
{
    static const struct {
        const char *type;
        size_t bytes;
    } types[] = {
        {"smallint", 2},
        {"integer", 4},
        {"bigint", 8},
        {"uuid", 16},
        {"timestamp without time zone", 8},
        {"boolean", 1},
        {"text", DSQL_KEY_BYTES_MAX},
        {"character varying(255)", DSQL_ID_BYTES_MAX},
        {"character varying(128)", 512},
    };
    if (schema == &dsql_schema_visibility && strcmp(column->type, "text") == 0)
        return most_of_visible(column->name);
    for (size_t i = 0; i < DSQL_COUNT_OF(types); i++)
        if (strcmp(column->type, types[i].type) == 0)
            return types[i].bytes;
    fail_msg("%s has no size", column->type);
    return 0;
}

/* The most that the columns of a list take, of a table with this body. */
static size_t most_of_key(const struct dsql_schema *schema, struct dsql_span body,
                          struct dsql_span list)
{
    size_t total = 0;
    for (struct dsql_span name; list.len > 0;) {
        struct dsql_schema_column column;
        struct dsql_span lines = body, key;
        bool found = false;
        dsql_span_cut(list, ',', &name, &list);
        while (!found && dsql_schema_next_column(&lines, &column, &key))
            found = dsql_span_eq(column.name, dsql_span_trim(name));
        assert_true(found);
        total += most_of(schema, &column) + (total > 0 ? KEY_COLUMN : 0);
    }
    return total;
}

static struct dsql_schema_step table_of(const struct dsql_schema *schema, struct dsql_span name)
{
    struct dsql_span rest = schema->text();
    struct dsql_schema_step step;
    while (dsql_schema_next(&rest, &step))
        if (step.kind == DSQL_SCHEMA_TABLE && dsql_span_eq(step.name, name))
            return step;
    fail_msg("no table %.*s", DSQL_SPAN_ARG(name));
    return step;
}

static size_t most_of_primary_key(const struct dsql_schema *schema,
                                  const struct dsql_schema_step *table)
{
    struct dsql_schema_column column;
    struct dsql_span body = table->body, key = {0};
    while (dsql_schema_next_column(&body, &column, &key))
        continue;
    return most_of_key(schema, table->body, key);
}

/* Every key of the schema fits, and this is the longest of so many. */
static void expect_fitting_keys(const struct dsql_schema *schema, size_t longest, size_t count)
{
    struct dsql_span rest = schema->text();
    struct dsql_schema_step step;
    size_t most = 0, keys = 0;
    while (dsql_schema_next(&rest, &step)) {
        if (step.kind == DSQL_SCHEMA_ROW)
            continue;
        struct dsql_schema_step table = table_of(schema, step.table);
        size_t bytes = most_of_primary_key(schema, &table);
        if (step.kind == DSQL_SCHEMA_INDEX)
            bytes += KEY_COLUMN + most_of_key(schema, table.body, step.body);
        if (bytes > KEY_MOST)
            fail_msg("the key of %.*s may take %zu bytes", DSQL_SPAN_ARG(step.name), bytes);
        most = bytes > most ? bytes : most;
        keys++;
    }
    assert_int_equal(keys, count);
    assert_int_equal(most, longest);
}

TEST(every_key_of_the_schemas_fits)
{
    assert_true(DSQL_SHORT_FORM_MAX <= DSQL_ID_CHARS_MAX);
    expect_fitting_keys(&dsql_schema_store, 1964, 47);      /* chasm_node_maps */
    expect_fitting_keys(&dsql_schema_visibility, 1467, 16); /* visibility_by_type_status */
}

static bool is_one_of(const char *name, const char *const *list)
{
    for (; *list; list++)
        if (strcmp(name, *list) == 0)
            return true;
    return false;
}

/* Text that is sent as it is, whatever its length. Operators choose the names of clusters, and of
 * queues, which are made of them; PostgreSQL has 255 characters for them, too. The whole ids go to
 * columns without a limit. */
static const char *const not_ids[] = {
    "source_cluster_name", "queue_name",  "cluster_name", "cluster_name_after",
    "rpc_address",         "db_name",     "curr_version", "min_compatible_version",
    "old_version",         "new_version", "manifest_md5", "description",
    "table_schema",        NULL};

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), tail = strlen(end);
    return len > tail && strcmp(name + len - tail, end) == 0;
}

TEST(every_id_that_a_user_chooses_is_sent_as_one)
{
    size_t ids = 0, whole = 0;
    for (enum dsql_op op = 0; op < DSQL_OP_COUNT; op = (enum dsql_op)(op + 1)) {
        const struct dsql_op_info *info = dsql_op_info(op);
        for (size_t f = 0; f < info->given_count; f++) {
            const struct dsql_op_field *field = &info->fields[f];
            ids += field->type == DSQL_COLUMN_ID;
            if (field->type == DSQL_COLUMN_TEXT && !is_one_of(field->name, not_ids) &&
                !ends_with(field->name, "_encoding"))
                fail_msg("%s: %s may be longer than its column", info->name, field->name);
            if (field->full == 0)
                continue;
            char name[64];
            (void)snprintf(name, sizeof(name), "%s_full", field->name);
            assert_string_equal(info->fields[field->full].name, name);
            assert_true(field->full >= info->given_count && info->fields[field->full].nullable);
            whole++;
        }
        assert_true(info->given_count <= info->field_count);
    }
    assert_true(ids > 60);
    assert_true(whole > 10);
}

/* A column whose text is cut short has its whole form beside it, unless the rows never tell it: the
 * ids of executions, of which each row's data tells, and of tasks, which those of their queue do.
 */
TEST(whole_ids_have_columns)
{
    static const char *const untold[] = {"workflow_id", "business_id", NULL};
    static const char *const parts[] = {"tasks", "tasks_v2", NULL};
    struct dsql_span rest = dsql_schema_store.text();
    struct dsql_schema_step step;
    size_t seen = 0;
    while (dsql_schema_next(&rest, &step)) {
        struct dsql_schema_column column;
        struct dsql_span body = step.body, key;
        char table[64], name[64];
        (void)snprintf(table, sizeof(table), "%.*s", DSQL_SPAN_ARG(step.name));
        while (step.kind == DSQL_SCHEMA_TABLE && dsql_schema_next_column(&body, &column, &key)) {
            (void)snprintf(name, sizeof(name), "%.*s", DSQL_SPAN_ARG(column.name));
            bool text = strcmp(column.type, "character varying(255)") == 0 ||
                        (strcmp(column.type, "text") == 0 && column.not_null);
            if (!text || is_one_of(name, not_ids) || is_one_of(name, untold) ||
                is_one_of(table, parts))
                continue;
            struct dsql_schema_column other;
            struct dsql_span lines = step.body, none;
            bool found = false;
            char full[80];
            (void)snprintf(full, sizeof(full), "%s_full", name);
            while (!found && dsql_schema_next_column(&lines, &other, &none))
                found = dsql_span_eq(other.name, dsql_span_of(full)) &&
                        strcmp(other.type, "text") == 0 && !other.not_null;
            if (!found)
                fail_msg("%s.%s has no column for the whole id", table, name);
            seen++;
        }
    }
    assert_int_equal(seen, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_fits_stands_as_it_is),
        cmocka_unit_test(a_short_form_is_the_beginning_and_a_hash),
        cmocka_unit_test(a_short_form_is_long_itself),
        cmocka_unit_test(every_key_of_the_schemas_fits),
        cmocka_unit_test(every_id_that_a_user_chooses_is_sent_as_one),
        cmocka_unit_test(whole_ids_have_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The catalogue as a table: complete, consistent with its structs, and nothing in it that Aurora
 * DSQL refuses. */
#include <stdio.h>

#include "local/rules/sql_stmt.h"
#include "schema/schema.h"
#include "support/test.h"
#include "temporal/ops.h"

#define EACH_OP(op) for (enum dsql_op op = 0; op < DSQL_OP_COUNT; op = (enum dsql_op)(op + 1))

/* Its statements lie behind each other: those to choose from, the one for portions, the second
 * step. */
static size_t statement_count(const struct dsql_op_info *op)
{
    return op->statement_count + (op->portion != NULL) + (op->then != NULL);
}

static const char *sql_of(const struct dsql_op_info *op, size_t statement)
{
    return op->statements[statement].by_size[0].sql;
}

TEST(every_method_is_there)
{
    assert_int_equal(DSQL_OP_COUNT,
                     144 + 4 + 5 + 7); /* Temporal's, the schema tools', scripts', maps' */
    EACH_OP(op)
    {
        assert_int_equal(dsql_op_find(dsql_op_name(op)), op);
        assert_true(dsql_op_fields(op) > 0);
        assert_true(statement_count(dsql_op_info(op)) > 0);
        enum dsql_op_kind kind = dsql_op_info(op)->kind;
        assert_int_equal(dsql_op_columns(op) > 0, kind == DSQL_KIND_ONE || kind == DSQL_KIND_MANY);
    }
    assert_int_equal(dsql_op_find("DropEverything"), DSQL_OP_COUNT);
    assert_string_equal(dsql_op_name(DSQL_OP_COUNT), "?");
    assert_int_equal(dsql_op_fields(DSQL_OP_COUNT), 0);
}

static bool chooses(const struct dsql_op_info *op, size_t field)
{
    for (size_t i = 0; i < op->statement_count; i++)
        for (size_t k = 0; k < DSQL_OP_WHENS_MAX; k++)
            if (op->statements[i].when[k].test > DSQL_WHEN_KEY_SHARE &&
                op->statements[i].when[k].field == field)
                return true;
    return false;
}

/* $1 ... $n, each used by at least one of the operation's statements, and none beyond. What
 * only chooses the statement is in none of them. */
TEST(statements_use_the_parameters_they_are_given)
{
    EACH_OP(op)
    {
        const struct dsql_op_info *info = dsql_op_info(op);
        bool used[64] = {false};
        for (size_t i = 0; i < statement_count(info); i++) {
            size_t given = info->field_count + info->statements[i].extra;
            for (const char *at = sql_of(info, i); (at = strchr(at, '$')); at++) {
                size_t number = strtoul(at + 1, NULL, 10);
                if (number < 1 || number > given)
                    fail_msg("%s: $%zu of %zu", info->name, number, given);
                used[number] = true;
            }
        }
        for (size_t f = 1; f <= info->field_count; f++) {
            if (!used[f] && !chooses(info, f - 1))
                fail_msg("%s: $%zu is not used", info->name, f);
        }
    }
}

/* What stands between braces is there once for each input, and its parameters count on. */
TEST(repeats_count_on)
{
    const struct dsql_op_statement *insert =
        dsql_op_info(DSQL_OP_InsertIntoTransferTasks)->statements;
    assert_string_equal(insert->by_size[1].sql,
                        "INSERT INTO transfer_tasks (shard_id, task_id, data, data_encoding) "
                        "VALUES ($1, $2, $3, $4), ($5, $6, $7, $8)");
    const struct dsql_op_statement *delete =
        dsql_op_info(DSQL_OP_DeleteFromTimerInfoMaps)->statements;
    assert_string_equal(delete->plain[2].sql,
                        "DELETE FROM timer_info_maps WHERE shard_id = $1 AND namespace_id = $2 AND "
                        "workflow_id = $3 AND run_id = $4 AND timer_id IN ($5, $11, $17, $23) AND "
                        "COALESCE(timer_id_full, '') IN (COALESCE($6, ''), COALESCE($12, ''), "
                        "COALESCE($18, ''), COALESCE($24, ''))");
    assert_int_equal(delete->by_size[2].types[22], delete->by_size[0].types[4]);
}

/* Whose count is taken to be that of its inputs inserts or replaces a row for each. */
TEST(what_is_counted_writes_a_row_for_each_input)
{
    size_t counted = 0;
    EACH_OP(op)
    {
        const struct dsql_op_info *info = dsql_op_info(op);
        if (!(info->flags & DSQL_FLAG_COUNTED))
            continue;
        assert_false(info->flags & DSQL_FLAG_QUEUED);
        for (size_t i = 0; i < statement_count(info); i++)
            if (strncmp(sql_of(info, i), "INSERT", 6) != 0 || strstr(sql_of(info, i), "DO NOTHING"))
                fail_msg("%s", sql_of(info, i));
        counted++;
    }
    assert_int_equal(counted, 19);
}

/* Reads a statement through the rules of `dsql local`; NULL if it passes. */
static const char *refusal_of(const char *sql, char why[300])
{
    struct dsql_sql_script *script;
    struct dsql_sql_session session = {.in_block = true};
    const struct dsql_sql_refusal *refusal;
    why[0] = 0;
    assert_int_equal(dsql_sql_script_new(dsql_span_of(sql), &script), DSQL_OK);
    refusal = script->refusal;
    if (!refusal && script->count == 1)
        refusal = dsql_sql_stmt_refusal(&script->stmts[0], &session);
    if (refusal)
        (void)snprintf(why, 300, "%s %s", refusal->sqlstate, refusal->message);
    else if (script->count != 1)
        (void)snprintf(why, 300, "%zu statements", script->count);
    dsql_sql_script_unref(script);
    return why[0] ? why : NULL;
}

static uint32_t shared_in(enum dsql_op op)
{
    return dsql_op_info(op)->statements[0].shared;
}

/* The others are in the statement once for each input. */
TEST(fields_that_inputs_share_are_known)
{
    assert_int_equal(shared_in(DSQL_OP_DeleteFromTimerInfoMaps), 0xf);
    assert_int_equal(shared_in(DSQL_OP_DeleteFromChasmNodeMaps), 0xf);
    assert_int_equal(shared_in(DSQL_OP_RemoveFromBuildIdToTaskQueueMapping), 0xb);
    assert_int_equal(shared_in(DSQL_OP_ReplaceIntoTimerInfoMaps), 0);
    assert_int_equal(shared_in(DSQL_OP_InsertIntoTasks), 0);
}

static void assert_allowed(const struct dsql_stmt *stmt)
{
    char why[300];
    if (refusal_of(stmt->sql, why))
        fail_msg("%s: %s\n%s", stmt->name, why, stmt->sql);
    assert_true(strlen(stmt->name) <= 50);
    assert_null(strstr(stmt->sql, "FOR SHARE"));
    assert_null(strchr(stmt->sql, '{'));
}

TEST(aurora_dsql_takes_every_statement)
{
    size_t seen = 0;
    EACH_OP(op)
    {
        for (size_t i = 0; i < statement_count(dsql_op_info(op)); i++) {
            const struct dsql_op_statement *statement = &dsql_op_info(op)->statements[i];
            for (size_t size = 0; size < DSQL_SIZES; size++)
                if (statement->by_size[size].sql) {
                    assert_allowed(&statement->by_size[size]);
                    seen++;
                }
            if (statement->raising.sql)
                assert_allowed(&statement->raising);
            for (size_t size = 0; size < DSQL_SIZES && statement->plain[size].sql; size++)
                assert_allowed(&statement->plain[size]);
            if (statement->plain_raising.sql)
                assert_allowed(&statement->plain_raising);
            if (statement->clear.sql)
                assert_allowed(&statement->clear);
        }
    }
    assert_true(seen > 300);
    char why[300]; /* the check itself can fail */
    assert_non_null(refusal_of("SELECT 1 FROM shards FOR SHARE", why));
}

/* A lock of one table only: the service has not always taken more. */
TEST(locks_name_one_table)
{
    EACH_OP(op)
    {
        const struct dsql_op_info *info = dsql_op_info(op);
        for (size_t i = 0; i < statement_count(info); i++) {
            const char *sql = sql_of(info, i);
            if (strstr(sql, " FOR ") && strstr(sql, "SELECT"))
                if (strstr(sql, "JOIN") ||
                    (strstr(sql, "(SELECT") && info->kind != DSQL_KIND_EXPECT))
                    fail_msg("%s", sql);
        }
    }
}

static struct dsql_span key_of(struct dsql_span table)
{
    struct dsql_span rest = dsql_schema_store.text(), key = {"", 0};
    struct dsql_schema_step step;
    struct dsql_schema_column column;
    while (dsql_schema_next(&rest, &step))
        if (step.kind == DSQL_SCHEMA_TABLE && dsql_span_eq(step.name, table))
            while (dsql_schema_next_column(&step.body, &column, &key))
                continue;
    return key;
}

/* How many of its conditions are `column = $n` with a column of the key; the rest is to be none. */
static size_t key_conditions(struct dsql_span predicate, struct dsql_span key)
{
    size_t found = 0;
    while (predicate.len > 0) {
        struct dsql_span column, other, rest;
        const char *and = memmem(predicate.ptr, predicate.len, " AND ", 5);
        size_t len = and? (size_t)(and-predicate.ptr) : predicate.len;
        (void)dsql_span_cut(dsql_span_first(predicate, len), ' ', &column, &other);
        bool in_key = false;
        for (struct dsql_span keys = key, one; keys.len > 0; keys = rest) {
            dsql_span_cut(keys, ',', &one, &rest);
            in_key |= dsql_span_eq(dsql_span_trim(one), column);
        }
        if (!in_key || !dsql_span_starts(other, DSQL_SPAN("= $")))
            return SIZE_MAX;
        found++;
        predicate = dsql_span_from(predicate, and? len + 5 : len);
    }
    return found;
}

/* Up to 2026 the service took a lock only by equality on all columns of the key. */
TEST(locks_are_by_the_whole_key)
{
    size_t seen = 0;
    EACH_OP(op)
    {
        const struct dsql_op_info *info = dsql_op_info(op);
        for (size_t i = 0; i < statement_count(info); i++) {
            const char *sql = sql_of(info, i), *from = strstr(sql, " FROM ");
            const char *where = strstr(sql, " WHERE "), *lock = strstr(sql, " FOR ");
            if (!from || !where || !lock)
                continue;
            assert_null(strstr(from + 1, " FROM ")); /* one lock a statement */
            struct dsql_span table = {from + 6, (size_t)(where - from) - 6};
            struct dsql_span predicate = {where + 7, (size_t)(lock - where) - 7};
            struct dsql_span key = key_of(table);
            size_t columns = key.len > 0;
            for (size_t k = 0; k < key.len; k++)
                columns += key.ptr[k] == ',';
            if (columns == 0 || key_conditions(predicate, key) != columns)
                fail_msg("%s: not by (%.*s): %s", info->name, DSQL_SPAN_ARG(key), sql);
            seen++;
        }
    }
    assert_in_range(seen, 15, 40);
}

/* Every write that follows a lock of the same row takes what the lock has read. */
/* Whether a statement's predicate holds the tokens of its operation's fence. */
static bool is_fenced(const struct dsql_op_info *info, size_t statement)
{
    const char *sql = sql_of(info, statement);
    bool guard = info->kind == DSQL_KIND_EXPECT; /* compares what it selects */
    const char *predicate = strstr(sql, guard ? "SELECT" : "WHERE");
    char token[32];
    if (info->fence.mode == DSQL_FENCE_LOCKS)
        return strstr(sql, " FOR UPDATE") || strstr(sql, " FOR KEY SHARE");
    for (size_t i = 0; i < info->fence.tokens && predicate; i++) {
        /* A guard's second token may be NULL, which is any. */
        if (info->fence.mode == DSQL_FENCE_CHECKS)
            (void)snprintf(token, sizeof(token), "COALESCE($%zu, ", info->field_count + i + 1);
        else
            (void)snprintf(token, sizeof(token), i == 0 ? " = $%zu" : "$%zu",
                           info->fence.keys + i + 1);
        if (!strstr(predicate, token))
            return false;
    }
    return predicate != NULL;
}

TEST(fences_come_in_pairs)
{
    bool locked[8] = {false}, checked[8] = {false}, expected[8] = {false};
    EACH_OP(op)
    {
        const struct dsql_op_info *info = dsql_op_info(op);
        if (info->fence.mode == DSQL_FENCE_LOCKS) {
            locked[info->fence.what] = true;
            assert_true(info->fence.tokens <= info->column_count);
            assert_int_equal(info->fence.keys, info->field_count);
        } else if (info->fence.mode == DSQL_FENCE_CHECKS) {
            checked[info->fence.what] = true;
        } else if (info->fence.mode == DSQL_FENCE_EXPECTS) {
            bool guard = info->kind == DSQL_KIND_EXPECT;
            assert_in_range(info->fence.tokens, 1, guard ? 2 : 1);
            if (guard)
                expected[info->fence.what] = true;
        }
        /* Each statement that may be chosen; one that inserts is fenced by its key. */
        for (size_t i = 0; i < info->statement_count; i++)
            if (info->fence.mode != DSQL_FENCE_NONE && strncmp(sql_of(info, i), "INSERT", 6) != 0 &&
                !is_fenced(info, i))
                fail_msg("%s: statement %zu has no fence: %s", info->name, i, sql_of(info, i));
    }
    for (int what = DSQL_FENCED_SHARD; what <= DSQL_FENCED_TASK_QUEUE; what++)
        assert_true(locked[what] && checked[what] && expected[what]);
}

/* The forms of DSQL_EXPECTING and its contrary, around one SELECT with a lock at its end. */
static bool is_guard(const char *sql)
{
    static const char *const forms[][2] = {
        {"SELECT 1/(CASE WHEN (SELECT ", ") THEN 1 ELSE 0 END)"},
        {"SELECT 1/(CASE WHEN (SELECT ", ") THEN 0 ELSE 1 END)"},
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(forms); i++) {
        size_t head = strlen(forms[i][0]), tail = strlen(forms[i][1]), len = strlen(sql);
        if (len < head + tail || strncmp(sql, forms[i][0], head) != 0 ||
            strcmp(sql + len - tail, forms[i][1]) != 0)
            continue;
        const char *end = sql + len - tail;
        struct dsql_span locked = {sql + head, (size_t)(end - sql) - head};
        return !memchr(locked.ptr, '/', locked.len) && /* no division of its own */
               ((end - sql > 11 && memcmp(end - 11, " FOR UPDATE", 11) == 0) ||
                (end - sql > 14 && memcmp(end - 14, " FOR KEY SHARE", 14) == 0));
    }
    return false;
}

/* A WITH may hold a lock only if what follows refers to it: otherwise it is never executed. The
 * only one of the catalogue is DSQL_RAISING's. */
static bool is_raising_write(const char *sql)
{
    static const char head[] = "WITH hit AS (",
                      tail[] = " RETURNING 1) SELECT count(*), 1/count(*) FROM hit";
    size_t len = strlen(sql);
    if (len < sizeof(head) + sizeof(tail) || strncmp(sql, head, sizeof(head) - 1) != 0 ||
        strcmp(sql + len - sizeof(tail) + 1, tail) != 0)
        return false;
    const char *verb = sql + sizeof(head) - 1;
    return strncmp(verb, "UPDATE", 6) == 0 || strncmp(verb, "DELETE", 6) == 0 ||
           strncmp(verb, "INSERT", 6) == 0;
}

/* Why a statement that says it raises may not; NULL if it does. */
static const char *trap_of(const char *sql)
{
    if (strstr(sql, "1/0") || strstr(sql, "1 / 0"))
        return "a constant division is computed when the statement is planned";
    if (strncmp(sql, "WITH ", 5) == 0)
        return is_raising_write(sql) ? NULL : "a WITH that nothing refers to is never executed";
    return is_guard(sql) ? NULL : "neither DSQL_RAISING nor DSQL_EXPECTING";
}

/* Whatever a script expects has a form in which the server itself raises it. */
TEST(every_expectation_raises_in_the_server)
{
    size_t guards = 0, writes = 0;
    EACH_OP(op)
    {
        const struct dsql_op_info *info = dsql_op_info(op);
        bool fenced =
            info->fence.mode == DSQL_FENCE_CHECKS || info->fence.mode == DSQL_FENCE_EXPECTS;
        bool guard = info->kind == DSQL_KIND_EXPECT;
        for (size_t i = 0; i < statement_count(info); i++) {
            const struct dsql_op_statement *statement = &dsql_op_info(op)->statements[i];
            const struct dsql_stmt *raising = guard ? &statement->by_size[0] : &statement->raising;
            assert_int_equal(fenced, raising->sql && raising->flags & DSQL_STMT_RAISES);
            for (size_t size = 0; !guard && size < DSQL_SIZES; size++)
                if (statement->by_size[size].sql) /* nor does any other say so */
                    assert_false(statement->by_size[size].flags & DSQL_STMT_RAISES);
            if (!fenced)
                continue;
            if (trap_of(raising->sql))
                fail_msg("%s: %s: %s", raising->name, trap_of(raising->sql), raising->sql);
            guards += guard;
            writes += !guard;
        }
    }
    assert_int_equal(guards, 2 + 1 + 2 + 2 + 2);
    assert_int_equal(writes, 1 + 1 + 2 + 2 + 2 + 2 + 1 + 2 + 1 + 1 + 1);
    static const char *const traps[] = {
        "WITH held AS (SELECT 1/(CASE WHEN range_id = $2 THEN 1 ELSE 0 END) FROM shards WHERE "
        "shard_id = $1 FOR UPDATE) SELECT 1",
        "SELECT CASE WHEN (SELECT range_id = $2 FROM shards WHERE shard_id = $1 FOR UPDATE) THEN 1 "
        "ELSE 1/0 END",
        "SELECT 1/(CASE WHEN (SELECT range_id = $2 FROM shards WHERE shard_id = $1) THEN 1 ELSE 0 "
        "END)",
        "SELECT range_id, 1/(CASE WHEN range_id = $2 THEN 1 ELSE 0 END) FROM shards WHERE shard_id "
        "= $1 FOR UPDATE",
    };
    for (size_t i = 0; i < DSQL_COUNT_OF(traps); i++)
        assert_non_null(trap_of(traps[i]));
}

TEST(the_schema_reads)
{
    struct dsql_span rest = dsql_schema_store.text(), body, key;
    struct dsql_schema_step step;
    struct dsql_schema_column column;
    size_t tables = 0, indexes = 0, columns = 0;
    char why[300], sql[4096];
    while (dsql_schema_next(&rest, &step)) {
        tables += step.kind == DSQL_SCHEMA_TABLE;
        indexes += step.kind == DSQL_SCHEMA_INDEX;
        (void)snprintf(sql, sizeof(sql), "%.*s", DSQL_SPAN_ARG(step.text));
        if (refusal_of(sql, why))
            fail_msg("%s: %s", sql, why);
        if (step.kind != DSQL_SCHEMA_TABLE)
            continue;
        body = step.body;
        while (dsql_schema_next_column(&body, &column, &key))
            columns++;
        assert_true(key.len > 0);
    }
    assert_int_equal(tables, 37 + 1 + 2);
    assert_int_equal(indexes, 7);
    assert_int_equal(dsql_schema_steps(&dsql_schema_store), 48);
    assert_true(columns > 200);
}

/* What the service learnt only in 2026 is not in it. */
TEST(the_schema_is_one_that_a_cluster_of_2025_takes)
{
    static const char *const later[] = {"CHECK",     "DEFAULT",  "REFERENCES", "SERIAL",
                                        "GENERATED", "IDENTITY", "SEQUENCE",   "JSON",
                                        "ALTER",     "DROP",     "INCLUDE",    "lower("};
    static const char *const types[] = {"INTEGER", "BIGINT",    "VARCHAR(", "TEXT",
                                        "BYTEA",   "TIMESTAMP", "BOOLEAN",  "UUID"};
    struct dsql_span rest = dsql_schema_store.text();
    struct dsql_schema_step step;
    while (dsql_schema_next(&rest, &step)) {
        for (size_t i = 0; i < DSQL_COUNT_OF(later); i++)
            if (memmem(step.text.ptr, step.text.len, later[i], strlen(later[i])))
                fail_msg("%.*s: %s", DSQL_SPAN_ARG(step.name), later[i]);
        if (step.kind == DSQL_SCHEMA_INDEX)
            assert_non_null(memmem(step.text.ptr, step.text.len, " INDEX ASYNC ", 13));
        struct dsql_span line, name, type, body = step.body;
        while (step.kind == DSQL_SCHEMA_TABLE && body.len > 0) {
            dsql_span_cut(body, '\n', &line, &body);
            line = dsql_span_trim(line);
            if (line.len == 0 || dsql_span_starts(line, DSQL_SPAN("PRIMARY KEY (")))
                continue;
            bool known = false;
            dsql_span_cut(line, ' ', &name, &type);
            for (size_t i = 0; i < DSQL_COUNT_OF(types); i++)
                known |= dsql_span_starts(type, dsql_span_of(types[i]));
            if (!known)
                fail_msg("%.*s: %.*s", DSQL_SPAN_ARG(step.name), DSQL_SPAN_ARG(line));
        }
    }
}

TEST(versions_compare_by_number)
{
    static const struct {
        const char *a, *b;
        int order;
    } cases[] = {{"1.9", "1.19", -1}, {"1.19", "1.19", 0}, {"1.19.1", "1.19", 1},
                 {"", "1.19", -1},    {"2", "1.99", 1},    {"1.19.0", "1.19", 0}};
    for (size_t i = 0; i < DSQL_COUNT_OF(cases); i++) {
        assert_int_equal(
            dsql_schema_version_compare(dsql_span_of(cases[i].a), dsql_span_of(cases[i].b)),
            cases[i].order);
        assert_int_equal(
            dsql_schema_version_compare(dsql_span_of(cases[i].b), dsql_span_of(cases[i].a)),
            -cases[i].order);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_is_there),
        cmocka_unit_test(statements_use_the_parameters_they_are_given),
        cmocka_unit_test(repeats_count_on),
        cmocka_unit_test(what_is_counted_writes_a_row_for_each_input),
        cmocka_unit_test(fields_that_inputs_share_are_known),
        cmocka_unit_test(aurora_dsql_takes_every_statement),
        cmocka_unit_test(locks_name_one_table),
        cmocka_unit_test(locks_are_by_the_whole_key),
        cmocka_unit_test(fences_come_in_pairs),
        cmocka_unit_test(every_expectation_raises_in_the_server),
        cmocka_unit_test(the_schema_reads),
        cmocka_unit_test(the_schema_is_one_that_a_cluster_of_2025_takes),
        cmocka_unit_test(versions_compare_by_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

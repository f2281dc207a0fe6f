#include "local/rules/sql_rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const struct rule {
    struct dsql_span node;
    enum dsql_sql_kind kind;
    const char *refusal;
    dsql_sql_check_fn *check;
    int since; /* a feature, before which the refusal holds; NEVER: always */
} rules[] = {
#define NEVER                            DSQL_SQL_FEATURE_COUNT
#define DSQL_SQL_RULE(node, kind, check) {DSQL_SPAN(#node), DSQL_SQL_##kind, NULL, check, NEVER},
#define DSQL_SQL_SINCE(name, kind, check, feature)                                                 \
    {DSQL_SPAN(#name "Stmt"), DSQL_SQL_##kind, "unsupported statement: " #name, check,             \
     DSQL_SQL_##feature##_SINCE},
#define DSQL_SQL_REFUSED(node, text) {DSQL_SPAN(#node), DSQL_SQL_OTHER, text, NULL, NEVER},
#define DSQL_SQL_UNSUPPORTED(name)                                                                 \
    {DSQL_SPAN(#name "Stmt"), DSQL_SQL_OTHER, "unsupported statement: " #name, NULL, NEVER},
#include "local/rules/sql_rules.def"
#undef DSQL_SQL_RULE
#undef DSQL_SQL_SINCE
#undef DSQL_SQL_REFUSED
#undef DSQL_SQL_UNSUPPORTED
};

static const struct rule *find_rule(struct dsql_span node)
{
    for (size_t i = 0; i < DSQL_COUNT_OF(rules); i++)
        if (dsql_span_eq(rules[i].node, node))
            return &rules[i];
    return NULL;
}

static void apply_rule(struct dsql_sql_judge *judge, const struct rule *rule, struct dsql_span tag,
                       struct dsql_tree stmt)
{
    if (!rule)
        dsql_sql_judge_unsupported(judge, "unsupported statement: %.*s", DSQL_SPAN_ARG(tag));
    else if (rule->refusal && (rule->since == NEVER ||
                               !dsql_sql_judge_has(judge, (enum dsql_sql_feature)rule->since)))
        dsql_sql_judge_unsupported(judge, "%s", rule->refusal);
    else if (rule->check)
        rule->check(judge, stmt);
}

void dsql_sql_judge(struct dsql_sql_judge *judge, struct dsql_tree node)
{
    struct dsql_span tag;
    struct dsql_tree stmt = dsql_tree_open(node, &tag);
    const struct rule *rule = find_rule(tag);
    judge->stmt->kind = rule ? rule->kind : DSQL_SQL_OTHER;
    if (judge->stmt->kind == DSQL_SQL_DDL)
        judge->stmt->flags |= DSQL_SQL_IS_DDL;
    if (judge->async)
        judge->stmt->flags |= DSQL_SQL_JOB;
    apply_rule(judge, rule, tag, stmt);
    dsql_sql_check_query(judge, node);
}

enum dsql_sql_kind dsql_sql_judge_inner(struct dsql_sql_judge *judge, struct dsql_tree node)
{
    struct dsql_span tag;
    struct dsql_tree stmt = dsql_tree_open(node, &tag);
    const struct rule *rule = find_rule(tag);
    apply_rule(judge, rule, tag, stmt);
    return rule ? rule->kind : DSQL_SQL_OTHER;
}

void dsql_sql_judge_add(struct dsql_sql_judge *judge, const struct dsql_sql_refusal *refusal)
{
    struct dsql_sql_refusal **slot = judge->stmt->refusals;
    if (slot[0] && (slot[0]->when == DSQL_SQL_ALWAYS || slot[1]))
        return;
    if (slot[0])
        slot++;
    *slot = malloc(sizeof(**slot));
    if (*slot)
        **slot = *refusal;
    else
        judge->out_of_memory = true;
}

void dsql_sql_judge_refuse(struct dsql_sql_judge *judge, enum dsql_sql_when when,
                           const char *sqlstate, const char *fmt, ...)
{
    char message[sizeof(((struct dsql_sql_refusal *)NULL)->message)];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    struct dsql_sql_refusal refusal;
    dsql_sql_refuse(&refusal, sqlstate, "%s", message);
    refusal.when = when;
    dsql_sql_judge_add(judge, &refusal);
}

static void keep_text(struct dsql_sql_judge *judge, struct dsql_tree string, char **place)
{
    if (!string.ptr)
        return;
    char *kept = dsql_tree_dup(string);
    if (!kept) {
        judge->out_of_memory = true;
        return;
    }
    free(*place);
    *place = kept;
}

void dsql_sql_judge_name(struct dsql_sql_judge *judge, struct dsql_tree string)
{
    keep_text(judge, string, &judge->stmt->name);
}

void dsql_sql_judge_value(struct dsql_sql_judge *judge, struct dsql_tree string)
{
    keep_text(judge, string, &judge->stmt->value);
}

static void copy_name(struct dsql_tree string, char *memory)
{
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, memory, DSQL_SQL_NAME_MAX);
    dsql_tree_text(string, &text);
}

void dsql_sql_judge_table(struct dsql_sql_judge *judge, struct dsql_tree schema,
                          struct dsql_tree name)
{
    struct dsql_sql_stmt *stmt = judge->stmt;
    struct dsql_sql_table table;
    copy_name(schema, table.schema);
    copy_name(name, table.name);
    for (size_t i = 0; i < stmt->table_count; i++)
        if (strcmp(stmt->tables[i].name, table.name) == 0 &&
            strcmp(stmt->tables[i].schema, table.schema) == 0)
            return;
    if (stmt->table_count == DSQL_SQL_TABLES_MAX)
        return;
    struct dsql_sql_table *grown =
        reallocarray(stmt->tables, stmt->table_count + 1, sizeof(*grown));
    if (!grown) {
        judge->out_of_memory = true;
        return;
    }
    stmt->tables = grown;
    stmt->tables[stmt->table_count++] = table;
}

struct dsql_tree dsql_sql_literal(struct dsql_tree node)
{
    return dsql_tree_get(dsql_tree_get(dsql_tree_as(node, "A_Const"), "sval"), "sval");
}

bool dsql_sql_option(struct dsql_tree options, const char *name, struct dsql_tree *arg)
{
    for (struct dsql_tree e = dsql_tree_first(options); e.ptr; e = dsql_tree_next(e)) {
        struct dsql_tree option = dsql_tree_as(e, "DefElem");
        if (dsql_tree_is(dsql_tree_get(option, "defname"), name)) {
            *arg = dsql_tree_get(option, "arg");
            return true;
        }
    }
    return false;
}

bool dsql_sql_option_true(struct dsql_tree arg)
{
    int64_t number;
    if (!arg.ptr)
        return true;
    if (dsql_tree_int(arg, &number))
        return number != 0;
    struct dsql_tree word = dsql_tree_string(arg);
    return dsql_tree_is(word, "true") || dsql_tree_is(word, "on");
}

/*
 * Rules for what is neither a query nor DDL: transaction control, SET and SHOW, PREPARE, EXPLAIN,
 * COPY, CALL, ANALYZE.
 */
#include <stdio.h>

#include "local/rules/sql_rules.h"
#include "local/rules/sql_set.h"

/* Transaction statements, and those that exist only to be refused. */
static const struct {
    const char *node;
    enum dsql_sql_kind kind;
    const char *refused;
} transactions[] = {
    {"TRANS_STMT_BEGIN", DSQL_SQL_BEGIN, NULL},
    {"TRANS_STMT_START", DSQL_SQL_BEGIN, NULL},
    {"TRANS_STMT_COMMIT", DSQL_SQL_COMMIT, NULL},
    {"TRANS_STMT_ROLLBACK", DSQL_SQL_ROLLBACK, NULL},
    {"TRANS_STMT_SAVEPOINT", DSQL_SQL_OTHER, "SAVEPOINT"},
    {"TRANS_STMT_RELEASE", DSQL_SQL_OTHER, "RELEASE"},
    {"TRANS_STMT_ROLLBACK_TO", DSQL_SQL_OTHER, "ROLLBACK TO"},
    {"TRANS_STMT_PREPARE", DSQL_SQL_OTHER, "PREPARE TRANSACTION"},
    {"TRANS_STMT_COMMIT_PREPARED", DSQL_SQL_OTHER, "COMMIT PREPARED"},
    {"TRANS_STMT_ROLLBACK_PREPARED", DSQL_SQL_OTHER, "ROLLBACK PREPARED"},
};

/* Refuses every isolation level but one. */
static void check_isolation(struct dsql_sql_judge *judge, struct dsql_tree options)
{
    struct dsql_tree arg;
    char level[32];
    if (!dsql_sql_option(options, "transaction_isolation", &arg))
        return;
    arg = dsql_sql_literal(arg);
    if (dsql_tree_is(arg, "repeatable read"))
        return;
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, level, sizeof(level));
    dsql_tree_text(arg, &text);
    for (char *c = level; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    dsql_sql_judge_unsupported(judge, "Unsupported isolation level: %s", level);
}

void dsql_sql_check_transaction(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree kind = dsql_tree_get(stmt, "kind"), options = dsql_tree_get(stmt, "options");
    struct dsql_tree arg;
    int64_t read_only;
    for (size_t i = 0; i < DSQL_COUNT_OF(transactions); i++) {
        if (!dsql_tree_is(kind, transactions[i].node))
            continue;
        judge->stmt->kind = transactions[i].kind;
        if (transactions[i].refused)
            dsql_sql_judge_unsupported(judge, "unsupported transaction statement: %s",
                                       transactions[i].refused);
    }
    if (dsql_tree_true(dsql_tree_get(stmt, "chain")))
        dsql_sql_judge_unsupported(judge, "unsupported transaction statement: AND CHAIN");
    check_isolation(judge, options);
    if (dsql_sql_option(options, "transaction_read_only", &arg) && dsql_tree_int(arg, &read_only) &&
        read_only != 0)
        judge->stmt->flags |= DSQL_SQL_READ_ONLY;
}

void dsql_sql_check_setting(struct dsql_sql_judge *judge, struct dsql_tree name, bool local,
                            bool of_call)
{
    char memory[256];
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, memory, sizeof(memory));
    dsql_tree_text(name, &text);
    struct dsql_sql_refusal refusal;
    dsql_sql_setting_refuse(dsql_strbuf_span(&text), &refusal);
    refusal.of_call = of_call;
    switch (dsql_sql_setting(dsql_strbuf_span(&text))) {
    case DSQL_SQL_SETTING_FRONT:
        judge->stmt->flags |= DSQL_SQL_FRONT_SETTING;
        return;
    case DSQL_SQL_SETTING_ACCEPTED:
        return;
    case DSQL_SQL_SETTING_LOCAL_ONLY:
        refusal.when = local ? DSQL_SQL_OUTSIDE_BLOCK : DSQL_SQL_ALWAYS;
        break;
    case DSQL_SQL_SETTING_REFUSED:
        break;
    }
    dsql_sql_judge_add(judge, &refusal);
}

/* The first value of SET as text, whatever its type. */
static void keep_set_value(struct dsql_sql_judge *judge, struct dsql_tree args)
{
    struct dsql_tree first = dsql_tree_first(args);
    int64_t number;
    char text[32];
    if (dsql_tree_int(first, &number)) {
        (void)snprintf(text, sizeof(text), "\"%lld\"", (long long)number);
        dsql_sql_judge_value(judge, (struct dsql_tree){text});
        return;
    }
    dsql_sql_judge_value(judge, dsql_sql_literal(first));
}

/* What drivers send to state what holds anyway. */
static bool says_what_is(struct dsql_tree kind, struct dsql_tree name, struct dsql_tree args)
{
    struct dsql_tree level;
    if (dsql_tree_is(name, "session_authorization"))
        return dsql_tree_is(kind, "VAR_SET_DEFAULT") || dsql_tree_is(kind, "VAR_RESET");
    if (dsql_tree_is(name, "transaction_isolation"))
        return dsql_tree_is(kind, "VAR_RESET");
    return dsql_tree_is(name, "SESSION CHARACTERISTICS") && dsql_tree_count(args) == 1 &&
           dsql_sql_option(args, "transaction_isolation", &level);
}

/* READ ONLY or READ WRITE for the transactions to come, which PostgreSQL keeps as a setting. */
static bool says_read_only(struct dsql_tree name, struct dsql_tree args)
{
    struct dsql_tree mode;
    return dsql_tree_is(name, "SESSION CHARACTERISTICS") && dsql_tree_count(args) == 1 &&
           dsql_sql_option(args, "transaction_read_only", &mode);
}

void dsql_sql_check_set(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree kind = dsql_tree_get(stmt, "kind"), name = dsql_tree_get(stmt, "name");
    bool local = dsql_tree_true(dsql_tree_get(stmt, "is_local"));
    if (local)
        judge->stmt->flags |= DSQL_SQL_LOCAL;
    if (!dsql_tree_is(kind, "VAR_SET_VALUE") && !dsql_tree_is(kind, "VAR_SET_MULTI"))
        judge->stmt->flags |= DSQL_SQL_RESET;
    if (dsql_tree_is(kind, "VAR_RESET_ALL")) {
        if (!dsql_sql_judge_has(judge, DSQL_SQL_RESET_ALL_SINCE))
            dsql_sql_judge_unsupported(judge,
                                       "setting configuration parameter \"ALL\" not supported");
        return;
    }
    dsql_sql_judge_name(judge, name);
    struct dsql_tree args = dsql_tree_get(stmt, "args");
    keep_set_value(judge, args);
    check_isolation(judge, args); /* of SET TRANSACTION, which carries options instead of a value */
    if (says_what_is(kind, name, args))
        judge->stmt->flags |= DSQL_SQL_FRONT_SETTING;
    else if (!says_read_only(name, args))
        dsql_sql_check_setting(judge, name, local, false);
}

void dsql_sql_check_role_set(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree set = dsql_tree_get(stmt, "setstmt");
    judge->stmt->flags |= DSQL_SQL_ROLE_SETS;
    if (!dsql_tree_is(dsql_tree_get(set, "kind"), "VAR_RESET_ALL"))
        dsql_sql_check_setting(judge, dsql_tree_get(set, "name"), false, false);
}

void dsql_sql_check_show(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree name = dsql_tree_get(stmt, "name");
    dsql_sql_judge_name(judge, name);
    if (judge->stmt->name &&
        dsql_sql_setting(dsql_span_of(judge->stmt->name)) == DSQL_SQL_SETTING_FRONT)
        judge->stmt->flags |= DSQL_SQL_FRONT_SETTING;
    if (dsql_tree_is(name, "lc_collate"))
        dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, "42704",
                              "unrecognized configuration parameter \"lc_collate\"");
}

void dsql_sql_check_copy(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    bool in = dsql_tree_true(dsql_tree_get(stmt, "is_from"));
    judge->stmt->kind = in ? DSQL_SQL_COPY_IN : DSQL_SQL_COPY_OUT;
    if (in)
        judge->stmt->flags |= DSQL_SQL_WRITES;
    if (dsql_tree_get(stmt, "filename").ptr)
        dsql_sql_judge_unsupported(judge, "COPY with a file or program not supported");
}

void dsql_sql_check_prepare(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    dsql_sql_judge_name(judge, dsql_tree_get(stmt, "name"));
    judge->stmt->inner = dsql_sql_judge_inner(judge, dsql_tree_get(stmt, "query"));
}

void dsql_sql_check_name(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    dsql_sql_judge_name(judge, dsql_tree_get(stmt, "name"));
}

void dsql_sql_check_explain(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree analyze;
    if (dsql_sql_option(dsql_tree_get(stmt, "options"), "analyze", &analyze) &&
        dsql_sql_option_true(analyze))
        judge->stmt->flags |= DSQL_SQL_EXPLAIN_RUNS;
    judge->stmt->inner = dsql_sql_judge_inner(judge, dsql_tree_get(stmt, "query"));
    if (judge->stmt->inner == DSQL_SQL_EXECUTE)
        dsql_sql_judge_unsupported(judge, "unsupported statement: Execute");
}

/* 26 characters of lower-case base32. */
static bool is_job_id(const char *id)
{
    return strlen(id) == 26 && strspn(id, "abcdefghijklmnopqrstuvwxyz234567") == 26;
}

void dsql_sql_check_call(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    struct dsql_tree call = dsql_tree_get(stmt, "funccall");
    struct dsql_tree first = dsql_tree_first(dsql_tree_get(call, "funcname"));
    struct dsql_tree second = dsql_tree_next(first);
    dsql_sql_judge_name(judge, dsql_tree_string(second.ptr ? second : first));
    dsql_sql_judge_value(judge, dsql_sql_literal(dsql_tree_first(dsql_tree_get(call, "args"))));
    if (!dsql_tree_is(dsql_tree_string(first), "sys") ||
        !dsql_tree_is(dsql_tree_string(second), "wait_for_job"))
        return;
    judge->stmt->flags |= DSQL_SQL_WAIT_FOR_JOB;
    if (judge->stmt->value && !is_job_id(judge->stmt->value))
        dsql_sql_judge_refuse(judge, DSQL_SQL_ALWAYS, "22P02", "Unable to convert text to UUID");
}

void dsql_sql_check_vacuum(struct dsql_sql_judge *judge, struct dsql_tree stmt)
{
    if (dsql_tree_true(dsql_tree_get(stmt, "is_vacuumcmd")))
        dsql_sql_judge_unsupported(judge, "unsupported VACUUM statement");
    else
        dsql_sql_judge_refuse(judge, DSQL_SQL_IN_BLOCK, "25001",
                              "ANALYZE cannot run inside a transaction block");
}

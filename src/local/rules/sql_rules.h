/*
 * The rules, one check for each statement that needs more than its row in sql_rules.def. Internal
 * to the sql_*.c files; the front sees what they find in struct dsql_sql_stmt.
 */
#ifndef DSQL_LOCAL_SQL_RULES_H
#define DSQL_LOCAL_SQL_RULES_H

#include "local/rules/sql_dialect.h"
#include "local/rules/sql_stmt.h"
#include "local/rules/sql_tree.h"

/* One statement while it is judged. */
struct dsql_sql_judge {
    struct dsql_sql_stmt *stmt;
    struct dsql_sql_dialect dialect;
    bool async;       /* the scanner took ASYNC out of it */
    bool index_using; /* CREATE INDEX ... USING */
    bool out_of_memory;
};

/* Whether the service knew it by the day of the dialect. */
static inline bool dsql_sql_judge_has(const struct dsql_sql_judge *judge,
                                      enum dsql_sql_feature feature)
{
    return dsql_sql_dialect_has(judge->dialect, feature);
}

/* Judges a Node: fills the statement's kind, flags, names and refusals. */
void dsql_sql_judge(struct dsql_sql_judge *judge, struct dsql_tree node);

/* Judges a Node inside another statement: its refusals count, its kind is given back. */
enum dsql_sql_kind dsql_sql_judge_inner(struct dsql_sql_judge *judge, struct dsql_tree node);

/* Adds a refusal. After the first unconditional one, further ones do not count. */
void dsql_sql_judge_refuse(struct dsql_sql_judge *judge, enum dsql_sql_when when,
                           const char *sqlstate, const char *fmt, ...) DSQL_PRINTF(4, 5);
void dsql_sql_judge_add(struct dsql_sql_judge *judge, const struct dsql_sql_refusal *refusal);

/* Most refusals: always, 0A000. */
#define dsql_sql_judge_unsupported(judge, ...)                                                     \
    dsql_sql_judge_refuse((judge), DSQL_SQL_ALWAYS, "0A000", __VA_ARGS__)

/* Sets the statement's name or value to a decoded string of the tree; an absent one leaves it. */
void dsql_sql_judge_name(struct dsql_sql_judge *judge, struct dsql_tree string);
void dsql_sql_judge_value(struct dsql_sql_judge *judge, struct dsql_tree string);

/* Remembers a table. */
void dsql_sql_judge_table(struct dsql_sql_judge *judge, struct dsql_tree schema,
                          struct dsql_tree name);

/* The string of a literal (A_Const), or an absent value. */
struct dsql_tree dsql_sql_literal(struct dsql_tree node);

/* The argument of the option of that name in a list of DefElem. False if it is not in the list. */
bool dsql_sql_option(struct dsql_tree options, const char *name, struct dsql_tree *arg);

/* An option's truth: no argument, a non-zero number, or true/on. */
bool dsql_sql_option_true(struct dsql_tree arg);

/* What may occur anywhere in a statement: locking clauses, functions, TABLESAMPLE, SELECT INTO.
 * Also finds out which tables it names and whether it writes. */
void dsql_sql_check_query(struct dsql_sql_judge *judge, struct dsql_tree node);

/* The checks of sql_rules.def. They get the inner object of the Node. */
typedef void dsql_sql_check_fn(struct dsql_sql_judge *judge, struct dsql_tree stmt);

/* sql_session_rules.c */
dsql_sql_check_fn dsql_sql_check_transaction, dsql_sql_check_set, dsql_sql_check_show,
    dsql_sql_check_role_set, dsql_sql_check_copy, dsql_sql_check_prepare, dsql_sql_check_name,
    dsql_sql_check_call, dsql_sql_check_explain, dsql_sql_check_vacuum;

/* Whether set_config or SET may set a parameter. */
void dsql_sql_check_setting(struct dsql_sql_judge *judge, struct dsql_tree name, bool local,
                            bool of_call);

/* sql_table_rules.c; identity gets a Constraint, column a ColumnDef */
dsql_sql_check_fn dsql_sql_check_create_table, dsql_sql_check_index, dsql_sql_check_sequence,
    dsql_sql_check_column, dsql_sql_check_identity;

/* sql_alter_rules.c */
dsql_sql_check_fn dsql_sql_check_alter_table;

/* sql_ddl_rules.c */
dsql_sql_check_fn dsql_sql_check_view, dsql_sql_check_schema, dsql_sql_check_domain,
    dsql_sql_check_alter_domain, dsql_sql_check_function, dsql_sql_check_alter_function,
    dsql_sql_check_drop, dsql_sql_check_rename, dsql_sql_check_grant, dsql_sql_check_statistics;

#endif

/*
 * What the service calls its indexes and shows of them: the access method btree_index, and a
 * primary key that carries all other columns of the table. PostgreSQL's btree has that name in the
 * catalogue here (first_sql.c), and what is listed as btree is that of no index; where PostgreSQL
 * looks for btree by its own name, it is helped.
 */
#ifndef DSQL_LOCAL_MODULE_INDEXES_H
#define DSQL_LOCAL_MODULE_INDEXES_H

#include "local/module/module.h"

#include <nodes/parsenodes.h>

/* A CREATE INDEX, also for a constraint of CREATE TABLE, names the access method as it is called
 * here. */
void dsql_indexes_name_method(IndexStmt *statement);

/* Refuses a column whose type can't be in a key on the service. For a table that exists: those of
 * CREATE TABLE are judged by its text. */
void dsql_indexes_check_keys(const IndexStmt *statement);

/* Whether the statement makes a constraint of an index, for which PostgreSQL looks for btree. */
bool dsql_indexes_looks_for_btree(const Node *statement);

/* Gives the access method PostgreSQL's own name, for this transaction and until it is taken back.
 */
void dsql_indexes_lend_name(void);
void dsql_indexes_take_back_name(void);

#endif

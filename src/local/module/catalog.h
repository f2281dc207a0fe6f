/*
 * Changes of the catalogue: a transaction that ran DDL says so when it commits, by a parameter that
 * PostgreSQL reports to the front before the answer goes out. The front does the rest.
 */
#ifndef DSQL_LOCAL_MODULE_CATALOG_H
#define DSQL_LOCAL_MODULE_CATALOG_H

void dsql_catalog_init(void);

/* This transaction changes the catalogue. */
void dsql_catalog_touch(void);

/* The transaction commits, or is over. */
void dsql_catalog_commit(void);
void dsql_catalog_forget(void);

#endif

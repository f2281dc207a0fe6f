#ifndef DSQL_LOCAL_MODULE_TABLE_AM_H
#define DSQL_LOCAL_MODULE_TABLE_AM_H

/* Makes the access method out of PostgreSQL's heap; once, when the module is loaded. */
void dsql_table_am_init(void);

#endif

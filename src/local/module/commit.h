#ifndef DSQL_LOCAL_MODULE_COMMIT_H
#define DSQL_LOCAL_MODULE_COMMIT_H

/* Watches the ends of transactions. */
void dsql_commit_init(void);

#endif

/*
 * A forked child has its parent's memory but not its threads and locks: what the parent made is not
 * the child's. An object with such things remembers the dsql_fork_generation of its making, and
 * compares.
 */
#ifndef DSQL_BASE_FORK_H
#define DSQL_BASE_FORK_H

extern unsigned dsql_fork_generation; /* how often the process was forked to get here */

/* Forks count from now on. Each child also calls forget(), unless it is NULL; to be said once for
 * each such function. */
void dsql_fork_watch(void (*forget)(void));

#endif

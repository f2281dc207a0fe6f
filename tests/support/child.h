/* What ends the program is tried in a child process. */
#ifndef DSQL_TESTS_CHILD_H
#define DSQL_TESTS_CHILD_H

#include <stdbool.h>

/* Whether an assertion ends a process that calls this. Without threads of the caller's. */
bool child_aborts(void (*call)(void *arg), void *arg);

#endif

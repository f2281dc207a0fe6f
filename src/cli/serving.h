/* What the commands that serve until they are told to end have in common. */
#ifndef DSQL_CLI_SERVING_H
#define DSQL_CLI_SERVING_H

#include <signal.h>

/* SIGTERM and SIGINT call end(), the signal `number` calls other(); each peer has a descriptor, and
 * one that goes away ends nothing. Before the first descriptor is opened. */
void dsql_serving_prepare(void (*end)(int), int number, void (*other)(int));

#endif

/*
 * The box: what keeps SQL away from the machine, whatever way it takes (a query, a prepared
 * statement, the body of a function, a function-call message) and in whose session it runs. The box
 * holds for every session of a PostgreSQL that serves connections, the endpoint's own included;
 * only single-user mode, in which the cluster is made, is outside.
 *
 *     box.c            statements: those that Aurora DSQL has pass, with exceptions
 *     box_roles.c      statements about roles: none of PostgreSQL's own or of ours can be had
 *     box_functions.c  functions of PostgreSQL that reach files, other sessions or the server
 *     box_objects.c    objects that no client makes or changes
 *     box_settings.c   settings that a client may change
 *     gate.c           who may connect
 *
 * A refusal here is 42501 in words of PostgreSQL's kind. The service's own words are the front's,
 * which has judged the text before.
 */
#ifndef DSQL_LOCAL_MODULE_BOX_H
#define DSQL_LOCAL_MODULE_BOX_H

#include "local/module/module.h"

#include <nodes/parsenodes.h>

/* Installs the hooks; called once, in the postmaster. */
void dsql_box_init(void);
void dsql_box_functions_init(void);
void dsql_box_objects_init(void);
void dsql_box_settings_init(void);

/* Whether the endpoint itself asks. The session alone does not say so: ANALYZE, also autovacuum's,
 * runs clients' functions (of indexes, of statistics) in the superuser's session, as the owner. */
bool dsql_box_is_endpoint(void);

/* Refuses with 42501: what is not possible in dsql local. */
void dsql_box_refuse(const char *what) pg_attribute_noreturn();

/* Refuses a utility statement that must not run. */
void dsql_box_check_statement(Node *statement);

/* The part of it that is about roles; nothing for other statements. */
void dsql_box_check_roles(Node *statement);

/* Refuses a function of PostgreSQL that reaches out of the box. */
void dsql_box_check_function(Oid function);

#endif

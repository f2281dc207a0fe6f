/* What the table of commands looks like to people: help texts, man pages, completion. */
#ifndef DSQL_CLI_HELP_H
#define DSQL_CLI_HELP_H

#include "cli/command.h"

/* The lists of commands and references. */
void dsql_help_overview(FILE *out);

/* The list of references that `dsql help` has beside the commands. */
void dsql_help_list_references(FILE *out);

/* The words of commands' names that may come next, each with a blank behind it: after nothing the
 * first words, each once; after "local" the second words of those that begin with it. */
void dsql_help_list_names(FILE *out, struct dsql_span first_word);

/* `dsql NAME --help`. */
void dsql_help_command(FILE *out, const struct dsql_command *command);

/* Writes dsql.1 and dsql-NAME.1 into a folder that exists. */
DSQL_MUST_USE enum dsql_rc dsql_help_write_pages(const char *folder, struct dsql_err *err);

/* The completion script for bash. */
void dsql_help_bash(FILE *out);

/* Prints text indented and filled to 80 columns; blank lines and lines that start with a blank
 * stay. */
void dsql_help_fill(FILE *out, int indent, const char *text);

#endif

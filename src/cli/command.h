/*
 * cli: the one binary, a file for each command.
 *
 *     main.c, commands.c, args.c          the table of commands, and the option parser
 *     cmd_*.c                             a command each
 *     help.c, man_page.c, reference.c     what the tables look like to people
 *     up_*.c, local_*.c, proxy_*.c, doctor_*.c    parts of these commands
 *     httpd.c, http_host.c, pages.c, status*.c, serving.c    the HTTP endpoint and its pages
 *     alerts.c, dashboard.c, promql.c     what Prometheus and Grafana read
 *     cluster.c, fetch_keys.c, schema_connect.c   which cluster, whose keys, a connection
 *     trace_file.c                        a recording as memory
 *
 * This header is the shape of the table that the option parser, `--help`, the man pages and shell
 * completion all read.
 */
#ifndef DSQL_CLI_COMMAND_H
#define DSQL_CLI_COMMAND_H

#include <stdio.h>

#include "base/span.h"

/* What the process ends with. */
enum { DSQL_EXIT_OK = 0, DSQL_EXIT_FAILED = 1, DSQL_EXIT_USAGE = 2 };

enum { DSQL_COMMAND_OPTIONS_MAX = 32, DSQL_COMMAND_ARGS_MAX = 256 };

struct dsql_option {
    const char *name;  /* without the dashes */
    char letter;       /* the short form, or 0 */
    const char *value; /* the placeholder of its value; NULL for a switch */
    const char *doc;
};

struct dsql_args;

struct dsql_command {
    /* "config"; a command of two words stands as "local exec", and its first word is a command
     * too: one that runs by itself, or a group, which only shows what follows it. */
    const char *name;
    const char *operands; /* as shown in the synopsis; NULL if none */
    const char *summary;  /* one line */
    const char *text;     /* paragraphs for --help and the man page, separated by blank lines */
    size_t operands_min, operands_max;
    const char *operand_words; /* what completion offers for an operand, separated by blanks */
    /* Prints such words where a table holds them, each with a blank behind it; may be NULL. */
    void (*list_operands)(FILE *out);
    const struct dsql_option *options; /* DSQL_COMMAND_OPTIONS() */
    size_t option_count;
    /* Prints what `dsql help NAME` and the man page show below the options; may be NULL. */
    void (*reference)(FILE *out);
    /* How much its log tells unless DSQL_LOG_LEVEL says otherwise: "info"; NULL for nothing, as for
     * all that end with what they have to say. */
    const char *log_level;
    int (*run)(const struct dsql_args *args); /* NULL for a group */
};

#define DSQL_COMMAND_OPTIONS(table) .options = (table), .option_count = DSQL_COUNT_OF(table)

/* The parsed command line. Everything points into argv. */
struct dsql_args {
    const struct dsql_command *command;
    const char
        *values[DSQL_COMMAND_OPTIONS_MAX]; /* by place in the command's table; NULL if not given */
    const char *operands[DSQL_COMMAND_ARGS_MAX];
    size_t operand_count;
};

/* Says on standard error what went wrong and what to do, and gives the exit status for it. */
int dsql_complain(const struct dsql_err *err);

/* Says on standard error which settings are not as they were set. */
struct dsql_config_report;
void dsql_complain_of_settings(const struct dsql_config_report *report);

/* Prints a JSON string on standard output, quotes included. */
void dsql_print_json(struct dsql_span text);

extern const struct dsql_command *const dsql_commands[];
extern const size_t dsql_command_count;

/*
 * The command the words argv[0..argc) begin with, the longest name if several do; *words counts the
 * words of that name. NULL if there is none; then *words is 0 and *err, which may be NULL, names
 * the nearest.
 */
const struct dsql_command *dsql_command_find(const struct dsql_command *const *commands,
                                             size_t count, int argc, const char *const *argv,
                                             int *words, struct dsql_err *err);

/* The second word of a command whose first one is this command's whole name; "" if it is none. */
struct dsql_span dsql_command_under(const struct dsql_command *command,
                                    const struct dsql_command *other);

/* A word after a command's name that does not belong there; *err names the nearest that does. */
enum dsql_rc dsql_command_unexpected(const struct dsql_command *command, const char *word,
                                     struct dsql_err *err);

/* Reads the words after the command's name. On failure *err is the one line to show, and *args is
 * untouched. */
DSQL_MUST_USE enum dsql_rc dsql_args_parse(const struct dsql_command *command, int argc,
                                           const char *const *argv, struct dsql_args *args,
                                           struct dsql_err *err);

/* The value given for an option ("" for a switch), or NULL. The option is in the command's table.
 */
const char *dsql_args_get(const struct dsql_args *args, const char *name);

/* The value given for an option: a text that is not empty and fits into size bytes, a number or a
 * duration within the range. An option that is not given leaves *out untouched. DSQL_INVALID
 * otherwise. */
DSQL_MUST_USE enum dsql_rc dsql_args_text(const struct dsql_args *args, const char *name, char *out,
                                          size_t size, struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc dsql_args_number(const struct dsql_args *args, const char *name,
                                            int64_t low, int64_t high, int64_t *out,
                                            struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc dsql_args_duration(const struct dsql_args *args, const char *name,
                                              int64_t low_ns, int64_t high_ns, int64_t *out_ns,
                                              struct dsql_err *err);

static inline bool dsql_args_has(const struct dsql_args *args, const char *name)
{
    return dsql_args_get(args, name) != NULL;
}

#endif

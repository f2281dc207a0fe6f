#include "base/nearest.h"
#include "base/shown.h"
#include "base/strbuf.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/reference.h"

static const struct dsql_topic *find_topic(const char *name)
{
    for (size_t i = 0; i < dsql_topic_count; i++)
        if (dsql_span_eq(dsql_span_of(name), dsql_span_of(dsql_topics[i].name)))
            return &dsql_topics[i];
    return NULL;
}

static enum dsql_rc unknown_name(const char *typed, struct dsql_err *err)
{
    struct dsql_nearest nearest = {.typed = dsql_span_of(typed)};
    for (size_t i = 0; i < dsql_command_count; i++)
        dsql_nearest_see(&nearest, dsql_commands[i]->name);
    for (size_t i = 0; i < dsql_topic_count; i++)
        dsql_nearest_see(&nearest, dsql_topics[i].name);
    if (nearest.name)
        return dsql_err_set(err, DSQL_INVALID,
                            "'%s' is no command and no reference; did you mean 'dsql help %s'?",
                            dsql_shown_str(typed).text, nearest.name);
    return dsql_err_set(err, DSQL_INVALID,
                        "'%s' is no command and no reference; 'dsql help' lists them",
                        dsql_shown_str(typed).text);
}

/* --markdown is for the references alone, whatever commands share their names. */
static enum dsql_rc markdown_only(const struct dsql_topic *topic, struct dsql_err *err)
{
    if (topic)
        return DSQL_OK;
    char memory[128];
    struct dsql_strbuf names;
    dsql_strbuf_init(&names, memory, sizeof(memory));
    for (size_t i = 0; i < dsql_topic_count; i++)
        dsql_strbuf_addf(&names, "%s%s", i ? " | " : "", dsql_topics[i].name);
    return dsql_err_set(err, DSQL_INVALID, "--markdown goes with a reference: dsql help %s",
                        names.ptr);
}

static enum dsql_rc show(const struct dsql_args *args, struct dsql_err *err)
{
    const char *name = args->operand_count > 0 ? args->operands[0] : NULL;
    const struct dsql_topic *topic = name ? find_topic(name) : NULL;
    bool markdown = dsql_args_has(args, "markdown");
    enum dsql_rc rc = markdown ? markdown_only(topic, err) : DSQL_OK;
    if (rc)
        return rc;
    if (!name) {
        dsql_help_overview(stdout);
        return DSQL_OK;
    }
    int words;
    const struct dsql_command *command = dsql_command_find(
        dsql_commands, dsql_command_count, (int)args->operand_count, args->operands, &words, NULL);
    if (!command && !topic)
        return unknown_name(name, err);
    size_t used = command && !markdown ? (size_t)words : 1;
    if (used < args->operand_count && command && !markdown)
        return dsql_command_unexpected(command, args->operands[used], err);
    if (used < args->operand_count)
        return dsql_err_set(err, DSQL_INVALID, "'dsql help %s' does not expect '%s'", name,
                            dsql_shown_str(args->operands[used]).text);
    if (markdown)
        topic->markdown(stdout);
    else if (command)
        dsql_help_command(stdout, command);
    else
        topic->plain(stdout);
    return DSQL_OK;
}

static int run(const struct dsql_args *args)
{
    struct dsql_err err;
    const char *folder = dsql_args_get(args, "man-pages");
    enum dsql_rc rc;
    if (!folder)
        rc = show(args, &err);
    else if (args->operand_count > 0 || dsql_args_has(args, "markdown"))
        rc = dsql_err_set(&err, DSQL_INVALID, "--man-pages writes all pages: it stands alone");
    else
        rc = dsql_help_write_pages(folder, &err);
    return rc ? dsql_complain(&err) : DSQL_EXIT_OK;
}

static void list_operands(FILE *out)
{
    dsql_help_list_names(out, DSQL_SPAN(""));
    for (size_t i = 0; i < dsql_topic_count; i++) {
        int words;
        if (!dsql_command_find(dsql_commands, dsql_command_count, 1, &dsql_topics[i].name, &words,
                               NULL))
            fprintf(out, "%s ", dsql_topics[i].name);
    }
}

static const struct dsql_option options[] = {
    {"markdown", 0, NULL, "print a reference as Markdown"},
    {"man-pages", 0, "DIR", "write the man pages of all commands into DIR"},
};

const struct dsql_command dsql_cmd_help = {
    .name = "help",
    .operands = "[COMMAND | REFERENCE]",
    .summary = "show the commands, one of them, or a reference",
    .text =
        "Without an operand, lists the commands and the references. With the name of a command,\n"
        "explains it; with the name of a reference, prints it.",
    .operands_max = 2,
    .list_operands = list_operands,
    DSQL_COMMAND_OPTIONS(options),
    .reference = dsql_help_list_references,
    .run = run,
};

/* The table of commands as man pages, in mdoc's older sibling man(7), which every reader knows. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/shown.h"
#include "cli/help.h"
#include "cli/reference.h"
#include "dsql/version.h"

/* Text with what roff would take for its own made harmless. */
static void add_text(FILE *out, struct dsql_span s)
{
    bool line_start = true;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (line_start && (c == '.' || c == '\''))
            fputs("\\&", out);
        if (c == '\\')
            fputs("\\e", out);
        else if (c == '-')
            fputs("\\-", out);
        else
            fputc(c, out);
        line_start = c == '\n';
    }
}

static void add_str(FILE *out, const char *text)
{
    add_text(out, dsql_span_of(text));
}

static void add_name(FILE *out, const char *name)
{
    for (; *name; name++)
        fputs(*name == ' ' || *name == '-' ? "\\-" : (char[]){*name, '\0'}, out);
}

/* Blank lines become paragraphs. */
static void add_paragraphs(FILE *out, const char *text)
{
    struct dsql_span rest = dsql_span_of(text), line;
    bool more = true;
    while (more) {
        more = dsql_span_cut(rest, '\n', &line, &rest);
        bool verbatim = line.len > 0 && line.ptr[0] == ' ';
        if (line.len == 0) {
            fputs(".PP\n", out);
            continue;
        }
        fputs(verbatim ? ".RS\n.nf\n" : "", out);
        add_text(out, dsql_span_trim(line));
        fputs(verbatim ? "\n.fi\n.RE\n" : "\n", out);
    }
}

static void add_header(FILE *out, const char *upper_name)
{
    fprintf(out, ".TH \"%s\" \"1\" \"\" \"libdsql %s\" \"libdsql\"\n.SH NAME\n", upper_name,
            dsql_version());
}

/* What `dsql help NAME` prints below the options, as it stands. */
static void add_reference(FILE *out, const struct dsql_command *command)
{
    char *text = NULL;
    size_t len = 0;
    FILE *memory = command->reference ? open_memstream(&text, &len) : NULL;
    if (!memory)
        return;
    command->reference(memory);
    if (fclose(memory) == 0) {
        fputs(".SH REFERENCE\n.nf\n", out);
        add_text(out, (struct dsql_span){text, len});
        fputs(".fi\n", out);
    }
    free(text);
}

static void add_list_item(FILE *out, const struct dsql_command *command)
{
    fputs(".TP\n.B dsql\\-", out);
    add_name(out, command->name);
    fputs("(1)\n", out);
    add_str(out, command->summary);
    fputc('\n', out);
}

static void add_commands_under(FILE *out, const struct dsql_command *command)
{
    bool any = false;
    for (size_t i = 0; i < dsql_command_count; i++) {
        if (dsql_command_under(command, dsql_commands[i]).len == 0)
            continue;
        fputs(any ? "" : ".SH COMMANDS\n", out);
        add_list_item(out, dsql_commands[i]);
        any = true;
    }
}

static void command_page(FILE *out, const struct dsql_command *command)
{
    char title[64];
    (void)snprintf(title, sizeof(title), "dsql-%s", command->name);
    for (char *c = title; *c; c++)
        *c = *c == ' ' ? '-' : *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    add_header(out, title);
    fputs("dsql\\-", out);
    add_name(out, command->name);
    fputs(" \\- ", out);
    add_str(out, command->summary);
    fputs("\n.SH SYNOPSIS\n.B dsql ", out);
    add_str(out, command->name);
    fputc('\n', out);
    if (!command->run)
        fputs(".I COMMAND\n", out);
    if (command->option_count > 0 || !command->run)
        fputs(".RI [ OPTION... ]\n", out);
    if (command->operands) {
        add_str(out, command->operands);
        fputc('\n', out);
    }
    fputs(".SH DESCRIPTION\n", out);
    add_paragraphs(out, command->text);
    add_commands_under(out, command);
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; i < command->option_count; i++) {
        const struct dsql_option *option = &command->options[i];
        fputs(".TP\n.B \\-\\-", out);
        add_name(out, option->name);
        if (option->value) {
            fputc('=', out);
            add_str(out, option->value);
        }
        if (option->letter)
            fprintf(out, ", \\-%c", option->letter);
        fputc('\n', out);
        add_str(out, option->doc);
        fputc('\n', out);
    }
    fputs(".TP\n.B \\-\\-help\nShow this help and end.\n", out);
    add_reference(out, command);
    fputs(".SH EXIT STATUS\n0 on success, 1 on failure, 2 when the command line is wrong.\n"
          ".SH SEE ALSO\n.BR dsql (1)\n",
          out);
}

static void overview_page(FILE *out)
{
    add_header(out, "DSQL");
    fputs("dsql \\- tools for Amazon Aurora DSQL\n"
          ".SH SYNOPSIS\n.B dsql\n.I COMMAND\n.RI [ OPTION... ]\n"
          ".SH DESCRIPTION\nTools around libdsql, a client library for Amazon Aurora DSQL in C.\n"
          ".SH COMMANDS\n",
          out);
    for (size_t i = 0; i < dsql_command_count; i++)
        add_list_item(out, dsql_commands[i]);
    fputs(".SH REFERENCES\n", out);
    for (size_t i = 0; i < dsql_topic_count; i++) {
        fputs(".TP\n.B dsql help ", out);
        add_name(out, dsql_topics[i].name);
        fputc('\n', out);
        add_str(out, dsql_topics[i].summary);
        fputc('\n', out);
    }
    fputs(".SH EXIT STATUS\n0 on success, 1 on failure, 2 when the command line is wrong.\n", out);
}

static enum dsql_rc write_page(const char *folder, const char *name,
                               const struct dsql_command *command, struct dsql_err *err)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof(path), "%s/%s.1", folder, name);
    if (len < 0 || (size_t)len >= sizeof(path))
        return dsql_err_set(err, DSQL_INVALID, "the path %s is too long",
                            dsql_shown_str(folder).text);
    for (char *c = path + len - (int)strlen(name) - 2; *c; c++)
        *c = *c == ' ' ? '-' : *c;
    FILE *out = fopen(path, "w");
    if (!out)
        return dsql_err_set(err, DSQL_IO, "can't write %s: %s", dsql_shown_str(path).text,
                            strerror(errno));
    if (command)
        command_page(out, command);
    else
        overview_page(out);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed)
        return dsql_err_set(err, DSQL_IO, "can't write %s: %s", dsql_shown_str(path).text,
                            strerror(errno));
    return DSQL_OK;
}

enum dsql_rc dsql_help_write_pages(const char *folder, struct dsql_err *err)
{
    enum dsql_rc rc = write_page(folder, "dsql", NULL, err);
    for (size_t i = 0; i < dsql_command_count && !rc; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "dsql-%s", dsql_commands[i]->name);
        rc = write_page(folder, name, dsql_commands[i], err);
    }
    return rc;
}

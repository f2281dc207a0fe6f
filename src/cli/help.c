#include "cli/help.h"

#include "cli/reference.h"

enum { COLUMNS = 80, OPTION_INDENT = 4, OPTION_DOC_INDENT = 8 };

/* Adds the words of a line to the paragraph; *column is where it stands, 0 at its start. */
static void fill_line(FILE *out, int indent, struct dsql_span line, int *column)
{
    struct dsql_span word;
    bool more = true;
    while (more) {
        more = dsql_span_cut(line, ' ', &word, &line);
        if (*column > 0 && *column + 1 + (int)word.len > COLUMNS) {
            fputc('\n', out);
            *column = 0;
        }
        *column += fprintf(out, "%*s%.*s", *column ? 1 : indent, "", DSQL_SPAN_ARG(word));
    }
}

void dsql_help_fill(FILE *out, int indent, const char *text)
{
    struct dsql_span rest = dsql_span_of(text), line;
    int column = 0;
    bool more = true;
    while (more) {
        more = dsql_span_cut(rest, '\n', &line, &rest);
        bool verbatim = line.len == 0 || line.ptr[0] == ' ';
        if (verbatim && column > 0) {
            fputc('\n', out);
            column = 0;
        }
        if (verbatim)
            fprintf(out, "%.*s\n", DSQL_SPAN_ARG(line));
        else
            fill_line(out, indent, line, &column);
    }
    if (column > 0)
        fputc('\n', out);
}

static void list_row(FILE *out, const char *name, const char *summary)
{
    fprintf(out, "  %-20s  %s\n", name, summary);
}

void dsql_help_list_references(FILE *out)
{
    fputs("References, 'dsql help REFERENCE':\n\n", out);
    for (size_t i = 0; i < dsql_topic_count; i++)
        list_row(out, dsql_topics[i].name, dsql_topics[i].summary);
}

void dsql_help_overview(FILE *out)
{
    fputs("Usage: dsql COMMAND [OPTION...]\n\n", out);
    fputs("Tools for Amazon Aurora DSQL. Commands; 'dsql help COMMAND' says more:\n\n", out);
    for (size_t i = 0; i < dsql_command_count; i++)
        if (dsql_commands[i]->run) /* of a group stand those that do something */
            list_row(out, dsql_commands[i]->name, dsql_commands[i]->summary);
    fputc('\n', out);
    dsql_help_list_references(out);
}

/* The commands that begin with this one's name, where there are any. */
static void list_under(FILE *out, const struct dsql_command *command)
{
    bool any = false;
    for (size_t i = 0; i < dsql_command_count; i++) {
        if (dsql_command_under(command, dsql_commands[i]).len == 0)
            continue;
        if (!any)
            fprintf(out, "\n%s 'dsql help %s COMMAND' says more:\n\n",
                    command->run ? "Further commands;" : "Commands;", command->name);
        list_row(out, dsql_commands[i]->name, dsql_commands[i]->summary);
        any = true;
    }
}

static void add_synopsis(FILE *out, const struct dsql_command *command)
{
    if (!command->run) {
        fprintf(out, "dsql %s COMMAND [OPTION...]", command->name);
        return;
    }
    fprintf(out, "dsql %s%s%s%s", command->name, command->option_count ? " [OPTION...]" : "",
            command->operands ? " " : "", command->operands ? command->operands : "");
}

void dsql_help_command(FILE *out, const struct dsql_command *command)
{
    fputs("Usage: ", out);
    add_synopsis(out, command);
    fputs("\n\n", out);
    dsql_help_fill(out, 0, command->text);
    list_under(out, command);
    if (command->option_count > 0)
        fputs("\nOptions:\n", out);
    for (size_t i = 0; i < command->option_count; i++) {
        const struct dsql_option *option = &command->options[i];
        fprintf(out, "%*s--%s%s%s", OPTION_INDENT, "", option->name, option->value ? "=" : "",
                option->value ? option->value : "");
        if (option->letter)
            fprintf(out, ", -%c", option->letter);
        fputc('\n', out);
        dsql_help_fill(out, OPTION_DOC_INDENT, option->doc);
    }
    if (command->reference) {
        fputc('\n', out);
        command->reference(out);
    }
}

/* "local" and "exec" of "local exec". False if the name is a single word. */
static bool split_name(size_t command, struct dsql_span *first, struct dsql_span *second)
{
    return dsql_span_cut(dsql_span_of(dsql_commands[command]->name), ' ', first, second);
}

/* Whether a command before this one in the table begins with the same word. */
static bool first_word_is_repeated(size_t command)
{
    struct dsql_span mine, other, rest;
    split_name(command, &mine, &rest);
    for (size_t i = 0; i < command; i++) {
        split_name(i, &other, &rest);
        if (dsql_span_eq(mine, other))
            return true;
    }
    return false;
}

void dsql_help_list_names(FILE *out, struct dsql_span first_word)
{
    struct dsql_span first, second;
    for (size_t i = 0; i < dsql_command_count; i++) {
        bool two_words = split_name(i, &first, &second);
        if (first_word.len == 0 && !first_word_is_repeated(i))
            fprintf(out, "%.*s ", DSQL_SPAN_ARG(first));
        if (first_word.len > 0 && two_words && dsql_span_eq(first, first_word))
            fprintf(out, "%.*s ", DSQL_SPAN_ARG(second));
    }
}

/* What may follow the whole name of a command. */
static void list_arguments(FILE *out, const struct dsql_command *command)
{
    fprintf(out, "%s%s", command->operand_words ? command->operand_words : "",
            command->operand_words ? " " : "");
    if (command->list_operands)
        command->list_operands(out);
    fputs("--help", out);
    for (size_t k = 0; k < command->option_count; k++)
        fprintf(out, " --%s%s", command->options[k].name, command->options[k].value ? "=" : "");
}

/* After the first word of commands with two, that word being a command itself or not. */
static void bash_second_words(FILE *out, size_t command)
{
    struct dsql_span first, second;
    if (!split_name(command, &first, &second))
        return;
    fprintf(out, "    ' help %.*s ') offered='", DSQL_SPAN_ARG(first));
    dsql_help_list_names(out, first);
    fprintf(out, "' ;;\n    ' %.*s ') offered='", DSQL_SPAN_ARG(first));
    dsql_help_list_names(out, first);
    for (size_t i = 0; i < dsql_command_count; i++)
        if (dsql_span_eq(dsql_span_of(dsql_commands[i]->name), first))
            list_arguments(out, dsql_commands[i]);
    fputs("' ;;\n", out);
}

/* The words before the cursor stand between blanks, so that patterns match whole words. bash takes
 * the first pattern that fits: longer names come before the shorter ones they begin with. */
void dsql_help_bash(FILE *out)
{
    fputs("# bash completion for dsql; printed by 'dsql completion bash'.\n"
          "_dsql()\n"
          "{\n"
          "    local IFS=$' \\t\\n' cur=${COMP_WORDS[COMP_CWORD]} words offered=''\n"
          "    words=\" ${COMP_WORDS[*]:1:COMP_CWORD-1} \"\n"
          "    case \"$words\" in\n"
          "    '  ') offered='",
          out);
    dsql_help_list_names(out, DSQL_SPAN(""));
    fputs("' ;;\n", out);
    for (size_t i = 0; i < dsql_command_count; i++)
        bash_second_words(out, i); /* for each command of a group; bash takes the first */
    for (int words = 2; words > 0; words--) {
        for (size_t i = 0; i < dsql_command_count; i++) {
            struct dsql_span first, second;
            if (split_name(i, &first, &second) != (words == 2))
                continue;
            fprintf(out, "    ' %s '*) offered='", dsql_commands[i]->name);
            list_arguments(out, dsql_commands[i]);
            fputs("' ;;\n", out);
        }
    }
    fputs("    esac\n"
          "    COMPREPLY=($(compgen -W \"$offered\" -- \"$cur\"))\n"
          "    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
          "    return 0\n"
          "}\n"
          "complete -F _dsql dsql\n",
          out);
}

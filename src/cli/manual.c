#include "cli/manual.h"

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

void dsql_manual_fill(FILE *out, int indent, const char *text)
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

void dsql_manual_overview(FILE *out)
{
    fputs("Usage: dsql COMMAND [OPTION...]\n\n", out);
    fputs("The Aurora DSQL engine. Commands:\n\n", out);
    for (size_t i = 0; i < dsql_command_count; i++)
        fprintf(out, "  %-14s %s\n", dsql_commands[i]->name, dsql_commands[i]->summary);
    fputs("\n'dsql help COMMAND' says more; 'dsql help config', 'dsql help metrics' and\n"
          "'dsql help events' are the references.\n",
          out);
}

static void add_synopsis(FILE *out, const struct dsql_command *command)
{
    fprintf(out, "dsql %s%s%s%s", command->name, command->option_count ? " [OPTION...]" : "",
            command->operands[0] ? " " : "", command->operands);
}

void dsql_manual_command(FILE *out, const struct dsql_command *command)
{
    fputs("Usage: ", out);
    add_synopsis(out, command);
    fputs("\n\n", out);
    dsql_manual_fill(out, 0, command->text);
    if (command->option_count > 0)
        fputs("\nOptions:\n", out);
    for (size_t i = 0; i < command->option_count; i++) {
        const struct dsql_option *option = &command->options[i];
        fprintf(out, "%*s--%s%s%s", OPTION_INDENT, "", option->name, option->value ? "=" : "",
                option->value ? option->value : "");
        if (option->letter)
            fprintf(out, ", -%c", option->letter);
        fputc('\n', out);
        dsql_manual_fill(out, OPTION_DOC_INDENT, option->doc);
    }
    if (command->reference) {
        fputc('\n', out);
        command->reference(out);
    }
}

void dsql_manual_bash(FILE *out)
{
    fputs("# bash completion for dsql; printed by 'dsql completion bash'.\n"
          "_dsql()\n"
          "{\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} words=\"${COMP_WORDS[*]:1:COMP_CWORD-1}\"\n"
          "    COMPREPLY=()\n"
          "    if [[ $COMP_CWORD -eq 1 ]]; then\n"
          "        COMPREPLY=($(compgen -W \"",
          out);
    for (size_t i = 0; i < dsql_command_count; i++) {
        struct dsql_span word, rest;
        dsql_span_cut(dsql_span_of(dsql_commands[i]->name), ' ', &word, &rest);
        fprintf(out, "%.*s ", DSQL_SPAN_ARG(word));
    }
    fputs("\" -- \"$cur\"))\n"
          "        return\n"
          "    fi\n"
          "    case \"$words\" in\n",
          out);
    for (size_t i = 0; i < dsql_command_count; i++) {
        const struct dsql_command *command = dsql_commands[i];
        fprintf(out, "    '%s'*) COMPREPLY=($(compgen -W \"%s --help", command->name,
                command->operand_words ? command->operand_words : "");
        for (size_t k = 0; k < command->option_count; k++)
            fprintf(out, " --%s%s", command->options[k].name, command->options[k].value ? "=" : "");
        fputs("\" -- \"$cur\")) ;;\n", out);
    }
    fputs("    esac\n"
          "    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
          "    return 0\n"
          "}\n"
          "complete -F _dsql dsql\n",
          out);
}

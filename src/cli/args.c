#include "cli/command.h"

const struct dsql_command *dsql_command_find(int argc, const char *const *argv, int *words,
                                             struct dsql_err *err)
{
    const struct dsql_command *found = NULL;
    *words = 0;
    for (size_t i = 0; i < dsql_command_count; i++) {
        struct dsql_span rest = dsql_span_of(dsql_commands[i]->name), word;
        int n = 0;
        bool more = true, same = true;
        while (more && same) {
            more = dsql_span_cut(rest, ' ', &word, &rest);
            same = n < argc && dsql_span_eq(word, dsql_span_of(argv[n++]));
        }
        if (same && n > *words) {
            found = dsql_commands[i];
            *words = n;
        }
    }
    if (*words > 0)
        return found;

    struct dsql_span typed = dsql_span_of(argc > 0 ? argv[0] : "");
    size_t best = SIZE_MAX;
    const char *nearest = "help";
    for (size_t i = 0; i < dsql_command_count; i++) {
        size_t distance = dsql_span_distance(typed, dsql_span_of(dsql_commands[i]->name));
        if (distance < best) {
            best = distance;
            nearest = dsql_commands[i]->name;
        }
    }
    if (dsql_span_is_near(typed, best))
        (void)dsql_err_set(err, DSQL_INVALID, "'%.64s' is no command; did you mean 'dsql %s'?",
                           typed.ptr, nearest);
    else
        (void)dsql_err_set(err, DSQL_INVALID, "'%.64s' is no command; 'dsql help' lists them",
                           typed.ptr);
    return NULL;
}

static enum dsql_rc unknown_option(const struct dsql_command *command, struct dsql_span typed,
                                   struct dsql_err *err)
{
    /* --help is answered before the command's own options and stands in no table. */
    const char *nearest = "help";
    size_t best = dsql_span_distance(typed, dsql_span_of(nearest));
    for (size_t i = 0; i < command->option_count; i++) {
        size_t distance = dsql_span_distance(typed, dsql_span_of(command->options[i].name));
        if (distance < best) {
            best = distance;
            nearest = command->options[i].name;
        }
    }
    if (dsql_span_is_near(typed, best))
        return dsql_err_set(err, DSQL_INVALID, "'dsql %s' has no option --%.*s; did you mean --%s?",
                            command->name, DSQL_SPAN_ARG(typed), nearest);
    return dsql_err_set(err, DSQL_INVALID, "'dsql %s' has no option --%.*s; see 'dsql help %s'",
                        command->name, DSQL_SPAN_ARG(typed), command->name);
}

/* The place of an option in the table; DSQL_OPTIONS_MAX if it is not there. */
static size_t find_long(const struct dsql_command *command, struct dsql_span name)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (dsql_span_eq(name, dsql_span_of(command->options[i].name)))
            return i;
    return DSQL_OPTIONS_MAX;
}

static size_t find_short(const struct dsql_command *command, char letter)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].letter == letter)
            return i;
    return DSQL_OPTIONS_MAX;
}

/* "--name", "--name=value" or "-n"; *used counts the words taken. */
static enum dsql_rc take_option(struct dsql_args *args, int argc, const char *const *argv,
                                int *used, struct dsql_err *err)
{
    const struct dsql_command *command = args->command;
    struct dsql_span word = dsql_span_of(argv[0]), name, value;
    bool is_long = word.ptr[1] == '-', has_value = false;
    size_t at;
    if (is_long) {
        has_value = dsql_span_cut(dsql_span_from(word, 2), '=', &name, &value);
        at = find_long(command, name);
    } else {
        at = word.len == 2 ? find_short(command, word.ptr[1]) : DSQL_OPTIONS_MAX;
        name = dsql_span_from(word, 1);
    }
    if (at == DSQL_OPTIONS_MAX && is_long)
        return unknown_option(command, name, err);
    if (at == DSQL_OPTIONS_MAX)
        return dsql_err_set(err, DSQL_INVALID, "'dsql %s' has no option %s; see 'dsql help %s'",
                            command->name, argv[0], command->name);
    const struct dsql_option *option = &command->options[at];
    if (has_value && !option->value)
        return dsql_err_set(err, DSQL_INVALID, "--%s takes no value", option->name);
    *used = 1;
    if (!option->value) {
        args->values[at] = "";
    } else if (has_value) {
        args->values[at] = value.ptr;
    } else if (argc > 1) {
        args->values[at] = argv[1];
        *used = 2;
    } else {
        return dsql_err_set(err, DSQL_INVALID, "--%s needs a value: --%s=%s", option->name,
                            option->name, option->value);
    }
    return DSQL_OK;
}

enum dsql_rc dsql_args_parse(const struct dsql_command *command, int argc, const char *const *argv,
                             struct dsql_args *args, struct dsql_err *err)
{
    assert(command->option_count <= DSQL_OPTIONS_MAX && command->operands_max <= DSQL_ARGS_MAX);
    *args = (struct dsql_args){.command = command};
    bool only_operands = false;
    for (int i = 0; i < argc;) {
        const char *word = argv[i];
        if (!only_operands && word[0] == '-' && word[1] != '\0') {
            if (dsql_span_eq(dsql_span_of(word), DSQL_SPAN("--"))) {
                only_operands = true;
                i++;
                continue;
            }
            int used = 0;
            enum dsql_rc rc = take_option(args, argc - i, argv + i, &used, err);
            if (rc)
                return rc;
            i += used;
        } else if (args->operand_count == command->operands_max) {
            return dsql_err_set(err, DSQL_INVALID,
                                "'dsql %s' does not expect '%.64s'; see 'dsql help %s'",
                                command->name, word, command->name);
        } else {
            args->operands[args->operand_count++] = word;
            i++;
        }
    }
    if (args->operand_count < command->operands_min)
        return dsql_err_set(err, DSQL_INVALID, "'dsql %s' needs %s; see 'dsql help %s'",
                            command->name, command->operands, command->name);
    return DSQL_OK;
}

const char *dsql_args_get(const struct dsql_args *args, const char *name)
{
    size_t at = find_long(args->command, dsql_span_of(name));
    assert(at < DSQL_OPTIONS_MAX);
    return args->values[at];
}

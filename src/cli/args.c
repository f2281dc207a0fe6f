#include "cli/command.h"

#include "base/duration.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "base/strbuf.h"
#include "config/config.h"

/* How many words the command's name has if the command line begins with them; else 0. */
static int count_words(const struct dsql_command *command, int argc, const char *const *argv)
{
    struct dsql_span rest = dsql_span_of(command->name), word;
    int n = 0;
    bool more = true;
    while (more) {
        more = dsql_span_cut(rest, ' ', &word, &rest);
        if (n == argc || !dsql_span_eq(word, dsql_span_of(argv[n])))
            return 0;
        n++;
    }
    return n;
}

static void unknown_command(const struct dsql_command *const *commands, size_t count,
                            const char *typed, struct dsql_err *err)
{
    struct dsql_nearest nearest = {.typed = dsql_span_of(typed)};
    for (size_t i = 0; i < count; i++)
        dsql_nearest_see(&nearest, commands[i]->name);
    if (nearest.name)
        (void)dsql_err_set(err, DSQL_INVALID, "'%s' is no command; did you mean 'dsql %s'?",
                           dsql_shown_str(typed).text, nearest.name);
    else
        (void)dsql_err_set(err, DSQL_INVALID, "'%s' is no command; 'dsql help' lists them",
                           dsql_shown_str(typed).text);
}

struct dsql_span dsql_command_under(const struct dsql_command *command,
                                    const struct dsql_command *other)
{
    struct dsql_span first, second;
    bool two = dsql_span_cut(dsql_span_of(other->name), ' ', &first, &second);
    return two && dsql_span_eq(first, dsql_span_of(command->name)) ? second : DSQL_SPAN("");
}

enum dsql_rc dsql_command_unexpected(const struct dsql_command *command, const char *word,
                                     struct dsql_err *err)
{
    struct dsql_nearest nearest = {.typed = dsql_span_of(word)};
    for (size_t i = 0; i < dsql_command_count; i++) {
        struct dsql_span second = dsql_command_under(command, dsql_commands[i]);
        if (second.len > 0)
            dsql_nearest_see(&nearest, second.ptr);
    }
    if (nearest.name)
        return dsql_err_set(err, DSQL_INVALID,
                            "'dsql %s' does not expect '%s'; did you mean 'dsql %s %s'?",
                            command->name, dsql_shown_str(word).text, command->name, nearest.name);
    return dsql_err_set(err, DSQL_INVALID, "'dsql %s' does not expect '%s'; see 'dsql help %s'",
                        command->name, dsql_shown_str(word).text, command->name);
}

const struct dsql_command *dsql_command_find(const struct dsql_command *const *commands,
                                             size_t count, int argc, const char *const *argv,
                                             int *words, struct dsql_err *err)
{
    const struct dsql_command *found = NULL;
    *words = 0;
    for (size_t i = 0; i < count; i++) {
        int n = count_words(commands[i], argc, argv);
        if (n > *words) {
            found = commands[i];
            *words = n;
        }
    }
    if (*words == 0)
        unknown_command(commands, count, argc > 0 ? argv[0] : "", err);
    return found;
}

static enum dsql_rc unknown_option(const struct dsql_command *command, struct dsql_span typed,
                                   struct dsql_err *err)
{
    /* --help is answered before the command's own options and stands in no table. */
    struct dsql_nearest nearest = {.typed = typed};
    dsql_nearest_see(&nearest, "help");
    for (size_t i = 0; i < command->option_count; i++)
        dsql_nearest_see(&nearest, command->options[i].name);
    if (nearest.name)
        return dsql_err_set(err, DSQL_INVALID, "'dsql %s' has no option --%s; did you mean --%s?",
                            command->name, dsql_shown(typed).text, nearest.name);
    return dsql_err_set(err, DSQL_INVALID, "'dsql %s' has no option --%s; see 'dsql help %s'",
                        command->name, dsql_shown(typed).text, command->name);
}

/* The place of an option in the table; DSQL_COMMAND_OPTIONS_MAX if it is not there. */
static size_t find_long(const struct dsql_command *command, struct dsql_span name)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (dsql_span_eq(name, dsql_span_of(command->options[i].name)))
            return i;
    return DSQL_COMMAND_OPTIONS_MAX;
}

static size_t find_short(const struct dsql_command *command, char letter)
{
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].letter == letter)
            return i;
    return DSQL_COMMAND_OPTIONS_MAX;
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
        at = word.len == 2 ? find_short(command, word.ptr[1]) : DSQL_COMMAND_OPTIONS_MAX;
        name = dsql_span_from(word, 1);
    }
    if (at == DSQL_COMMAND_OPTIONS_MAX && is_long)
        return unknown_option(command, name, err);
    if (at == DSQL_COMMAND_OPTIONS_MAX)
        return dsql_err_set(err, DSQL_INVALID, "'dsql %s' has no option %s; see 'dsql help %s'",
                            command->name, dsql_shown(word).text, command->name);
    const struct dsql_option *option = &command->options[at];
    if (has_value && !option->value)
        return dsql_err_set(err, DSQL_INVALID, "--%s takes no value", option->name);
    if (option->value && args->values[at])
        return dsql_err_set(err, DSQL_INVALID, "--%s is given twice", option->name);
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
    assert(command->option_count <= DSQL_COMMAND_OPTIONS_MAX &&
           command->operands_max <= DSQL_COMMAND_ARGS_MAX);
    struct dsql_args taken = {.command = command};
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
            enum dsql_rc rc = take_option(&taken, argc - i, argv + i, &used, err);
            if (rc)
                return rc;
            i += used;
        } else if (taken.operand_count == command->operands_max) {
            return dsql_command_unexpected(command, word, err);
        } else {
            taken.operands[taken.operand_count++] = word;
            /* Behind a command to run stand its own options, with or without the dashes before. */
            only_operands =
                only_operands || (command->operands && strncmp(command->operands, "-- ", 3) == 0);
            i++;
        }
    }
    if (taken.operand_count < command->operands_min)
        return dsql_err_set(err, DSQL_INVALID, "'dsql %s' needs %s; see 'dsql help %s'",
                            command->name, command->operands, command->name);
    *args = taken;
    return DSQL_OK;
}

int dsql_complain(const struct dsql_err *err)
{
    fprintf(stderr, "dsql: %s\n", err->message);
    if (err->hint[0])
        fprintf(stderr, "dsql: %s\n", err->hint);
    return err->rc == DSQL_INVALID ? DSQL_EXIT_USAGE : DSQL_EXIT_FAILED;
}

void dsql_complain_of_settings(const struct dsql_config_report *report)
{
    for (size_t i = 0; i < report->finding_count; i++)
        fprintf(stderr, "dsql: %s\n", report->findings[i].message);
    if (report->findings_dropped > 0)
        fprintf(stderr, "dsql: and %zu more; see 'dsql config'\n", report->findings_dropped);
}

void dsql_print_json(struct dsql_span text)
{
    struct dsql_strbuf sb;
    dsql_strbuf_init_heap(&sb, 6 * text.len + 3); /* six characters for a byte, quotes, the end */
    dsql_strbuf_add_json(&sb, text);
    fputs(sb.ptr, stdout);
    dsql_strbuf_fini(&sb);
}

const char *dsql_args_get(const struct dsql_args *args, const char *name)
{
    size_t at = find_long(args->command, dsql_span_of(name));
    assert(at < DSQL_COMMAND_OPTIONS_MAX);
    return args->values[at];
}

enum dsql_rc dsql_args_text(const struct dsql_args *args, const char *name, char *out, size_t size,
                            struct dsql_err *err)
{
    const char *text = dsql_args_get(args, name);
    if (!text)
        return DSQL_OK;
    size_t len = strlen(text);
    if (len == 0 || len >= size)
        return dsql_err_set(err, DSQL_INVALID, "--%s is empty or too long", name);
    memcpy(out, text, len + 1);
    return DSQL_OK;
}

enum dsql_rc dsql_args_number(const struct dsql_args *args, const char *name, int64_t low,
                              int64_t high, int64_t *out, struct dsql_err *err)
{
    const char *text = dsql_args_get(args, name);
    int64_t value;
    if (!text)
        return DSQL_OK;
    if (!dsql_span_to_i64(dsql_span_of(text), &value) || value < low || value > high) {
        return high == INT64_MAX
                   ? dsql_err_set(err, DSQL_INVALID, "--%s=%s is no number from %lld on", name,
                                  dsql_shown_str(text).text, (long long)low)
                   : dsql_err_set(err, DSQL_INVALID, "--%s=%s is no number from %lld to %lld", name,
                                  dsql_shown_str(text).text, (long long)low, (long long)high);
    }
    *out = value;
    return DSQL_OK;
}

enum dsql_rc dsql_args_duration(const struct dsql_args *args, const char *name, int64_t low_ns,
                                int64_t high_ns, int64_t *out_ns, struct dsql_err *err)
{
    const char *text = dsql_args_get(args, name);
    int64_t ns;
    if (!text)
        return DSQL_OK;
    if (!dsql_duration_parse(dsql_span_of(text), &ns) || ns < low_ns || ns > high_ns)
        return dsql_err_set(err, DSQL_INVALID, "--%s=%s is no duration from %s to %s", name,
                            dsql_shown_str(text).text, dsql_duration_shown(low_ns).text,
                            dsql_duration_shown(high_ns).text);
    *out_ns = ns;
    return DSQL_OK;
}

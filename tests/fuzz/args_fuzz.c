/* Any words make a valid command line or one clear line. The input is words separated by zero
 * bytes. */
#include <stdlib.h>

#include "cli/command.h"
#include "support/fuzz.h"

enum { WORDS_MAX = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *words[WORDS_MAX];
    int argc = 0, used = 0;
    char *copy = calloc(size + 1, 1);
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    for (size_t at = 0; at < size && argc < WORDS_MAX; at += strlen(copy + at) + 1)
        words[argc++] = copy + at;

    struct dsql_err err = {.message = ""};
    struct dsql_args args;
    const struct dsql_command *command =
        dsql_command_find(dsql_commands, dsql_command_count, argc, words, &used, &err);
    if (command && !dsql_args_parse(command, argc - used, words + used, &args, &err)) {
        assert(args.operand_count >= command->operands_min);
        assert(args.operand_count <= command->operands_max);
    } else {
        assert(err.rc == DSQL_INVALID && err.message[0]);
        for (const char *c = err.message; *c; c++)
            assert(*c >= ' ' && *c <= '~');
    }
    free(copy);
    return 0;
}

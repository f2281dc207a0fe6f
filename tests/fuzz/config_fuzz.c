/* Any environment gives a valid configuration. The input is variables separated by zero bytes. */
#include <stdlib.h>

#include "support/config_check.h"
#include "support/fuzz.h"

enum { VARIABLES_MAX = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *env[VARIABLES_MAX + 1];
    size_t count = 0;
    char *copy = calloc(size + 1, 1);
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    for (size_t at = 0; at < size && count < VARIABLES_MAX; at += strlen(copy + at) + 1)
        env[count++] = copy + at;
    env[count] = NULL;

    struct dsql_config config;
    struct dsql_config_report report;
    dsql_config_load(&config, &report, env);
    assert(config_check(&config, &report) == NULL);
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        char memory[DSQL_CONFIG_TEXT_MAX];
        struct dsql_strbuf sb;
        dsql_strbuf_init(&sb, memory, sizeof(memory));
        dsql_config_value(&config, (enum dsql_setting)i, &sb);
        assert(!sb.cut);
    }
    free(copy);
    return 0;
}

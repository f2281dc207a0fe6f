/* Any environment gives a valid configuration, and what it prints reads back to the same. */
#include <stdio.h>

#include "support/config_check.h"
#include "support/prop.h"
#include "support/test.h"

enum { VARIABLES_MAX = 24, TEXT_MAX = 96 };

static const char *const values[] = {
    "",
    "0",
    "1",
    "-1",
    "true",
    "false",
    "yes",
    "T",
    "10",
    "45s",
    "11m",
    "59m",
    "1h",
    "2h",
    "30m",
    "-5s",
    "250ms",
    "0.25",
    "-0.5",
    "0.00001",
    "0.000000001",
    "0.0000000004",
    ".000000000000001",
    "0.999999999999",
    "1.0",
    "0.3",
    ":9090",
    "off",
    "my_host:1",
    "1e9",
    "x",
    "[::1]",
    "h:99",
    "warn",
    "5",
    "100",
    "9999",
    "10001",
    "92233720368547758070",
    "1ns",
    "10s",
    "a b",
};

/* A known variable, a known one with a letter changed, or anything. */
static void draw_variable(struct prop *p, char (*text)[TEXT_MAX])
{
    static const char alphabet[] = "DSQL_XYZ=09 \t\xff";
    const char *value = values[prop_below(p, DSQL_COUNT_OF(values))];
    uint64_t kind = prop_below(p, 10);
    if (kind < 9) {
        uint64_t at = prop_below(p, DSQL_SETTING_COUNT + DSQL_SETTING_ALIAS_COUNT);
        const char *name = at < DSQL_SETTING_COUNT
                               ? dsql_settings[at].variable
                               : dsql_setting_aliases[at - DSQL_SETTING_COUNT].variable;
        (void)snprintf(*text, sizeof(*text), "%s=%s", name, value);
        if (kind == 8)
            (*text)[prop_below(p, strlen(name))] = 'Q';
    } else {
        size_t len = (size_t)prop_below(p, TEXT_MAX - 1);
        for (size_t i = 0; i < len; i++)
            (*text)[i] = alphabet[prop_below(p, sizeof(alphabet) - 1)];
        (*text)[len] = '\0';
    }
}

struct environment {
    char texts[VARIABLES_MAX][TEXT_MAX];
    const char *env[VARIABLES_MAX + 1];
    size_t count;
};

static void draw_environment(struct prop *p, struct environment *e)
{
    e->count = (size_t)prop_below(p, VARIABLES_MAX + 1);
    for (size_t i = 0; i < e->count; i++) {
        draw_variable(p, &e->texts[i]);
        e->env[i] = e->texts[i];
    }
    e->env[e->count] = NULL;
}

static bool always_valid(struct prop *p)
{
    struct environment e;
    draw_environment(p, &e);
    struct dsql_config config;
    struct dsql_config_report report;
    dsql_config_load(&config, &report, e.env);
    const char *why = config_check(&config, &report);
    if (!prop_that(p, !why, "%s (first variable: %s)", why ? why : "",
                   e.count ? e.texts[0] : "none"))
        return false;
    return true;
}

/* A configuration written out as an environment loads to the same, and no value is adjusted. */
static bool reads_back(struct prop *p)
{
    struct environment e;
    draw_environment(p, &e);
    struct dsql_config config, again;
    struct dsql_config_report report;
    dsql_config_load(&config, &report, e.env);

    static char written[DSQL_SETTING_COUNT][DSQL_CONFIG_TEXT_MAX + 64];
    const char *back[DSQL_SETTING_COUNT + 1];
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        struct dsql_strbuf sb;
        dsql_strbuf_init(&sb, written[i], sizeof(written[i]));
        dsql_strbuf_addf(&sb, "%s=", dsql_settings[i].variable);
        dsql_config_value(&config, (enum dsql_setting)i, &sb);
        back[i] = written[i];
    }
    back[DSQL_SETTING_COUNT] = NULL;
    dsql_config_load(&again, &report, back);
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        STRBUF(one, DSQL_CONFIG_TEXT_MAX);
        STRBUF(two, DSQL_CONFIG_TEXT_MAX);
        dsql_config_value(&config, (enum dsql_setting)i, &one);
        dsql_config_value(&again, (enum dsql_setting)i, &two);
        if (!prop_that(p, dsql_span_eq(dsql_strbuf_span(&one), dsql_strbuf_span(&two)),
                       "%s: %s became %s", dsql_settings[i].variable, one.ptr, two.ptr))
            return false;
        if (!prop_that(p, report.source[i].origin != DSQL_ORIGIN_ADJUSTED, "%s=%s was adjusted",
                       dsql_settings[i].variable, one.ptr))
            return false;
    }
    return true;
}

TEST(validity)
{
    prop_run("any environment gives a valid configuration", always_valid, 5000);
}
TEST(reading_back)
{
    prop_run("a configuration reads back", reads_back, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(validity), cmocka_unit_test(reading_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

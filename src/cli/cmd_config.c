/* `dsql config`: what is in effect, where it came from, and what was wrong. */
#include <unistd.h>

#include "cli/cluster.h"
#include "cli/commands.h"
#include "cli/reference.h"
#include "config/config.h"

static const char *value_of(const struct dsql_config *config, size_t setting,
                            char (*memory)[DSQL_CONFIG_TEXT_MAX])
{
    struct dsql_strbuf sb;
    dsql_strbuf_init(&sb, *memory, sizeof(*memory));
    dsql_config_value(config, (enum dsql_setting)setting, &sb);
    return *memory;
}

static void print_origin(const struct dsql_config_report *report, size_t setting)
{
    enum dsql_origin origin = report->source[setting].origin;
    const char *variable = report->source[setting].variable;
    bool alias = variable && !dsql_span_eq(dsql_span_of(variable),
                                           dsql_span_of(dsql_settings[setting].variable));
    printf("%s%s%s\n", dsql_origin_name(origin), alias ? " " : "", alias ? variable : "");
}

static void print_plain(const struct dsql_config *config, const struct dsql_config_report *report,
                        bool changed_only)
{
    const char *group = NULL;
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        char memory[DSQL_CONFIG_TEXT_MAX];
        if (changed_only && !report->source[i].variable)
            continue;
        if (group != dsql_settings[i].group)
            printf("%s%s\n", group ? "\n" : "", dsql_settings[i].group);
        group = dsql_settings[i].group;
        const char *value = value_of(config, i, &memory);
        printf("  %-43s %-16s ", dsql_settings[i].variable, value[0] ? value : "(unset)");
        print_origin(report, i);
    }
    if (report->finding_count > 0)
        printf("%sFindings\n", group ? "\n" : "");
    for (size_t i = 0; i < report->finding_count; i++)
        printf("  %-8s  %s\n", dsql_finding_name(report->findings[i].kind),
               report->findings[i].message);
    if (report->findings_dropped > 0)
        printf("  and %zu more\n", report->findings_dropped);
}

/* Numbers and switches as such, everything else as text; a duration also in nanoseconds. */
static void print_json_value(const struct dsql_config *config, size_t setting)
{
    char memory[DSQL_CONFIG_TEXT_MAX];
    const char *value = value_of(config, setting, &memory);
    const struct dsql_setting_info *info = &dsql_settings[setting];
    bool bare = info->type == DSQL_SETTING_BOOL || info->type == DSQL_SETTING_INT ||
                info->type == DSQL_SETTING_FRACTION;
    fputs(", \"value\": ", stdout);
    if (bare)
        fputs(value, stdout);
    else if (value[0] == '\0')
        fputs("null", stdout);
    else
        dsql_print_json(dsql_span_of(value));
    if (info->type == DSQL_SETTING_DURATION) {
        const void *at = (const char *)config + info->offset;
        printf(", \"value_ns\": %lld", (long long)*(const int64_t *)at);
    }
}

static void print_json(const struct dsql_config *config, const struct dsql_config_report *report,
                       bool changed_only)
{
    const char *between = "";
    fputs("{\n  \"settings\": [", stdout);
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        if (changed_only && !report->source[i].variable)
            continue;
        printf("%s\n    {\"name\": \"%s\"", between, dsql_settings[i].variable);
        print_json_value(config, i);
        printf(", \"origin\": \"%s\"", dsql_origin_name(report->source[i].origin));
        if (report->source[i].variable)
            printf(", \"variable\": \"%s\"", report->source[i].variable);
        printf(", \"default\": ");
        dsql_print_json(dsql_span_of(dsql_setting_default((enum dsql_setting)i)));
        fputc('}', stdout);
        between = ",";
    }
    fputs("\n  ],\n  \"findings\": [", stdout);
    for (size_t i = 0; i < report->finding_count; i++) {
        printf("%s\n    {\"kind\": \"%s\", \"variable\": ", i ? "," : "",
               dsql_finding_name(report->findings[i].kind));
        dsql_print_json(dsql_span_of(report->findings[i].variable));
        fputs(", \"message\": ", stdout);
        dsql_print_json(dsql_span_of(report->findings[i].message));
        fputc('}', stdout);
    }
    printf("\n  ],\n  \"findings_dropped\": %zu\n}\n", report->findings_dropped);
}

/* What the settings can't tell by themselves: whether the endpoint's name and the region agree. */
static void check_cluster(const struct dsql_config *config, struct dsql_config_report *report)
{
    struct dsql_cluster cluster;
    struct dsql_err err = {.hint = ""};
    if (config->endpoint[0] == '\0' ||
        !dsql_cluster_find(dsql_span_of(config->endpoint), dsql_span_of(config->region), &cluster,
                           &err))
        return;
    report->found[DSQL_FINDING_ERROR]++;
    if (report->finding_count == DSQL_FINDINGS_MAX) {
        report->findings_dropped++;
        return;
    }
    struct dsql_finding *finding = &report->findings[report->finding_count++];
    finding->kind = DSQL_FINDING_ERROR;
    (void)snprintf(finding->variable, sizeof(finding->variable), "%s",
                   dsql_settings[DSQL_SETTING_endpoint].variable);
    struct dsql_strbuf message;
    dsql_strbuf_init(&message, finding->message, sizeof(finding->message));
    dsql_strbuf_addf(&message, "%s. %s", err.message, err.hint);
}

static int run(const struct dsql_args *args)
{
    struct dsql_config config;
    struct dsql_config_report report;
    dsql_config_load(&config, &report, (const char *const *)environ);
    check_cluster(&config, &report);
    bool changed_only = dsql_args_has(args, "changed");
    if (dsql_args_has(args, "json"))
        print_json(&config, &report, changed_only);
    else
        print_plain(&config, &report, changed_only);
    return dsql_config_has_error(&report) ? DSQL_EXIT_FAILED : DSQL_EXIT_OK;
}

static const struct dsql_option options[] = {
    {"json", 0, NULL, "print one JSON object for machines"},
    {"changed", 0, NULL, "only settings that a variable was given for"},
};

const struct dsql_command dsql_cmd_config = {
    .name = "config",
    .summary = "show the settings in effect and where each came from",
    .text =
        "Reads the environment and prints every setting with its value and origin: default;\n"
        "derived, when it follows another setting; environment; or adjusted, when the variable\n"
        "could not be used as it stands. Then what was wrong: adjusted values, DSQL_* variables\n"
        "that are no settings, and errors.\n"
        "\n"
        "Ends with 1 if there is an error, because nothing would start then.",
    DSQL_COMMAND_OPTIONS(options),
    .reference = dsql_reference_config,
    .run = run,
};

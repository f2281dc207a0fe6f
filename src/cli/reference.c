#include "cli/reference.h"

#include "cli/doctor.h"
#include "cli/help.h"
#include "config/config.h"
#include "metrics/metrics.h"

void dsql_reference_cell(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            fputc('\\', out);
        fputc(*text, out);
    }
}

/* "; also read from A, B" or nothing. */
static void add_aliases(struct dsql_strbuf *sb, size_t setting, const char *quote)
{
    const char *between = "; also read from ";
    for (size_t i = 0; i < DSQL_SETTING_ALIAS_COUNT; i++) {
        if ((size_t)dsql_setting_aliases[i].setting == setting) {
            dsql_strbuf_addf(sb, "%s%s%s%s", between, quote, dsql_setting_aliases[i].variable,
                             quote);
            between = ", ";
        }
    }
}

static bool starts_group(size_t setting)
{
    return setting == 0 || dsql_settings[setting].group != dsql_settings[setting - 1].group;
}

void dsql_reference_config(FILE *out)
{
    dsql_help_fill(
        out, 0,
        "Settings are environment variables. Durations are written as 11m, 45s, 250ms or 1h30m, "
        "switches as true or false. An empty variable counts as unset.");
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        char memory[256];
        struct dsql_strbuf facts;
        dsql_strbuf_init(&facts, memory, sizeof(memory));
        dsql_strbuf_addf(&facts, "default %s; takes ", dsql_setting_default((enum dsql_setting)i));
        dsql_setting_range((enum dsql_setting)i, &facts);
        add_aliases(&facts, i, "");
        if (starts_group(i))
            fprintf(out, "\n%s\n", dsql_settings[i].group);
        fprintf(out, "\n  %s\n", dsql_settings[i].variable);
        dsql_help_fill(out, 6, dsql_settings[i].doc);
        dsql_help_fill(out, 6, facts.ptr);
    }
}

static void config_markdown(FILE *out)
{
    fputs(
        "# Settings\n\n"
        "Printed by `dsql help config --markdown` from the table in `src/config/settings.def`.\n\n"
        "Settings are environment variables. Durations are written as `11m`, `45s`, `250ms` or\n"
        "`1h30m`, switches as `true` or `false`. An empty variable counts as unset.\n\n"
        "A value that can't be read, or is zero or negative where only positive ones make sense,\n"
        "gives the default. Any other value outside its range gives the nearest end of it. Each\n"
        "such case, and each unknown `DSQL_*` variable, is warned about. An endpoint that can't be\n"
        "used is an error: nothing starts with it. `dsql config` shows what is in effect and where\n"
        "it came from.\n",
        out);
    for (size_t i = 0; i < DSQL_SETTING_COUNT; i++) {
        char range_memory[64], alias_memory[192];
        struct dsql_strbuf range, aliases;
        dsql_strbuf_init(&range, range_memory, sizeof(range_memory));
        dsql_setting_range((enum dsql_setting)i, &range);
        dsql_strbuf_init(&aliases, alias_memory, sizeof(alias_memory));
        add_aliases(&aliases, i, "`");
        if (starts_group(i))
            fprintf(out, "\n## %s\n\n| variable | default | takes | meaning |\n|---|---|---|---|\n",
                    dsql_settings[i].group);
        fprintf(out, "| `%s` | %s | %s | ", dsql_settings[i].variable,
                dsql_setting_default((enum dsql_setting)i), range.ptr);
        dsql_reference_cell(out, dsql_settings[i].doc);
        fprintf(out, "%s |\n", aliases.ptr);
    }
    fputs(
        "\n## How settings depend on each other\n\n"
        "- `DSQL_RESERVOIR_LOW_WATERMARK` <= `DSQL_RESERVOIR_TARGET_READY` <= "
        "`DSQL_POOL_MAX_OPEN`.\n"
        "- The guard window is at most half of the shortest lifetime (base - jitter/2): otherwise\n"
        "  connections would be discarded unused.\n"
        "- The longest lifetime (base + jitter/2) ends before the service's 60 minutes minus the\n"
        "  guard window; the base moves down to make it so.\n"
        "- A longest delay is never shorter than the first one.\n"
        "- A shared budget that is enabled needs its table; without one nothing starts.\n",
        out);
}

/* "service, operation, reason" */
static void add_labels(FILE *out, const struct dsql_metric_info *info)
{
    fputs("service", out);
    if (info->by_operation)
        fputs(", operation", out);
    struct dsql_span rest = dsql_span_of(dsql_label_names(info->label)), name;
    bool more = rest.len > 0;
    while (more) {
        more = dsql_span_cut(rest, ',', &name, &rest);
        fprintf(out, ", %.*s", DSQL_SPAN_ARG(name));
    }
}

static void metrics_plain(FILE *out)
{
    for (size_t i = 0; i < DSQL_METRIC_COUNT; i++) {
        const struct dsql_metric_info *info = &dsql_metric_infos[i];
        fprintf(out, "%s%s (%s; ", i ? "\n" : "", info->name, dsql_metric_type_name(info->type));
        add_labels(out, info);
        fputs(")\n", out);
        dsql_help_fill(out, 4, info->help);
    }
}

static void metrics_markdown(FILE *out)
{
    fputs(
        "# Metrics\n\n"
        "Printed by `dsql help metrics --markdown` from the table in `src/metrics/metrics.def`.\n\n"
        "Every series carries the label `service` (`DSQL_SERVICE_NAME`). Histogram buckets count\n"
        "values that are certainly at most `le`; the recorded resolution is 1/32 of a value.\n\n"
        "| metric | type | labels | meaning |\n|---|---|---|---|\n",
        out);
    for (size_t i = 0; i < DSQL_METRIC_COUNT; i++) {
        const struct dsql_metric_info *info = &dsql_metric_infos[i];
        fprintf(out, "| `%s` | %s | ", info->name, dsql_metric_type_name(info->type));
        add_labels(out, info);
        fputs(" | ", out);
        dsql_reference_cell(out, info->help);
        fputs(" |\n", out);
    }
    fputs("\n## Label values\n\n| label | values |\n|---|---|\n", out);
    for (size_t label = DSQL_LABEL_OPERATION + 1; label < DSQL_LABEL_COUNT; label++) {
        fprintf(out, "| `%s` | ", dsql_label_names((enum dsql_label)label));
        for (size_t v = 0; v < dsql_label_value_count((enum dsql_label)label); v++)
            fprintf(out, "%s`%s`", v ? ", " : "", dsql_label_value((enum dsql_label)label, v));
        fputs(" |\n", out);
    }
    fprintf(out, "| `operation` | registered by the program; `other` for those beyond %d |\n",
            DSQL_OPERATIONS_MAX);
}

static void events_plain(FILE *out)
{
    for (size_t i = 0; i < DSQL_EVENT_COUNT; i++) {
        fprintf(out, "%s%s (%s%s)\n", i ? "\n" : "", dsql_events[i].name,
                dsql_log_level_name(dsql_events[i].level),
                dsql_events[i].limited ? "; limited" : "");
        dsql_help_fill(out, 4, dsql_events[i].doc);
    }
    fprintf(out,
            "\nA limited event writes at most %d lines in %d seconds; the next one then carries\n"
            "suppressed=N.\n",
            DSQL_LOG_BURST, (int)(DSQL_LOG_WINDOW_NS / DSQL_S));
}

static void events_markdown(FILE *out)
{
    fputs("# Log events\n\n"
          "Printed by `dsql help events --markdown` from the table in `src/base/events.def`.\n\n"
          "Lines are logfmt: `ts=... level=... event=NAME key=value ...`. ",
          out);
    fprintf(
        out,
        "A limited event writes at most %d lines\n"
        "in %d seconds; the next one then carries `suppressed=N`. The library's own keys, passwords and\n"
        "tokens never appear; `dsql/log.h` says what is masked in text from elsewhere.\n\n"
        "| event | level | limited | meaning |\n|---|---|---|---|\n",
        DSQL_LOG_BURST, (int)(DSQL_LOG_WINDOW_NS / DSQL_S));
    for (size_t i = 0; i < DSQL_EVENT_COUNT; i++) {
        fprintf(out, "| `%s` | %s | %s | ", dsql_events[i].name,
                dsql_log_level_name(dsql_events[i].level), dsql_events[i].limited ? "yes" : "no");
        dsql_reference_cell(out, dsql_events[i].doc);
        fputs(" |\n", out);
    }
}

static void findings_plain(FILE *out)
{
    for (size_t i = 0; i < DSQL_FOUND_COUNT; i++) {
        const struct dsql_diagnosis_info *info = &dsql_diagnoses[i];
        fprintf(out, "%s%-4s  %s\n", i ? "\n" : "", dsql_doctor_state_name(info->state),
                info->check);
        dsql_help_fill(out, 6, info->meaning);
        if (info->todo[0])
            dsql_help_fill(out, 6, info->todo);
    }
}

static void findings_markdown(FILE *out)
{
    fputs(
        "# What `dsql doctor` finds\n\n"
        "Printed by `dsql help findings --markdown` from the table in `src/cli/doctor.def`.\n\n"
        "`skip` stands for a check whose conditions failed. Where nothing is said about what to do,\n"
        "the line itself says it. [operations.md](operations.md#symptoms) has causes and cures.\n\n"
        "| check | state | meaning | what to do |\n|---|---|---|---|\n",
        out);
    for (size_t i = 0; i < DSQL_FOUND_COUNT; i++) {
        const struct dsql_diagnosis_info *info = &dsql_diagnoses[i];
        fprintf(out, "| `%s` | %s | ", info->check, dsql_doctor_state_name(info->state));
        dsql_reference_cell(out, info->meaning);
        fputs(" | ", out);
        dsql_reference_cell(out, info->todo);
        fputs(" |\n", out);
    }
}

const struct dsql_topic dsql_topics[] = {
    {"config", "every setting", dsql_reference_config, config_markdown},
    {"metrics", "every metric", metrics_plain, metrics_markdown},
    {"events", "every line that can appear in the log", events_plain, events_markdown},
    {"findings", "everything that 'dsql doctor' can say", findings_plain, findings_markdown},
};
const size_t dsql_topic_count = DSQL_COUNT_OF(dsql_topics);

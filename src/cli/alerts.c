/* The rows of alerts.def as a file of Prometheus rules. */
#include "cli/monitoring.h"
#include "cli/promql.h"

#define APPEARED(labels, selector, window)                                                         \
    "sum by (" labels ") (increase(" selector "[" window "])) > 0 or (sum by (" labels             \
    ") (" selector ") unless sum by (" labels ") (" selector " offset " window ")) > 0"

static const struct {
    const char *name, *severity, *lasts, *section, *query, *summary, *description;
} alerts[] = {
#define DSQL_ALERT(name, severity, lasts, section, query, summary, description)                    \
    {#name, #severity, lasts, section, query, summary, description},
#include "cli/alerts.def"
#undef DSQL_ALERT
};

static const struct dsql_promql_scope everywhere = {.all = "", .by_operation = ""};

enum dsql_rc dsql_alerts_print(FILE *out, const char *runbook, struct dsql_err *err)
{
    struct dsql_strbuf text;
    enum dsql_rc rc = DSQL_OK;
    dsql_strbuf_init_heap(&text, 1 << 20);
    dsql_strbuf_add_str(&text, "# Printed by 'dsql monitoring alerts'.\n"
                               "groups:\n  - name: dsql\n    rules:\n");
    for (size_t i = 0; !rc && i < DSQL_COUNT_OF(alerts); i++) {
        dsql_strbuf_addf(&text, "      - alert: %s\n        expr: >-\n          ", alerts[i].name);
        rc = dsql_promql_add(&text, alerts[i].query, &everywhere, err);
        dsql_strbuf_addf(&text,
                         "\n        for: %s\n"
                         "        labels:\n          severity: %s\n"
                         "        annotations:\n"
                         "          summary: >-\n            %s\n"
                         "          description: >-\n            %s\n"
                         "          runbook_url: >-\n            %s#%s\n",
                         alerts[i].lasts, alerts[i].severity, alerts[i].summary,
                         alerts[i].description, runbook, alerts[i].section);
    }
    if (!rc && text.cut)
        rc = dsql_err_set(err, DSQL_NO_MEMORY, "out of memory");
    if (!rc)
        fputs(text.ptr, out);
    dsql_strbuf_fini(&text);
    return rc;
}

#!/bin/bash
# Debian's own promtool accepts our metrics. It also lints names; the seeds' spellings that it dislikes
# are kept on purpose and listed here, so that a new complaint fails.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
cat >"$scratch/app.c" <<'C'
#include <stdio.h>
#include <stdlib.h>

#include "metrics/metrics.h"

int main(void)
{
    struct dsql_metrics *m;
    char *text;
    size_t len;
    if (dsql_metrics_new("we\"ird\\ name", &m) != DSQL_OK)
        return 1;
    unsigned op = dsql_metrics_operation(m, "UpdateShards");
    for (size_t i = 0; i < DSQL_METRIC_COUNT; i++) {
        struct dsql_series s = {.metric = (enum dsql_metric)i, .operation = op};
        if (dsql_metric_infos[i].type == DSQL_TYPE_COUNTER)
            dsql_counter_add(m, s, 1);
        else if (dsql_metric_infos[i].type == DSQL_TYPE_GAUGE)
            dsql_gauge_set(m, s, -1);
        else
            dsql_histogram_record(m, s, 5000000);
    }
    if (dsql_metrics_text(m, &text, &len) != DSQL_OK)
        return 1;
    fwrite(text, 1, len, stdout);
    free(text);
    dsql_metrics_destroy(m);
    return 0;
}
C
"$CC" -std=c17 -D_GNU_SOURCE -I"$SOURCE_DIR/include" -I"$SOURCE_DIR/src" "$scratch/app.c" \
    -o "$scratch/app" "$BUILD_DIR/libdsql.a" -lcrypto -lpthread
"$scratch/app" >"$scratch/metrics"
[ "$(grep -c '^# TYPE' "$scratch/metrics")" -ge 26 ] || fail "too few metrics"

status=0
"$SOURCE_DIR/.tools/promtool" check metrics <"$scratch/metrics" >"$scratch/out" 2>&1 || status=$?
grep -vE '^(dsql_reservoir_checkout_latency_milliseconds use base unit "seconds"|dsql_retry_attempts_histogram metric name should not include type)' \
    "$scratch/out" >"$scratch/complaints" || true
[ ! -s "$scratch/complaints" ] || fail "promtool: $(cat "$scratch/complaints")"
[ $status = 0 ] || [ $status = 3 ] || fail "promtool ended with $status"

# And it does look: a broken exposition is refused.
printf 'dsql_x{a="b} 1\n' | "$SOURCE_DIR/.tools/promtool" check metrics >/dev/null 2>&1 &&
    fail "promtool accepts anything"
true

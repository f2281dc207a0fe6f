#!/bin/bash
# Debian's own promtool accepts our metrics. It also lints names; two spellings that it dislikes
# are kept on purpose and listed here, so that a new complaint fails.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
cat >"$scratch/app.c" <<'C'
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "metrics/metrics.h"

int main(int argc, char **argv)
{
    if (argc > 1 && !setlocale(LC_ALL, argv[1]))
        return 2;
    struct dsql_metrics *m;
    char *text;
    size_t len;
    /* cut inside a character, and not UTF-8 */
    if (dsql_metrics_new("we\"ird\\ n\xff\xc3me, 0123456789012345678901234567890123456789\xf0\x9f\x98\x80",
                         &m) != DSQL_OK)
        return 1;
    unsigned op = dsql_metrics_operation(m, "UpdateShards");
    for (size_t i = 0; i < DSQL_METRIC_COUNT; i++) {
        struct dsql_series s = {.metric = (enum dsql_metric)i, .operation = op};
        if (i == DSQL_METRIC_visibility_runs) {
            struct dsql_metric_runs *runs = calloc(1, sizeof(*runs));
            if (!runs)
                return 1;
            *runs = (struct dsql_metric_runs){"a \"name\"\\\n", "Running", 1};
            dsql_metrics_set_runs(m, runs, 1);
        } else if (dsql_metric_infos[i].type == DSQL_TYPE_COUNTER)
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
    -o "$scratch/app" "$BUILD_DIR/libdsql.a" -lpq -lcurl -ljansson -lcrypto -lpthread
"$scratch/app" >"$scratch/metrics"
[ "$(grep -c '^# TYPE' "$scratch/metrics")" -ge 26 ] || fail "too few metrics"

# The host program's locale has no say: neither a comma nor a point of two bytes gets in. Where locales
# can't be made (Debian: package locales), the unit test still knows what the numbers look like.
for locale in de_DE ps_AF; do
    if ! localedef -i $locale -f UTF-8 "$scratch/$locale.UTF-8" >/dev/null 2>&1; then
        echo "not tried: the locale $locale"
        continue
    fi
    LOCPATH=$scratch "$scratch/app" $locale.UTF-8 >"$scratch/metrics.$locale"
    cmp "$scratch/metrics" "$scratch/metrics.$locale" || fail "the metrics follow the locale $locale"
    LOCPATH=$scratch "$BUILD_DIR/tests/text_test" >"$scratch/out" 2>&1 || fail "$(cat "$scratch/out")"
    ! grep -q SKIPPED "$scratch/out" || fail "text_test did not see the locale $locale"
done

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

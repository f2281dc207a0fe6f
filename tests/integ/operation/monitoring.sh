#!/bin/bash
# The dashboard and the alerts: in step with the metrics, well-formed, and each alert fires when it should
# and is quiet when it should. tests/integ/operation/prometheus.sh tries them on a running process.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
promtool=$SOURCE_DIR/.tools/promtool
alerts=$SOURCE_DIR/deploy/prometheus/dsql-alerts.yml
dashboard=$SOURCE_DIR/deploy/grafana/dsql.json

expect 0 "$dsql" monitoring dashboard
diff "$scratch/out" "$dashboard" || fail "$dashboard: run 'make docs'"
expect 0 "$dsql" monitoring alerts
diff "$scratch/out" "$alerts" || fail "$alerts: run 'make docs'"
expect 0 "$dsql" monitoring alerts --runbook https://wiki.example/dsql
contains "$out" 'https://wiki.example/dsql#reservoir-empty'
expect 2 "$dsql" monitoring alerts --runbook 'two words'

"$dsql" help metrics | sed -n 's/^\(dsql_[a-z_]*\) .*/\1/p' >"$scratch/names"
[ "$(wc -l <"$scratch/names")" -gt 30 ] || fail "too few metrics"

# The dashboard.
python3 "$SOURCE_DIR/tests/integ/operation/dashboard_check.py" "$dashboard" "$scratch/names" >"$scratch/queries.yml" ||
    fail "the dashboard"
expect 0 "$promtool" check rules "$scratch/queries.yml"
contains "$out" SUCCESS

# The alerts: every one has its words and a section of the runbook; then the cases.
expect 0 "$promtool" check rules "$alerts"
contains "$out" SUCCESS
count=$(grep -c '^ *- alert: ' "$alerts")
for part in summary description runbook_url; do
    [ "$(grep -c "^ *$part: " "$alerts")" = "$count" ] || fail "an alert without $part"
done
sed -n 's/^##* //p' "$SOURCE_DIR/docs/operations.md" | tr '[:upper:]' '[:lower:]' |
    sed 's/[^a-z0-9 -]//g; s/ /-/g' >"$scratch/sections"
sed -n 's/^ *docs\/operations.md#//p' "$alerts" >"$scratch/pointers"
[ "$(wc -l <"$scratch/pointers")" = "$count" ] || fail "an alert without a section"
while read -r section; do
    grep -qx "$section" "$scratch/sections" || fail "docs/operations.md has no section $section"
done <"$scratch/pointers"
sed -n 's/^| .\(DSQL[A-Za-z]*\). | .*/\1/p' "$SOURCE_DIR/docs/monitoring.md" >"$scratch/documented"
sed -n 's/^ *- alert: //p' "$alerts" | diff "$scratch/documented" - || fail "the alerts of docs/monitoring.md"
python3 "$SOURCE_DIR/tests/integ/operation/alert_cases.py" "$alerts" "$scratch/names" >"$scratch/cases.yml" || fail "the cases"
expect 0 "$promtool" test rules "$scratch/cases.yml"
contains "$out" SUCCESS

# The example for Prometheus itself.
cp "$SOURCE_DIR"/deploy/prometheus/*.yml "$scratch"
expect 0 "$promtool" check config "$scratch/prometheus.yml"
contains "$out" "SUCCESS: $count rules found"

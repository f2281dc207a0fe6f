#!/bin/bash
# A real Prometheus scrapes `dsql up` and a process with a Temporal store, which share a budget in a real
# DynamoDB API, while the endpoint fails now and then: every query of the dashboard and of the alerts
# answers with numbers.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/budget/dynamodb.bash
. "$SOURCE_DIR/tests/integ/budget/dynamodb.bash"
export DSQL_LOG_LEVEL=error DSQL_BUDGET=blocks DSQL_DISTRIBUTED_CONN_LEASE_TABLE=fleet
export scratch
start_server dynoxide

cat >"$scratch/watched.sh" <<'SH'
set -eu
# wait_for FILE PATTERN PID: until the process has said it
wait_for() {
    for _ in $(seq 6000); do
        grep -qs "$2" "$1" && return 0
        kill -0 "$3" || break
        sleep 0.1
    done
    echo "not seen: $2 in $(cat "$1")" >&2
    exit 1
}
pids=
trap 'exec 9>&-; for pid in $pids; do kill "$pid" 2>/dev/null || true; done; wait' EXIT
"$dsql" budget setup >/dev/null
"$dsql" schema apply >/dev/null

# Fewer connections than threads, so that some wait.
DSQL_SERVICE_NAME=up "$dsql" up --seconds 0 --connections 2 --threads 4 --address 127.0.0.1:0 \
    >"$scratch/up.out" 2>&1 &
up=$!
pids="$pids $up"
mkfifo "$scratch/end"
"$BUILD_DIR/tests/store_watched" <"$scratch/end" >"$scratch/store.out" 2>&1 &
store=$!
pids="$pids $store"
exec 9>"$scratch/end"
wait_for "$scratch/store.out" '^http' $store
wait_for "$scratch/up.out" '^ *[1-9][0-9]* s ' $up
"$dsql" local fault conflict-commit=10% close-applied=5% seed=3 >/dev/null

targets=$(sed -n 's|.*http://\(127.0.0.1:[0-9]*\).*|"\1"|p' "$scratch/up.out" "$scratch/store.out" | paste -sd,)
sed -e "s|\['127.0.0.1:9464'\]|[$targets]|; s|_interval: 15s|_interval: 1s|" \
    "$SOURCE_DIR/deploy/prometheus/prometheus.yml" >"$scratch/prometheus.yml"
cp "$SOURCE_DIR/deploy/prometheus/dsql-alerts.yml" "$scratch/"

# It does not say which port it was given: one that was free a moment ago, and another if it is taken.
for _ in 1 2 3 4 5; do
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    "$SOURCE_DIR/.tools/prometheus" --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" \
        --web.listen-address="127.0.0.1:$port" >"$scratch/prometheus.log" 2>&1 &
    prometheus=$!
    pids="$pids $prometheus"
    for _ in $(seq 6000); do
        curl -s --noproxy '*' -o "$scratch/ready" "http://127.0.0.1:$port/-/ready" && grep -q Ready "$scratch/ready" && break 2
        kill -0 $prometheus 2>/dev/null || break
        sleep 0.1
    done
done
grep -q Ready "$scratch/ready" || { cat "$scratch/prometheus.log"; exit 1; }
python3 "$SOURCE_DIR/tests/integ/operation/prometheus_check.py" "http://127.0.0.1:$port" \
    "$SOURCE_DIR/deploy/grafana/dsql.json" 900
SH
expect 0 "$dsql" local exec -- bash "$scratch/watched.sh"
printf '%s\n' "$out"
contains "$out" "and $(grep -c '^ *- alert: ' "$SOURCE_DIR/deploy/prometheus/dsql-alerts.yml") alerts answer with numbers"

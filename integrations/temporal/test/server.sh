#!/bin/bash
# The server as an operator meets it: its pages, the pool that Temporal's configuration asks for, HTTP, dynamic
# configuration and standalone activities as 'temporal server start-dev' has them, and its end, also while the
# cluster is away.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
start_cluster --port 0
address=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1)) # so that its ports are free
page() { curl -sS --max-time 30 "${@:2}" "http://$address:9464$1"; }
gauge() { page /metrics | grep "^dsql_$1"; }
wait_for() { # wait_for TEXT COMMAND...
    local said=''
    for _ in $(seq 6000); do
        said=$("${@:2}") || true
        case $said in *"$1"*) return 0 ;; esac
        sleep 0.1
    done
    fail "'${*:2}' never says '$1', but: ${said:0:300}"
}

# The embedded configuration: HTTP, values of the command line, standalone activities. How long it takes to start says
# how busy this machine is, and how long an end may take here.
SECONDS=0
DSQL_METRICS_ADDRESS=$address:9464 DSQL_POOL_MAX_OPEN=20 start_server a --port 0 \
    --dynamic-config-value limit.maxIDLength=60 --dynamic-config-value 'system.enableX="y"' --log-level error
longest=$((60 + 5 * SECONDS))
http=$(sed -n 's/^Temporal is at .*, HTTP at //p' "$scratch"/a.*.log)
[ -n "$http" ] || fail "there is no HTTP"
post() { curl -sS --max-time 30 -X POST "http://$http/api/v1/namespaces/default/$1" -d "$2"; }
work='"taskQueue": {"name": "nobody"}'
contains "$(post "workflows/$(printf '%061d' 0)" "{\"workflowType\": {\"name\": \"t\"}, $work}")" ' exceeds '
contains "$(post activities/alone "{\"activityType\": {\"name\": \"t\"}, $work, \"startToCloseTimeout\": \"10s\"}")" '"started":true'
[ "$(page /healthz)" = ok ] || fail "/healthz"
[ "$(page /readyz)" = ready ] || fail "/readyz"
contains "$(page /status.json)" '"title": "temporal-dsql-server"'
contains "$(page /)" '<html'
wait_for 'target{service="dsql"} 20' gauge reservoir_target # gauges are a second old
[ "$(page /metrics -o "$scratch/refused" -w '%{http_code}' -H 'Host: evil.example')" = 421 ] || fail "another host is answered"

# The cluster goes away: /readyz says so and why, and the server still ends when it is told to.
stop_local
wait_for 'last error: connection to server' page /readyz
contains "$(page /readyz -w '%{http_code}')" 503
kill -TERM "$pid_a"
SECONDS=0
wait "$pid_a" || true # Temporal's worker service may call it fatal that it could not start
echo "server: ended $SECONDS s after SIGTERM, without a cluster"
[ $SECONDS -lt $longest ] || fail "it ended $SECONDS s after SIGTERM"

# The cluster takes connections and answers nobody, with workflows under way.
start_local --port "$PGPORT" --aws-keys
DSQL_POOL_MAX_OPEN=20 start_server a --port 0 --log-level error
"$check" --address "$address_a" --count 50 --at 20 --limit 600s >/dev/null 2>&1 &
check_pid=$!
for _ in $(seq 6000); do
    [ "$(ask 'select count(*) > 5 from current_executions')" != t ] || break
    sleep 0.1
done
"$dsql" local fault --data "$scratch/data" stall=1h >/dev/null
kill -TERM "$pid_a"
SECONDS=0
wait "$pid_a" || true
echo "server: ended $SECONDS s after SIGTERM, with a cluster that does not answer"
[ $SECONDS -lt $longest ] || fail "it ended $SECONDS s after SIGTERM, with a cluster that does not answer"
kill "$check_pid" 2>/dev/null || true
stop_local

# Sizes from Temporal's configuration, more than the default of the environment; what is ignored is said.
start_local --port "$PGPORT" --aws-keys
sed 's|name: dsql$|&\n        options: {maxConns: 130, maxIdleConns: 5, maxConnLifetime: 5m, colour: red}|' \
    "$root/deploy/temporal/temporal.yaml" >"$scratch/temporal.yaml"
export TEMPORAL_BIND_IP=$address TEMPORAL_BROADCAST_ADDRESS=$address TEMPORAL_HISTORY_SHARDS=4
start_server a --config "$scratch/temporal.yaml" --metrics "$address:9464"
wait_for 'max_open{service="dsql"} 130' gauge pool_max_open
wait_for 'target{service="dsql"} 130' gauge reservoir_target
contains "$(page /status.json)" '"lifetime_s": 300'
for ignored in 'option colour is not known' 'maxIdleConns is ignored'; do
    [ "$(grep -c "$ignored" "$scratch"/a.*.log | awk -F: '{n += $2} END {print n}')" = 1 ] || fail "'$ignored' is not said once"
done
kill_server "$pid_a" TERM
echo "server: pages, sizes, HTTP, dynamic configuration and its end are as documented"

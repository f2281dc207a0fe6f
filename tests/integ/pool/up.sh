#!/bin/bash
# `dsql up`, on its own endpoint and on one that is given: it works, it can be watched, it ends in order
# whatever ends it, and leaves nothing behind.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
unset DSQL_ENDPOINT CLUSTER_ENDPOINT
export TMPDIR="$scratch/tmp" # what it leaves behind would be here
mkdir "$TMPDIR"
chmod 711 "$scratch" "$TMPDIR" # PostgreSQL runs as another user

wait_for() { # wait_for WHAT COMMAND...: until it succeeds
    local what=$1
    shift
    for _ in $(seq 6000); do
        "$@" && return
        kill -0 "$pid" 2>/dev/null || fail "dsql up ended before $what: $(cat "$scratch/up.out" "$scratch/up.err")"
        sleep 0.1
    done
    fail "waited in vain for $what: $(cat "$scratch/up.out" "$scratch/up.err")"
}
start_up() { # start_up OPTION...
    : >"$scratch/up.out"
    "$dsql" up "$@" >"$scratch/up.out" 2>"$scratch/up.err" &
    pid=$!
}
end_up() { # end_up STATUS
    local status=0
    wait $pid || status=$?
    [ $status = "$1" ] || fail "dsql up ended with $status, not $1: $(cat "$scratch/up.out" "$scratch/up.err")"
    out=$(cat "$scratch/up.out")
    err=$(cat "$scratch/up.err")
}
is_empty() { [ -z "$(ls -A "$TMPDIR")" ]; }
nothing_left() {
    eventually is_empty || true
    [ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -A "$TMPDIR")"
    ! pgrep -f "$TMPDIR" >/dev/null || fail "still running: $(pgrep -af "$TMPDIR")"
}
url() { sed -n 's/^status page: \([^ ]*\).*/\1/p' "$scratch/up.out"; }
get() { python3 - "$1" <<'PY'
import sys, urllib.request
print(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1], timeout=60).read().decode(), end="")
PY
}

# On its own endpoint, until connections have been replaced and transactions committed. A port that is
# taken is no obstacle.
python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(3600)' \
    >"$scratch/taken" &
squatter=$!
trap 'kill $squatter ${pid:-} 2>/dev/null || true; wait || true; rm -rf "$scratch"' EXIT
eventually test -s "$scratch/taken"
port=$(cat "$scratch/taken")
start_up --seconds 0 --connections 10 --threads 4 --accounts 20 --lifetime 5s --address "127.0.0.1:$port"
wait_for 'the status page' grep -q '^status page' "$scratch/up.out"
grep -q '(the usual port is taken)' "$scratch/up.out" || fail "$(cat "$scratch/up.out")"
page=$(url)
case $page in "http://127.0.0.1:$port/") fail "two at one port" ;; esac
has_worked() {
    get "${page}status.json" >"$scratch/status.json"
    python3 - "$scratch/status.json" <<'PY'
import json, sys
s = json.load(open(sys.argv[1]))
closed = sum(s["discards"].values())
sys.exit(0 if s["totals"]["commits"] >= 100 and s["totals"]["opens"] > 15 and closed > 5 and s["history"]["opens"] else 1)
PY
}
wait_for 'some work' has_worked
python3 - "$scratch/status.json" <<'PY' || fail "$(cat "$scratch/status.json")"
import json, sys
s = json.load(open(sys.argv[1]))
p = s["pool"]
assert p["target"] == 10 and p["max_open"] == 10 and p["ready"] + p["in_use"] + p["opening"] + p["closing"] <= 10, p
assert s["mode"] == "reservoir" and s["state"] in ("ready", "filling"), s["state"]
assert sum(s["ages"]["counts"]) <= 10 and s["ages"]["lifetime_s"] == 6
assert s["budget"]["rate_limit"] == 10 and s["budget"]["burst"] == 100, s["budget"]
assert s["errors"] == [], s["errors"]
PY
get "${page}metrics" >"$scratch/metrics"
grep -q '^dsql_reservoir_refills_total{service="dsql"} [1-9]' "$scratch/metrics" || fail "no opens in the metrics"
grep -q '^dsql_reservoir_target{service="dsql"} 10$' "$scratch/metrics" || fail "no target in the metrics"
status=0
"$SOURCE_DIR/.tools/promtool" check metrics <"$scratch/metrics" >"$scratch/promtool" 2>&1 || status=$?
[ $status = 0 ] || [ $status = 3 ] || fail "promtool: $(cat "$scratch/promtool")" # 3: only about names
[ "$(get "${page}healthz")" = ok ] || fail "healthz"
is_ready() { [ "$(get "${page}readyz" 2>"$scratch/refused")" = ready ]; } # between two connections it may not be
wait_for readyz is_ready

# Ctrl-C: the summary, and nothing is left.
kill -INT $pid
end_up 0
for part in 'then stopped: 10 connections, 4 threads, 20 accounts' committed 'p50 ' 'p99.9 ' 'found empty' 'opens   ' \
    'expiring_soon_on_scan' 'sum            20000 in each of'; do
    contains "$out" "$part"
done
printf '%s\n' "$out" | awk '/^ +[0-9]+ s / {n++; if (length($0) > 79) exit 2} END {exit n > 0 ? 0 : 1}' ||
    fail "progress lines: $out"
nothing_left

# By itself, for machines.
expect 0 "$dsql" up --seconds 4 --connections 5 --threads 2 --address off --json
python3 - "$scratch/out" <<'PY' || fail "$out $err"
import json, sys
s = json.load(open(sys.argv[1]))
assert s["good"] and s["transfers"] > 0 and s["failed"] == 0 and s["sums_wrong"] == 0, s
assert s["sum"] == s["expected_sum"] == 200000 and s["audits"] >= 1, s
assert s["status_page"] is None and s["seconds"] >= 4 and not s["interrupted"], s
assert s["opens"] >= 5 and s["checkouts"] >= s["transfers"] and s["checkout_ns"]["p50"] > 0, s
assert s["discards"]["drain"] == 0, s
PY
[ -z "$err" ] || fail "--json is not alone: $err"
nothing_left

# On an endpoint that is given: its table goes, whatever ends it.
cat >"$scratch/given.sh" <<'SH'
set -eu
tables() { psql -AtXc "select count(*) from pg_tables where tablename like 'dsql_up_%'"; }
for signals in HUP 'INT TERM TERM'; do
    "$dsql" up --seconds 0 --connections 5 --threads 2 --address off >"$SCRATCH/given.out" 2>&1 &
    pid=$!
    until grep -q '^ *[1-9][0-9]* s ' "$SCRATCH/given.out"; do
        kill -0 $pid || { cat "$SCRATCH/given.out"; exit 1; }
        sleep 0.1
    done
    [ "$(tables)" = 1 ] || { echo "no table of its own"; exit 1; }
    for signal in $signals; do kill -$signal $pid 2>/dev/null || true; done
    status=0
    wait $pid || status=$?
    [ $status = 0 ] || { echo "$signals: $status"; cat "$SCRATCH/given.out"; exit 1; }
    [ "$(tables)" = 0 ] || { echo "$signals: the table is still there"; exit 1; }
done
# Nobody reads it any more: it ends in order.
"$dsql" up --seconds 60 --connections 5 --threads 2 --address off | head -n 3 >/dev/null || true
[ "$(tables)" = 0 ] || { echo "a closed pipe: the table is still there"; exit 1; }
SH
SCRATCH=$scratch expect 0 "$dsql" local exec -- bash "$scratch/given.sh"
nothing_left

# Stopped while the endpoint starts.
start_up --seconds 5 --address off
sleep 0.3 # usually in the middle; it must end in order whenever it is
kill -TERM $pid
wait $pid || true
nothing_left

# What can't work says so.
export AWS_ACCESS_KEY_ID=AKIATEST AWS_SECRET_ACCESS_KEY=secret DSQL_REGION=us-east-1
DSQL_ENDPOINT=localhost:1 PGHOSTADDR=127.0.0.1 expect 1 "$dsql" up --address off
contains "$err" "no connection to localhost:1"
contains "$err" "dsql doctor"
for wrong in --seconds=x --threads=0 --connections=0 --accounts=1 --lifetime=1s --pause=x --address=nonsense; do
    expect 2 "$dsql" up "$wrong"
    contains "$err" "${wrong%%=*}"
done
nothing_left

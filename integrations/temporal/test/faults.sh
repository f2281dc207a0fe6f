#!/bin/bash
# Workflows while everything fails: 40001 at 5 % of commits, connections closed at COMMIT with and without
# it having been applied, connections dropped, the server killed -9, PostgreSQL killed -9. Every workflow
# completes, once. COUNT workflows (70) in each round.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
count=${COUNT:-70}

round() { # round NAME COMMAND...: workflows while COMMAND runs
    local name=$1 status=0
    shift
    "$check" --address "$address_a" --count "$count" --at 20 --limit 300s >"$scratch/check" 2>&1 &
    local check_pid=$!
    servers="$servers $check_pid"
    "$@"
    wait $check_pid || status=$?
    [ $status = 0 ] || fail "$name: $(tail -5 "$scratch/check"); $(grep -h '"level":"error"' "$scratch"/a.*.log | tail -3 | cut -c1-400)"
    echo "$name: $(cat "$scratch/check")"
}

drop_often() {
    for _ in 1 2 3 4; do
        sleep 1
        "$dsql" local fault drop=50% >/dev/null
    done
}

restart_server() {
    sleep 3
    kill_server "$pid_a" KILL
    start_server a --port "${address_a##*:}"
}

# PostgreSQL dies, the endpoint ends with it and comes back with the same keys and at the same port.
restart_postgres() {
    sleep 3
    kill -KILL "$(head -1 "$scratch/data/pg/postmaster.pid")"
    wait "$local_pid" 2>/dev/null || true
    start_local --port "$PGPORT" --aws-keys
}

start_local --port 0
"$dsql" schema apply >/dev/null
start_server a --port 0
"$dsql" local fault conflict-commit=5% seed=1 >/dev/null
round 'conflicts at 5 % of commits' true
"$dsql" local fault clear >/dev/null
"$dsql" local fault close-commit=2% close-applied=2% seed=2 >/dev/null
round 'connections closed at 4 % of commits' true
"$dsql" local fault clear >/dev/null
round 'half of the connections dropped, four times' drop_often
round 'the server killed -9' restart_server
round 'PostgreSQL killed -9' restart_postgres
kill_server "$pid_a" TERM

#!/bin/bash
# Workflows while everything fails: 40001 at 5 % of commits, connections closed at COMMIT with and without
# it having been applied, connections dropped, the server killed -9, PostgreSQL killed -9, and all of it
# together. Every workflow completes, exactly once, and visibility lists every run as its history has it, also by search
# attributes that change meanwhile. At last the workflows of the first round are deleted while things fail. `dsql visibility
# repair` finds nothing to mend, and rows, postings and counters agree with the executions. COUNT workflows (70) in each
# round; arguments choose rounds by name.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/seen.bash
. "$(dirname "$0")/seen.bash"
check_options=(--attributes)
count=${COUNT:-70}

fault() { "$dsql" local fault --data "$scratch/data" "$@" >/dev/null; }

drop_often() {
    while kill -0 "$check_pid" 2>/dev/null; do
        fault drop=50%
        sleep 2
    done
}

restart_server() {
    reached "$@" || return 0
    kill_server "$pid_a" KILL
    start_server a --port "${address_a##*:}"
}

# PostgreSQL dies, the endpoint ends with it and comes back with the same keys and at the same port.
restart_postgres() {
    reached "$@" || return 0
    kill -KILL "$(head -1 "$scratch/data/pg/postmaster.pid")"
    wait "$local_pid" 2>/dev/null || true
    start_local --port "$PGPORT" --aws-keys
}

thrice() { # thrice COMMAND: at a quarter, half and three quarters of the way
    for quarter in 1 2 3; do "$@" $quarter 4; done
}

everything() {
    local faults=(conflict-commit=5% close-commit=1% close-applied=1% seed=3)
    fault "${faults[@]}"
    restart_server 1 5
    fault drop=50%
    restart_postgres 2 5
    fault "${faults[@]}"
    restart_server 3 5
    fault drop=50%
    restart_postgres 4 5
    fault "${faults[@]}"
}

none() { workflows 'nothing fails' "$count" true; }
conflicts() {
    fault conflict-commit=5% seed=1
    workflows '40001 at 5 % of commits' "$count" true
}
closes() {
    fault close-commit=2% close-applied=2% seed=2
    workflows 'connections closed at 4 % of commits, half of them after it was applied' "$count" true
}
drops() { workflows 'half of the connections dropped, every two seconds' "$count" drop_often; }
server() { workflows 'the server killed -9 three times' "$count" thrice restart_server; }
postgres() { workflows 'PostgreSQL killed -9 three times' "$count" thrice restart_postgres; }
together() { workflows 'all of it together' "$count" everything; }

# The workflows of the first round are deleted while commits meet conflicts and connections close, and the server is
# killed in the middle.
delete_first() {
    local first left
    read -r first _ <<<"$rounds_of"
    fault conflict-commit=5% close-commit=2% close-applied=2% seed=4
    "$check" --delete --address "$address_a" --prefix "${first%:*}" --count "${first#*:}" --limit $((600 + 2 * count))s >"$scratch/deleted" 2>&1 &
    check_pid=$!
    left=$count
    while [ "$left" -gt $((count / 2)) ] && kill -0 "$check_pid" 2>/dev/null; do
        sleep 0.2
        left=$(ask "select count(*) from current_executions where workflow_id like '${first%:*}-%' and workflow_id not like '%-child'")
    done
    kill_server "$pid_a" KILL
    start_server a --port "${address_a##*:}"
    wait "$check_pid" || fail "deleting: $(tail -3 "$scratch/deleted")"
    fault clear
    cat "$scratch/deleted"
}

start_cluster --port 0
start_server a --port 0
[ $# -gt 0 ] || set -- none conflicts closes drops server postgres together
for round; do
    "$round"
    fault clear
done
for round in $rounds_of; do # once more, when all is quiet
    "$check" --audit --address "$address_a" --prefix "${round%:*}" --count "${round#*:}" --limit 300s
done | awk '{n += $1; runs += $3; events += $5} END {printf "in all: %d workflows, %d runs, %d events, each exactly once\n", n, runs, events}'
compare_visibility
delete_first
agreed=$("$dsql" visibility repair) || fail "visibility: $agreed"
[ "$agreed" = "$("$dsql" visibility check)" ] || fail "repair and check say different things: $agreed"
echo "visibility: $agreed"
compare_visibility
kill_server "$pid_a" TERM

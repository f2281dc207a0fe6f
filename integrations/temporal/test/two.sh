#!/bin/bash
# Two servers share the shards on one endpoint. One is paused for longer than the other takes to acquire
# its shards, and resumed; then it is killed. No event is lost or doubled: the stale owner loses.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
count=${COUNT:-70}
start_local --port 0
"$dsql" schema apply >/dev/null
start_server a --port 0
start_server b --port 0

workflows() {
    "$check" --address "$address_a" --count "$count" --at 20 --limit 400s >"$scratch/check" 2>&1 &
    check_pid=$!
    servers="$servers $check_pid"
}
finished() { # finished NAME
    wait "$check_pid" || fail "$1: $(tail -5 "$scratch/check")"
    echo "$1: $(cat "$scratch/check")"
}

workflows
sleep 3
kill -STOP "$pid_b"
sleep 15
kill -CONT "$pid_b"
finished 'one of two servers paused for 15 s and resumed'
workflows
sleep 3
kill_server "$pid_b" KILL
finished 'one of two servers killed -9'
kill_server "$pid_a" TERM

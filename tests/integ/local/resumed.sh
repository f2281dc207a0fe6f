#!/bin/bash
# A command that is stopped and continued (Ctrl-Z and fg) while it waits for an answer goes on waiting.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
start_local --port 0

# resumed COMMAND...: the endpoint stands still until the command has been stopped and continued again and again.
resumed() {
    local pid status=0 times=0
    kill -STOP "$local_pid"
    bash -c '. "$0"; exec "$@"' "$scratch/ready" "$@" >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    while [ $((times += 1)) -le 50 ]; do
        { kill -STOP $pid && kill -CONT $pid; } 2>/dev/null || break
        sleep 0.05
    done
    kill -CONT "$local_pid"
    wait $pid || status=$?
    [ $status = 0 ] || fail "'$*' ended with $status: $(cat "$scratch/out" "$scratch/err")"
}
resumed "$dsql" local status --data "$scratch/data"
grep -q '^open=' "$scratch/out" || fail "$(cat "$scratch/out")"
resumed "$dsql" doctor --timeout 10m
grep -q '^ok    tls ' "$scratch/out" || fail "$(cat "$scratch/out")"
stop_local

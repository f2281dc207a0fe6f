#!/bin/bash
# shellcheck disable=SC2034 # what is set here is used by those who read this file
# What the scripts here share: a 'dsql local' with its data in a scratch folder, servers on it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
dsql=$root/build/dsql
server=$root/build/temporal/temporal-dsql-server
check=$root/build/temporal/temporal-check
export AWS_EC2_METADATA_DISABLED=true DSQL_STAGGERED_STARTUP=false DSQL_LOG_LEVEL=${DSQL_LOG_LEVEL:-error}
scratch=$(mktemp -d)
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
local_pid='' servers=''

cleanup() {
    # shellcheck disable=SC2086 # a list
    [ -z "$servers" ] || kill -KILL $servers 2>/dev/null || true
    [ -z "$local_pid" ] || kill -TERM "$local_pid" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$scratch"
}
trap cleanup EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

start_local() { # start_local OPTIONS...
    rm -f "$scratch/ready"
    "$dsql" local --data "$scratch/data" --ready-file "$scratch/ready" "$@" >"$scratch/local.out" 2>"$scratch/local.err" &
    local_pid=$!
    for _ in $(seq 600); do
        [ ! -e "$scratch/ready" ] || break
        kill -0 "$local_pid" 2>/dev/null || fail "dsql local ended: $(cat "$scratch/local.err")"
        sleep 0.1
    done
    # shellcheck disable=SC1091 # written by dsql local
    . "$scratch/ready"
}

# start_server NAME OPTIONS...: its process in $pid_NAME, its address in $address_NAME.
start_server() {
    local name=$1 pid address
    shift
    # Each start has a log of its own; a server that is still paused must not be mistaken for this one.
    local log=$scratch/$name.$((++starts)).log
    "$server" "$@" >"$log" 2>&1 &
    pid=$!
    servers="$servers $pid"
    for _ in $(seq 1200); do
        ! grep -q '^Temporal is at' "$log" || break
        kill -0 $pid 2>/dev/null || fail "the server ended: $(tail -3 "$log")"
        sleep 0.1
    done
    address=$(sed -n 's/^Temporal is at \([^,]*\),.*/\1/p' "$log")
    [ -n "$address" ] || fail "the server does not come up: $(tail -3 "$log")"
    eval "pid_$name=$pid address_$name=$address"
}
starts=0 pid_a='' address_a='' pid_b='' # set by start_server

kill_server() { # kill_server PID SIGNAL
    kill "-$2" "$1"
    wait "$1" 2>/dev/null || true
}

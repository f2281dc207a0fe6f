#!/bin/bash
# What the integration tests share. Each gets SOURCE_DIR, BUILD_DIR and CC from ctest, and a scratch
# folder that goes away with it.
set -euo pipefail
export dsql=$BUILD_DIR/dsql
export AWS_EC2_METADATA_DISABLED=true # no test asks the machine it runs on for credentials
scratch=$(mktemp -d)
local_pid='' # of start_local
# What a test has left running ends with it: an endpoint is asked to, the rest is killed.
cleanup() {
    local job
    for job in $(jobs -pr) $(jobs -ps); do
        if [ "$job" = "$local_pid" ]; then kill -TERM "$job"; else kill -KILL "$job"; fi 2>/dev/null || true
    done
    wait 2>/dev/null || true
    rm -rf "$scratch"
}
trap cleanup EXIT

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# expect STATUS COMMAND...: runs it, keeps what it said in $out and $err.
expect() {
    local wanted=$1 status=0
    shift
    "$@" >"$scratch/out" 2>"$scratch/err" || status=$?
    out=$(cat "$scratch/out")
    err=$(cat "$scratch/err")
    [ "$status" = "$wanted" ] || fail "'$*' ended with $status, not $wanted: $out $err"
}

# eventually COMMAND...: waits until it succeeds. No test is about speed: ten minutes and more are for a machine that is
# busy with other things, and tries are counted instead of seconds, which pass for a machine that stands still.
eventually() {
    local tries
    for ((tries = 0; tries < 6000; tries++)); do
        if "$@"; then return 0; fi
        sleep 0.1
    done
    return 1
}
export -f eventually # for scripts inside 'dsql local exec'

contains() { # contains TEXT PART
    case $1 in
        *"$2"*) ;;
        *) fail "'$2' is missing in: $1" ;;
    esac
}

# start_local OPTIONS...: a `dsql local` in $local_pid with its data in $scratch/data, which stays for the
# next one. When it returns, $scratch/ready holds the environment of its clients.
start_local() {
    chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
    rm -f "$scratch/ready"
    "$dsql" local --data "$scratch/data" --ready-file "$scratch/ready" "$@" >"$scratch/local.out" 2>"$scratch/local.err" &
    local_pid=$!
    eventually is_ready || fail "dsql local is not ready"
}
is_ready() {
    [ ! -e "$scratch/ready" ] || return 0
    kill -0 "$local_pid" 2>/dev/null || fail "dsql local ended: $(cat "$scratch/local.err")"
    return 1
}

stop_local() {
    local status=0
    kill -TERM "$local_pid"
    wait "$local_pid" || status=$?
    local_pid=''
    [ $status = 0 ] || fail "SIGTERM ended dsql local with $status: $(cat "$scratch/local.err")"
}

in_env() { # in_env COMMAND...: as a client of start_local's endpoint
    # shellcheck disable=SC2016 # a program for another shell
    bash -c 'source "$0"; "$@"' "${client_env:-$scratch/ready}" "$@"
}

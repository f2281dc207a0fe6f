#!/bin/bash
# shellcheck disable=SC2034 # what is set here is used by those who read this file
# What the scripts here share: servers on a 'dsql local', and workflows on them.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
export SOURCE_DIR=$root BUILD_DIR=$root/build
# shellcheck source=tests/integ/lib.bash
. "$root/tests/integ/lib.bash"
server=$root/build/temporal/temporal-dsql-server
check=$root/build/temporal/temporal-check
export DSQL_STAGGERED_STARTUP=false DSQL_LOG_LEVEL=${DSQL_LOG_LEVEL:-error}

start_cluster() { # start_cluster OPTIONS...: a 'dsql local' with this shell as its client, and the schema
    start_local "$@"
    # shellcheck disable=SC1091 # written by dsql local
    . "$scratch/ready"
    "$dsql" schema apply >/dev/null
}

# What the tables hold. The endpoint is asked until its faults let an answer through: nobody else gets at the
# PostgreSQL behind it.
ask() { # ask SQL
    for _ in $(seq 6000); do
        ! psql -XqAt -v ON_ERROR_STOP=1 -c "$1" 2>"$scratch/ask" || return 0
        sleep 0.1
    done
    fail "no answer to '$1': $(cat "$scratch/ask")"
}

# worker_polls LOG: Temporal's worker service starts after the rest, and ends the server if it cannot. It is up when it
# polls; without HTTP nobody can ask. A server that is told which services to run is taken to have none.
worker_polls() {
    local http
    http=$(sed -n 's/^Temporal is at .*, HTTP at //p' "$1")
    [ -n "$http" ] || return 0
    curl -sS --max-time 30 "http://$http/api/v1/namespaces/temporal-system/task-queues/default-worker-tq" 2>&1 | grep -q '"identity"'
}

# start_server NAME OPTIONS...: its process in $pid_NAME, its address in $address_NAME. A server that ends
# while it starts is started again, as a supervisor would: Temporal gives up on the first error it meets
# then, be it a dropped connection.
start_server() {
    local name=$1 pid log address=''
    shift
    for _ in 1 2 3 4 5; do
        # Each start has a log of its own; a server that is still paused must not be mistaken for this one.
        log=$scratch/$name.$((++starts)).log
        : >"$log" # it is read before the server has opened it
        "$server" "$@" >"$log" 2>&1 &
        pid=$!
        for _ in $(seq 6000); do
            address=$(sed -n 's/^Temporal is at \([^,]*\),.*/\1/p' "$log")
            [ -z "$address" ] || { [[ " $* " != *' --services '* ]] && ! worker_polls "$log"; } || break 2
            kill -0 $pid 2>/dev/null || break
            sleep 0.1
        done
        ! kill -0 $pid 2>/dev/null || fail "the server does not come up: $(tail -3 "$log")"
        address=''
    done
    [ -n "$address" ] || fail "the server ended: $(tail -3 "$log")"
    eval "pid_$name=$pid address_$name=$address"
}
starts=0 pid_a='' address_a='' pid_b='' # set by start_server

# owned COUNT [RANGES]: waits until so many shards have an owner; with what ranges said of an earlier one, until each has a
# new one. A shard that is acquired says 'shard status unknown', too.
ranges() { ask 'select shard_id, range_id from shards order by shard_id'; }
owned() {
    for _ in $(seq 6000); do
        if [ "$(ask 'select count(*) from shards where range_id > 0')" -ge "$1" ] && [ -z "$(comm -12 <(echo "${2:-}") <(ranges))" ]; then return 0; fi
        sleep 0.1
    done
    fail "shards without an owner: $(ranges | xargs), before ${2:-}"
}

kill_server() { # kill_server PID SIGNAL
    kill "-$2" "$1"
    wait "$1" 2>/dev/null || true
}

# workflows NAME COUNT [COMMAND...]: as many of all kinds, 50 at once, on server a, while COMMAND does its
# worst; then every history is audited. check_options are further ones.
workflows() {
    local name=$1 count=$2 status=0
    shift 2
    prefix=check-$((++rounds)) started=0
    rounds_of="$rounds_of $prefix:$count"
    "$check" --address "$address_a" --prefix "$prefix" --count "$count" --limit $((600 + 2 * count))s "${check_options[@]}" >"$scratch/check" 2>&1 &
    check_pid=$!
    "$@"
    wait "$check_pid" || status=$?
    [ $status = 0 ] || fail "$name: $(tail -5 "$scratch/check"); $(grep -h '"level":"error"' "$scratch"/[ab].*.log | tail -3 | cut -c1-400)"
    echo "$name:"
    sed 's/^/    /' "$scratch/check"
    audit_rows "$(sed -n 's/.* \([0-9]*\) runs,.*/\1/p' "$scratch/check")"
}
rounds=0 rounds_of='' prefix='' check_pid='' started=0 # set by workflows
check_options=()

# reached N D: waits until N/D of the workflows have been started, or all are over.
reached() {
    while kill -0 "$check_pid" 2>/dev/null; do
        [ $((started * $2)) -lt $(($1 * ${rounds_of##*:})) ] || return 0
        sleep 0.2
        started=$(ask "select count(*) from current_executions where workflow_id like '$prefix-%' and workflow_id not like '%-child'")
    done
    return 1
}

# audit_rows RUNS: the tables hold these runs of the last workflows and no other, one of each id is
# current, and nothing of what was pending is left.
audit_rows() {
    local rows
    rows=$(ask "
        select (select count(*) from executions where workflow_id like '$prefix-%'),
            (select count(distinct workflow_id) from executions where workflow_id like '$prefix-%')
            - (select count(*) from current_executions where workflow_id like '$prefix-%'),
            (select count(*) from activity_info_maps where workflow_id like '$prefix-%')
            + (select count(*) from timer_info_maps where workflow_id like '$prefix-%')
            + (select count(*) from child_execution_info_maps where workflow_id like '$prefix-%')
            + (select count(*) from request_cancel_info_maps where workflow_id like '$prefix-%')
            + (select count(*) from signal_info_maps where workflow_id like '$prefix-%')
            + (select count(*) from buffered_events where workflow_id like '$prefix-%')")
    [ "$rows" = "$1|0|0" ] || fail "$1 runs were seen; runs, ids without a current run, pending things in the tables: $rows"
}

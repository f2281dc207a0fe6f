#!/bin/bash
# The policies of deploy/iam are enough: between the program and DynamoDB stands a gateway that lets pass only what a
# policy allows. A process of each protocol fills its pool and drains, an operator sets up, looks and repairs, and
# nothing is refused; with a policy for another purpose they are refused.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/budget/dynamodb.bash
. "$SOURCE_DIR/tests/integ/budget/dynamodb.bash"
export SOURCE_DIR BUILD_DIR scratch
export DSQL_DISTRIBUTED_CONN_LEASE_TABLE=fleet DSQL_POOL_MAX_OPEN=3 DSQL_RESERVOIR_ENABLED=true
export DSQL_STAGGERED_STARTUP=false DSQL_LOG_LEVEL=warn DSQL_RESERVOIR_INITIAL_FILL_TIMEOUT=1s

cat >"$scratch/play.bash" <<'SH'
set -euo pipefail
upstream=$AWS_ENDPOINT_URL_DYNAMODB
gateway=
trap '[ -z "$gateway" ] || kill "$gateway"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
until_in() { # until_in FILE TEXT
    eventually grep -q "$2" "$1" || fail "'$2' does not appear: $(cat "$1" "$scratch/member.err")"
}
with() { # with TABLE=POLICY...: from now on only that is allowed
    [ -z "$gateway" ] || { kill "$gateway"; wait "$gateway" 2>/dev/null || true; }
    rm -f "$scratch/port"
    local pair pairs=()
    for pair; do pairs+=("${pair%=*}=$SOURCE_DIR/deploy/iam/${pair#*=}.json"); done
    python3 "$SOURCE_DIR/tests/integ/aws/policy_gateway.py" "$upstream" "$scratch/port" "${pairs[@]}" >"$scratch/passed" &
    gateway=$!
    eventually test -e "$scratch/port" || fail 'the gateway does not start'
    export AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:$(cat "$scratch/port")
}
nothing_refused() { ! grep deny "$scratch/passed" || fail "$1 lacks a right"; }
member() { # member BUDGET TABLE=POLICY...: fills its pool, and gives everything back
    with "${@:2}"
    : >"$scratch/member"
    : >"$scratch/member.err"
    DSQL_BUDGET=$1 "$BUILD_DIR/tests/budget_member" >"$scratch/member" 2>"$scratch/member.err" &
    local pid=$!
    until_in "$scratch/member" ready=3
    kill $pid
    wait $pid
    nothing_refused "${*:2}"
    grep -q 'allow UpdateItem' "$scratch/passed" || fail "$1 did not ask the table"
}
refused() { # refused BUDGET TABLE=POLICY...
    with "${@:2}"
    : >"$scratch/member.err"
    DSQL_BUDGET=$1 "$BUILD_DIR/tests/budget_member" >"$scratch/member" 2>"$scratch/member.err" &
    local pid=$!
    until_in "$scratch/member.err" 'kind=DENIED'
    kill $pid
    wait $pid
}
operate() { # operate COMMAND...
    "$dsql" budget "$@" >"$scratch/said" 2>&1 || fail "dsql budget $*: $(cat "$scratch/said" "$scratch/passed")"
    nothing_refused budget-operator-policy
}
with fleet=budget-operator-policy connects=budget-operator-policy
for budget in blocks leases; do
    export DSQL_BUDGET=$budget
    operate setup
    operate status
done
operate repair --apply
DSQL_DISTRIBUTED_RATE_LIMITER_TABLE=connects operate setup
member blocks fleet=budget-policy
member leases fleet=budget-leases-policy
refused leases fleet=budget-policy
refused blocks fleet=budget-leases-policy
# Connects in a table of their own need one right there, and none of the others.
export DSQL_DISTRIBUTED_RATE_LIMITER_TABLE=connects
member leases fleet=budget-leases-policy connects=budget-limiter-policy
refused leases fleet=budget-leases-policy
refused leases connects=budget-limiter-policy
SH
start_server dynoxide
"$dsql" local exec -- bash "$scratch/play.bash"

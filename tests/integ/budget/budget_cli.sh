#!/bin/bash
# `dsql budget`, what is said when DynamoDB is not as it should be, and the registry's operations on real
# servers against the model that everything else is proved with.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/budget/dynamodb.bash
. "$SOURCE_DIR/tests/integ/budget/dynamodb.bash"
export AWS_ACCESS_KEY_ID=AKIAEXAMPLE AWS_SECRET_ACCESS_KEY=secret DSQL_LOG_LEVEL=warn
export DSQL_ENDPOINT=abcdefghijklmnopqrstuvwxyz.dsql.us-east-1.on.aws

expect 2 "$dsql" budget status
contains "$err" 'DSQL_DISTRIBUTED_CONN_LEASE_TABLE'
export DSQL_DISTRIBUTED_CONN_LEASE_TABLE=fleet
expect 2 env -u DSQL_ENDPOINT "$dsql" budget status
contains "$err" 'DSQL_ENDPOINT'
expect 1 env AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:9 "$dsql" budget status
contains "$err" 'table fleet in us-east-1: DynamoDB cannot be reached'

for kind in dynoxide dynamodb-local; do
    start_server "$kind"
    expect 1 "$dsql" budget status
    contains "$err" 'there is no such table'
    contains "$err" 'dsql budget setup'
    expect 0 "$dsql" budget setup
    expect 0 "$dsql" budget setup --json
    contains "$out" '"created": false'
    expect 0 "$dsql" budget status
    contains "$out" 'no process has used it for this cluster yet; they do when DSQL_BUDGET is blocks'
    expect 1 "$dsql" budget release 0123456789abcdef
    contains "$err" 'no owner 0123456789abcdef'
    expect 0 "$dsql" budget repair
    contains "$out" 'nothing to repair'
    # Both tables of `leases` are made at once, and only then.
    two=(env DSQL_BUDGET=leases DSQL_DISTRIBUTED_RATE_LIMITER_TABLE=connects)
    expect 0 "${two[@]}" DSQL_BUDGET=blocks "$dsql" budget setup
    [ "$out" = 'table fleet in us-east-1: is there' ] || fail "$out"
    expect 0 "${two[@]}" "$dsql" budget setup --json
    contains "$out" '{"table": "fleet", "region": "us-east-1", "created": false}'
    contains "$out" '{"table": "connects", "region": "us-east-1", "created": true}'
    expect 0 "$BUILD_DIR/tests/registry_diff" fleet 7 300
    contains "$out" 'the same'
    echo "$kind: $out"
    stop_server
done

# A pool without its table says so once and goes on trying; with the table made, it fills.
start_server dynoxide
cat >"$scratch/late.bash" <<'SH'
set -euo pipefail
export DSQL_BUDGET=blocks DSQL_POOL_MAX_OPEN=3 DSQL_STAGGERED_STARTUP=false DSQL_RESERVOIR_ENABLED=true
export DSQL_RESERVOIR_INITIAL_FILL_TIMEOUT=1s DSQL_LOG_LEVEL=info
DSQL_DISTRIBUTED_CONN_LIMIT=77 "$BUILD_DIR/tests/budget_member" >"$1/member" 2>"$1/member.err" &
member=$!
trap 'kill -9 $member 2>/dev/null || true' EXIT
eventually grep -q budget.problem "$1/member.err"
grep -q 'event=budget.problem kind=NO_TABLE .*dsql budget setup' "$1/member.err"
doctor_says() { "$dsql" doctor >"$1/doctor" 2>&1 || true; grep -qE "$2" "$1/doctor" || { cat "$1/doctor"; exit 1; } >&2; }
doctor_says "$1" '^FAIL  budget .*there is no such table'
"$dsql" budget setup >/dev/null
eventually grep -q ready=3 "$1/member"
eventually grep -q event=budget.back "$1/member.err"
doctor_says "$1" '^ok    budget .*table fleet: 1 processes hold 3 of 77 connections, 100.0 connects/s'
# The limit is what the processes go by, not what this environment has.
"$dsql" budget status | grep -q '^blocks: 3 of 77 slots taken'
"$dsql" budget status --json | grep -q '"blocks": {"limit": 77, "slots": 3,'
DSQL_BUDGET=leases doctor_says "$1" '^ok    budget .*the counter says 0, there are 0 leases; TTL is on'
AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:9 doctor_says "$1" '^FAIL  budget .*DynamoDB cannot be reached'
kill $member
wait $member
SH
BUILD_DIR=$BUILD_DIR "$dsql" local exec -- bash "$scratch/late.bash" "$scratch" ||
    fail "a pool without its table: $(cat "$scratch/member.err")"

#!/bin/bash
# DynamoDB does not answer: without DSQL_BUDGET_FALLBACK_AFTER nothing is opened, with it each process takes its
# share; when DynamoDB is back, what it grants holds again.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/budget/dynamodb.bash
. "$SOURCE_DIR/tests/integ/budget/dynamodb.bash"
export BUILD_DIR scratch server
export DSQL_DISTRIBUTED_CONN_LEASE_TABLE=fleet DSQL_DISTRIBUTED_CONN_LIMIT=20 DSQL_POOL_MAX_OPEN=10
export DSQL_RESERVOIR_ENABLED=true DSQL_STAGGERED_STARTUP=false DSQL_RESERVOIR_INITIAL_FILL_TIMEOUT=100ms
export DSQL_BUDGET_FALLBACK_PROCESSES=5 DSQL_LOG_LEVEL=warn

cat >"$scratch/play.bash" <<'SH'
set -euo pipefail
fail() { echo "FAILED: $*: $(tail -n 3 "$scratch/member" "$scratch/member.err")" >&2; kill -9 $member; exit 1; }
says() { # says TEXT FILE: within a time that is long enough
    eventually grep -q "$1" "$scratch/$2" || fail "no $1"
}
start() { "$BUILD_DIR/tests/budget_member" >"$scratch/member" 2>"$scratch/member.err" & member=$!; }
"$dsql" budget setup >/dev/null 2>&1
kill -STOP "$server"
start
says budget.problem member.err
sleep 3 # in which it would open some, if it did
! grep -q 'ready=[1-9]' "$scratch/member" || fail 'opened although nobody granted it'
kill -9 $member
wait $member || true
export DSQL_BUDGET_FALLBACK_AFTER=1s
start
says 'ready=4 ' member
says event=budget.fallback member.err
! grep -qE 'ready=([5-9]|10) ' "$scratch/member" || fail 'more than its share'
kill -CONT "$server"
says 'ready=10 ' member
kill $member
wait $member
SH
for DSQL_BUDGET in blocks leases; do
    export DSQL_BUDGET
    start_server dynoxide
    export server
    "$dsql" local exec -- bash "$scratch/play.bash" || fail "$DSQL_BUDGET"
    stop_server
done

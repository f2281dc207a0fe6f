#!/bin/bash
# The protocol `leases` beside another program that writes the same items: leases of both count, the cap
# holds for both, what is given back by one is taken by the other, and a counter that drifted is repaired: our part of
# it, whatever became of the other program's items.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/budget/dynamodb.bash
. "$SOURCE_DIR/tests/integ/budget/dynamodb.bash"
export SOURCE_DIR BUILD_DIR scratch
export DSQL_BUDGET=leases DSQL_DISTRIBUTED_CONN_LEASE_TABLE=fleet DSQL_DISTRIBUTED_CONN_LIMIT=12
export DSQL_DISTRIBUTED_RATE_LIMITER_LIMIT=30 DSQL_POOL_MAX_OPEN=20 DSQL_RESERVOIR_ENABLED=true
export DSQL_STAGGERED_STARTUP=false DSQL_LOG_LEVEL=warn DSQL_RESERVOIR_INITIAL_FILL_TIMEOUT=1s

cat >"$scratch/play.bash" <<'SH'
. "$SOURCE_DIR/tests/integ/budget/play.bash"
go() { items "$1" fleet "$DSQL_ENDPOINT" "${2:-}"; }
"$dsql" budget setup 2>/dev/null
go keep
for _ in 1 2 3 4 5; do lease=$(go acquire 12); done
start
# Seven are left for us, and then there is nothing left for the other.
until_is 7 seen open
until_is 12 go active
[ "$(go ours)" = 7 ] || fail "$(go ours) leases"
[ "$(go acquire 12)" = 'TransactionCanceledException ConditionalCheckFailed' ] || fail "the cap does not hold for others"
(unset DSQL_DISTRIBUTED_CONN_LIMIT; "$dsql" budget status 2>/dev/null) >"$scratch/status"
grep -q 'leases: the counter says 12 of 12, 5 of them held by other programs' "$scratch/status" || fail "$(cat "$scratch/status")"
# What it gives back, we take.
go release "$lease"
until_is 8 seen open
until_is 12 go active
# Every connect had its permit in the second's counter.
[ "$(go connects 30)" -ge "$(seen admitted)" ] || fail "$(go connects 30) permits for $(seen admitted) connects"
# SIGTERM gives everything back.
kill "$member"
wait "$member"
until_is 4 go active
[ "$(go ours)" = 0 ] || fail 'leases left'
# A crash whose items DynamoDB deletes leaves the counter too high; repair says so, and then mends it.
start
until_is 8 seen open
kill -9 "$member"
wait "$member" || true
go lose
"$dsql" budget repair --json 2>/dev/null | grep -q '"active": 12, "right": 4, "others": 4, "counted": 4, .*"repaired": false' || fail "$("$dsql" budget repair)"
until_is 12 go active
"$dsql" budget repair --apply 2>/dev/null | grep -q repaired || fail 'not repaired'
until_is 4 go active
"$dsql" budget repair 2>/dev/null | grep -q 'nothing to repair' || fail 'still wrong'
# DynamoDB deletes the other program's items after three minutes, while its connections live: they still count.
go expire
"$dsql" budget repair --apply 2>/dev/null | grep -q 'and 4 for other programs (the Go plugin); nothing to repair' ||
    fail "$("$dsql" budget repair)"
until_is 4 go active
# When it is gone for good, somebody has to say so.
"$dsql" budget repair --apply --plugin-gone 2>/dev/null | grep -q '; repaired$' || fail 'not repaired'
until_is 0 go active
SH
on_each_server "$scratch/play.bash"

#!/bin/bash
# The two switches of the protocol `leases` are independent, and each has its own table: what is switched on is
# counted in its table and nowhere else, what is not is this process's own affair. A table that is missing
# holds up its own half only.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/budget/dynamodb.bash
. "$SOURCE_DIR/tests/integ/budget/dynamodb.bash"
export SOURCE_DIR BUILD_DIR scratch
export DSQL_DISTRIBUTED_CONN_LIMIT=6 DSQL_DISTRIBUTED_RATE_LIMITER_LIMIT=4 DSQL_POOL_MAX_OPEN=9
export DSQL_CONNECTION_RATE_LIMIT=50 DSQL_CONNECTION_BURST_LIMIT=50
export DSQL_RESERVOIR_ENABLED=true DSQL_STAGGERED_STARTUP=false DSQL_RESERVOIR_INITIAL_FILL_TIMEOUT=1s
export DSQL_LOG_LEVEL=warn

cat >"$scratch/play.bash" <<'SH'
. "$SOURCE_DIR/tests/integ/budget/play.bash"
go() { items "$2" "$1" "$DSQL_ENDPOINT" "${3:-}"; }
stop() {
    kill "$member"
    wait "$member"
    until_is 0 seen open
}
leases=(DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true DSQL_DISTRIBUTED_CONN_LEASE_TABLE=held)
limiter=(DSQL_DISTRIBUTED_RATE_LIMITER_ENABLED=true DSQL_DISTRIBUTED_RATE_LIMITER_TABLE=made)
"$dsql" budget setup --table held >/dev/null 2>&1
go held keep

# Leases alone: the cap of the cluster holds; connects are its own, and nobody counts them.
start "${leases[@]}"
until_is 6 seen open
[ "$(go held ours)" = 6 ] || fail "$(go held ours) leases in held"
[ "$(go held connects 4)" = 0 ] || fail 'connects in the table of the leases'
stop
[ "$(go held active)" = 0 ] || fail 'leases left'

# Both, each in its table, and the limiter's is not there yet: leases are held, nothing is opened, and it is said.
start "${leases[@]}" "${limiter[@]}"
until_is 6 go held ours
eventually grep -q 'kind=NO_TABLE .*table made ' "$scratch/member.err" || fail "$(cat "$scratch/member.err")"
[ "$(seen open)" = 0 ] || fail 'opened without a permit'
"$dsql" budget setup --table made >/dev/null 2>&1
go made keep
until_is 6 seen open
[ "$(go held connects 4)" = 0 ] || fail 'connects in the table of the leases'
[ "$(go made connects 4)" -ge 6 ] || fail "$(go made connects 4) permits in made"
[ "$(go made active)" = 0 ] || fail 'leases in the table of the limiter'
stop
[ "$(go held active)" = 0 ] || fail 'leases left'

# The limiter alone: all that the pool wants is opened, four a second; no lease is asked for.
drawn=$(go made connects 4)
before=$(seen admitted)
start "${limiter[@]}"
until_is 9 seen open
[ $(($(go made connects 4) - drawn)) -ge $(($(seen admitted) - before)) ] || fail 'connects without a permit'
[ "$(go held active)" = 0 ] || fail 'leases without their switch'
[ "$(go made ours)" = 0 ] || fail 'leases in the table of the limiter'
stop

# By its name it shares both, unless one is switched off.
start DSQL_BUDGET=leases "${limiter[1]}" DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=false
until_is 9 seen open
[ "$(go made ours)" = 0 ] || fail 'leases although they are switched off'
stop
start DSQL_BUDGET=leases "${limiter[1]}"
until_is 6 seen open
until_is 6 go made ours
stop
SH
on_each_server "$scratch/play.bash"

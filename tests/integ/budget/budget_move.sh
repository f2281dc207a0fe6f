#!/bin/bash
# The move from the Go plugin: a fleet that writes the plugin's items as the plugin does is replaced, process by process,
# by one of libdsql on the same two tables. One process of the plugin crashes, and DynamoDB deletes the plugin's leases
# while their connections live. Together the two never have more connections than the cap (the endpoint refuses none),
# no second has more permits than the rate, and no connect is without a permit. Each rule, broken, is noticed.
#
#     MOVE_SECONDS=60      stay as long in each step (none: until its condition holds)
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/budget/dynamodb.bash
. "$SOURCE_DIR/tests/integ/budget/dynamodb.bash"
cap=12 rate=5
export SOURCE_DIR BUILD_DIR scratch cap rate
export DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true DSQL_DISTRIBUTED_CONN_LEASE_TABLE=temporal-dsql-conn-lease
export DSQL_DISTRIBUTED_CONN_LIMIT=$cap
export DSQL_DISTRIBUTED_RATE_LIMITER_ENABLED=true DSQL_DISTRIBUTED_RATE_LIMITER_TABLE=temporal-dsql-rate
export DSQL_DISTRIBUTED_RATE_LIMITER_LIMIT=$rate
export DSQL_POOL_MAX_OPEN=6 DSQL_RESERVOIR_ENABLED=true DSQL_RESERVOIR_BASE_LIFETIME=12s DSQL_RESERVOIR_LIFETIME_JITTER=4s
export DSQL_RESERVOIR_GUARD_WINDOW=1s DSQL_RESERVOIR_INITIAL_FILL_TIMEOUT=1s DSQL_LOG_LEVEL=warn
# The endpoint is a judge, too. Permits of two seconds may meet in one, and what has a permit and is not yet connected
# comes on top: one connect of each process of the plugin, eight of each of ours. Beyond that nothing depends on speed.
burst=$((2 * rate + 3 + 3 * 8))

cat >"$scratch/play.bash" <<'SH'
set -euo pipefail
leases=$DSQL_DISTRIBUTED_CONN_LEASE_TABLE connects=$DSQL_DISTRIBUTED_RATE_LIMITER_TABLE
coproc tables { python3 "$SOURCE_DIR/tests/integ/budget/lease_items.py" serve "$leases" "$DSQL_ENDPOINT"; }
items() { # items COMMAND [ARG]: the answer in $answer
    echo "$@" >&"${tables[1]}"
    read -r answer <&"${tables[0]}" || fail 'the tables cannot be read'
}
declare -a plugin=() ours=()
fail() { echo "FAILED: $*" >&2; exit 1; }
trap 'kill -9 "${plugin[@]}" "${ours[@]}" 2>/dev/null || true' EXIT
# Looks at the endpoint first, then at the tables: a permit is there before its connect. Sets open, made, counter,
# libdsql, permits.
look() {
    local status full slow most
    status=$("$dsql" local status)
    seen() { sed -n "s/^$1=//p" <<<"$status"; }
    open=$(seen open) made=$(seen accepted) full=$(seen refused_full) slow=$(seen refused_rate)
    items move "$connects"
    read -r counter libdsql permits most <<<"$answer"
    [ "$full" = 0 ] || fail "more than $cap connections: $full refused"
    [ "$slow" = 0 ] || fail "connects beyond the rate: $slow refused"
    [ "$most" -le "$rate" ] || fail "$most permits in a second"
    [ "$permits" -ge "$made" ] || fail "$permits permits for $made connects"
}
until_true() { # until_true WHAT CONDITION: looks all the while, for as long as each step is to take
    local deadline=$((SECONDS + 900 + ${MOVE_SECONDS:-0})) stay=$((SECONDS + ${MOVE_SECONDS:-0}))
    look
    until (($2)) && [ $SECONDS -ge $stay ]; do
        sleep 0.1
        [ $SECONDS -lt $deadline ] || fail "$1: no $2 in time: open=$open counter=$counter libdsql=$libdsql $(cat "$scratch"/*.err)"
        look
    done
    echo "$1: open=$open counter=$counter libdsql=$libdsql permits=$permits after ${SECONDS}s"
}
plugin_starts() { # the plugin's environment, and nothing of ours
    CLUSTER_ENDPOINT=${plugin_endpoint:-$DSQL_ENDPOINT} python3 "$SOURCE_DIR/tests/integ/budget/plugin_process.py" 6 4 \
        >"$scratch/plugin${#plugin[@]}.out" 2>"$scratch/plugin${#plugin[@]}.err" &
    plugin+=($!)
}
ours_starts() { # ours_starts [NAME=VALUE...]
    env "$@" "$BUILD_DIR/tests/budget_member" >"$scratch/ours${#ours[@]}.out" 2>"$scratch/ours${#ours[@]}.err" &
    ours+=($!)
}
ends() { kill "$1"; wait "$1" || fail "$1 ended with $?"; }

"$dsql" budget setup >/dev/null 2>&1
[ $# = 0 ] || env "$@" "$dsql" budget setup >/dev/null 2>&1
for _ in 1 2 3; do plugin_starts; done
until_true 'the plugin alone' 'counter == cap'
ours_starts "$@"
until_true 'one of ours beside three' 'libdsql >= 1'
items expire
ends "${plugin[0]}"
ours_starts "$@"
until_true 'two and two' 'libdsql >= 3'
{ kill -9 "${plugin[1]}" && wait "${plugin[1]}"; } 2>/dev/null || true # and says nothing
ours_starts "$@"
until_true 'three beside one, one crashed' 'libdsql >= 5'
items expire
ends "${plugin[2]}"
# What the crashed process held, and what the plugin could not give back, stays counted: too careful, never too much.
until_true 'libdsql alone' 'counter == cap'
lost=$("$dsql" budget status --json 2>/dev/null | sed -n 's/.*"others": \([0-9]*\),.*/\1/p')
until_true "$lost lost by the plugin" 'libdsql == cap - lost && open == libdsql'
"$dsql" budget repair --apply --plugin-gone >"$scratch/repair" 2>&1
grep -qE "; (repaired|nothing to repair)\$" "$scratch/repair" || fail "$(cat "$scratch/repair")"
until_true 'and repaired' 'libdsql == cap && open == cap && counter == cap'
for process in "${ours[@]}"; do ends "$process"; done
until_true 'and ended' 'counter == 0 && libdsql == 0 && open == 0'
echo "$made connects with $permits permits; $(cat "$scratch"/plugin?.out | tr '\n' ' ')"
SH
# shellcheck disable=SC2119,SC2120 # `broken` gives settings
play() { # play SETTING...: of libdsql's processes
    "$dsql" local exec --max-connections $cap --rate $rate --burst $burst -- bash "$scratch/play.bash" "$@"
}
for kind in ${BUDGET_SERVERS:-dynamodb-local}; do
    start_server "$kind"
    play || fail "on $kind"
    stop_server
    echo "$kind: holds"
done
[ -z "${MOVE_SECONDS:-}" ] || exit 0

# What the page on the move warns of: another table, or another name of the cluster in the keys, is another budget.
broken() { # broken WHAT-IS-SAID SETTING...: of ours
    start_server dynoxide
    expect 1 play "${@:2}"
    contains "$err" "$1"
    echo "noticed: $(grep FAILED <<<"$err")"
    stop_server
}
broken 'permits for ' DSQL_DISTRIBUTED_RATE_LIMITER_TABLE=other
broken 'more than 12 connections' DSQL_DISTRIBUTED_CONN_LEASE_TABLE=other
plugin_endpoint=the-same-cluster broken 'permits for '

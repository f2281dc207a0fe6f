#!/bin/bash
# How long work takes to go on after the database was away for AWAY (20) seconds: on this store, and beside it on
# Temporal's own postgres12_pgx, with the same build of the server and of PostgreSQL. Both are killed -9 at once while
# COUNT (35) workflows are under way, and come back where they were. ROUNDS (1).
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/stock.bash
. "$root/integrations/temporal/test/stock.bash"
count=${COUNT:-35} away=${AWAY:-20}
start_cluster --port 0
start_stock_postgres
make_stock_database
start_server dsql --port 0 --metrics 127.0.0.1:0
status=$(sed -n "s|^libdsql's metrics, health and status are at \(.*\)|\1status.json|p" "$scratch"/dsql.*.log | head -1)
stock_config '' >"$scratch/stock.yaml"
start_server stock --config "$scratch/stock.yaml"
before_dsql='' before_stock='' # processes, by the names of the stores

now() { date +%s%N; }

under_way() { # under_way STORE ROUND: workflows that are begun now and go on in the background
    local address=address_$1
    "$check" --address "${!address}" --prefix "before-$2" --count "$count" --at 10 --limit 600s >"$scratch/before.$1" 2>&1 &
    eval "before_$1=$!"
}

# measure STORE ROUND: milliseconds until a workflow that is begun now is over, and until all are.
measure() {
    local address=address_$1 before=before_$1 began first
    began=$(now)
    "$check" --address "${!address}" --prefix "after-$2" --count 1 --kind activity --limit 600s >"$scratch/after.$1" 2>&1 ||
        fail "$1: $(cat "$scratch/after.$1")"
    first=$((($(now) - began) / 1000000))
    while kill -0 "${!before}" 2>/dev/null; do sleep 0.1; done
    echo "$1 $first $((($(now) - began) / 1000000))" >>"$scratch/figures"
}

# Every wait of the pool until its next attempt, as the server says it, is short: whatever the machine's speed.
watch_waits() {
    local until=$((SECONDS + away)) wait seen=0
    while [ $SECONDS -lt $until ]; do
        wait=$(curl -sS --max-time 30 "$status" | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["budget"]["retry_in_s"] * 1000))')
        [ "$wait" -le 3000 ] || fail "the next attempt is in $wait ms"
        [ "$wait" = 0 ] || seen=$((seen + 1))
        sleep 0.2
    done
    [ $seen -gt 0 ] || fail "there never was a wait until the next attempt"
}

outage() { # outage ROUND
    local measures=()
    for store in dsql stock; do under_way $store "$1"; done
    sleep 2 # so that some are usually under way
    kill -KILL "$(postmaster_of dsql)" "$(postmaster_of stock)"
    wait "$local_pid" "$stock_postgres" 2>/dev/null || true
    watch_waits
    start_local --port "$PGPORT" --aws-keys
    measure dsql "$1" &
    measures+=($!)
    run_stock_postgres
    measure stock "$1" &
    measures+=($!)
    wait "${measures[@]}" || fail 'a measurement'
    wait "$before_dsql" || fail "this store: $(cat "$scratch/before.dsql")"
    wait "$before_stock" || fail "postgres12_pgx: $(cat "$scratch/before.stock")"
}

for round in $(seq "${ROUNDS:-1}"); do outage "$round"; done
sort -s -k1,1 "$scratch/figures" | awk -v away="$away" '
    {printf "%s: after %d s without a database the next workflow was over after %.1f s, all after %.1f s\n",
        $1 == "dsql" ? "this store" : "postgres12_pgx", away, $2 / 1000, $3 / 1000}'

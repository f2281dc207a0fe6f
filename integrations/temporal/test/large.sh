#!/bin/bash
# What Temporal allows, on this store: payloads of up to 2 MB wherever one can be, thousands of things in one
# workflow task, and the end of such workflows. Shards keep their owners meanwhile. CASES (all) is a regular
# expression of the names, MANY (2000) how many things, LIMIT (2m) the time for each case. With STOCK=yes the same on Temporal's own postgres12_pgx.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/stock.bash
. "$(dirname "$0")/stock.bash"
cases() { # cases NAME ADDRESS
    echo "$1:"
    "$root/build/temporal/temporal-large" --address "$2" --cases "${CASES:-.}" --many "${MANY:-2000}" --limit "${LIMIT:-2m}" 2>&1 | sed -u 's/^/    /'
    return "${PIPESTATUS[0]}"
}
ranges() { ask 'select shard_id, range_id from shards order by shard_id'; }

start_cluster --port 0
start_server a --port 0
for _ in $(seq 300); do # until each shard has an owner
    [ "$(ask 'select count(*) from shards')" -lt 4 ] || break
    sleep 0.1
done
before=$(ranges) failed=''
cases 'this store' "$address_a" || failed=yes
[ "$before" = "$(ranges)" ] || {
    echo "shards were acquired anew: before $(echo "$before" | xargs), afterwards $(ranges | xargs)"
    failed=yes
}
if grep -hq 'shard status unknown' "$scratch"/a.*.log; then
    echo "$(grep -hc 'shard status unknown' "$scratch"/a.*.log) times 'shard status unknown'"
    failed=yes
fi
kill_server "$pid_a" TERM
if [ "${STOCK:-}" = yes ]; then
    start_stock_postgres
    make_stock_database
    delay stock "$scratch/stock/.s.PGSQL.5432"
    # shellcheck disable=SC2154 # set by delay
    stock_config "$port_stock" >"$scratch/stock.yaml"
    start_server stock --config "$scratch/stock.yaml"
    # shellcheck disable=SC2154 # set by start_server
    cases postgres12_pgx "$address_stock" || failed=yes
    # shellcheck disable=SC2154 # set by start_server
    kill_server "$pid_stock" TERM
fi
[ -z "$failed" ] || fail "what Temporal allows is not carried"

#!/bin/bash
# What a one-activity workflow costs on the wire: at most 24 round trips, beside what the server asks anyway while
# nothing happens. COUNT workflows (40).
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/stock.bash
. "$(dirname "$0")/stock.bash"
count=${COUNT:-40} limit=24
export DSQL_POOL_MAX_OPEN=20
start_cluster --port 0
delay dsql "127.0.0.1:$PGPORT"
DSQL_ENDPOINT=localhost:$port_dsql start_server a --port 0
run() { "$check" --address "$address_a" --kind activity --count "$1" --at 10 --limit 600s --unaudited >"$scratch/said" || fail "$(cat "$scratch/said")"; }
run 10 # shards and task queues are there, statements are prepared
SECONDS=0 before=$(trips dsql 0ms)
run "$count"
took=$((SECONDS + 1)) after=$(trips dsql 0ms)
sleep "$took" # as long, at rest
rest=$(($(trips dsql 0ms) - after))
each=$(((after - before - rest) / count))
echo "trips: $each round trips for each of $count one-activity workflows, and $rest in $took s at rest"
[ $each -gt 5 ] || fail "that is too few to be true"
[ $each -le $limit ] || fail "$each round trips a workflow are more than $limit"
kill_server "$pid_a" TERM

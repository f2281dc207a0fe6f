#!/bin/bash
# A start of the server opens the pool once: it costs the cluster as many connects as the pool has connections,
# however often Temporal opens and closes its handles meanwhile. A stop and a further start cost the same.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
size=40
export DSQL_POOL_MAX_OPEN=$size
start_cluster --port 0
connects() { "$dsql" local status --data "$scratch/data" --admissions | wc -l; }
for start in first second; do
    before=$(connects)
    start_server a --port 0
    for _ in $(seq 6000); do # until the pool is full
        [ $(($(connects) - before)) -lt $size ] || break
        sleep 0.1
    done
    "$check" --address "$address_a" --count 1 --kind activity >/dev/null
    kill_server "$pid_a" TERM
    opened=$(($(connects) - before))
    # A connection whose caller gave up in the middle of a transaction is replaced: a few may.
    if [ $opened -lt $size ] || [ $opened -gt $((size + size / 4)) ]; then
        fail "the $start start opened $opened connections for a pool of $size"
    fi
    echo "starts: the $start start opened $opened connections for a pool of $size"
done

#!/bin/bash
# The pool's figures on the local endpoint: checkout beside a mutex and a queue, the time to fill, memory,
# and with POOL_BENCH_CROWD=10000 that many connections by one opener.       pool.sh BUILD_DIR
set -euo pipefail
dsql=$1/dsql
bench=$1/bench/pool_bench
"$dsql" local exec -- "$bench"
"$dsql" local exec --fault connect-latency=100ms -- "$bench" fill 1000 100 100
[ -z "${POOL_BENCH_CROWD:-}" ] ||
    "$dsql" local exec --rate 100000 --burst 100000 -- bash -c "ulimit -n \$(ulimit -Hn); exec \"\$@\"" _ \
        "$bench" fill "$POOL_BENCH_CROWD" 100 1000

#!/bin/bash
# What the store costs: a Temporal-like mix with 1 ms and 5 ms of network, as scripts and pipelined beside a round
# trip for each statement, and one catalogue call beside bare libpq. All in one run against one `dsql local`.
#     store.sh BUILD_DIR
# shellcheck disable=SC2016 # the program is another shell's
set -euo pipefail
export dsql=$1/dsql bench=$1/bench/store_bench DSQL_LOG_LEVEL=error
"$dsql" local exec -- bash -c '
    set -e
    "$dsql" schema apply >/dev/null
    "$bench"
    for latency in 1ms 5ms; do
        "$dsql" local fault message-latency=$latency >/dev/null
        "$bench" "network of $latency"
        "$dsql" local fault clear >/dev/null
    done'

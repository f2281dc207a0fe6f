#!/bin/bash
# The flight recorder for longer: pools to which everything happens, each for SECONDS against an endpoint of its own, one
# for each seed, recorded and replayed; every decision has to be equal.
#     recorder_soak.sh BUILD_DIR [SEEDS (20) [SECONDS (60) [AT_ONCE (4)]]]
set -euo pipefail
build=$(realpath "$1") seeds=${2:-20} seconds=${3:-60} at_once=${4:-4}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export DSQL=$build/dsql
chmod 755 "$scratch"

one() { # one SEED
    local trace=$scratch/$1.trace
    DSQL_TRACE=$trace "$DSQL" local exec -- "$build/tests/recorder_driver" "$seconds" "$1" >"$scratch/$1.log" 2>&1 ||
        { tail "$scratch/$1.log"; echo "seed $1: the pool failed"; return 1; }
    "$DSQL" sim replay --quiet "$trace" >"$scratch/$1.out" 2>&1 ||
        { cat "$scratch/$1.out"; echo "seed $1: the replay failed"; return 1; }
    "$DSQL" sim run --from-trace "$trace" >"$scratch/$1.sim" 2>&1 ||
        { cat "$scratch/$1.sim"; echo "seed $1: no simulation begins there"; return 1; }
    echo "seed $1: $(sed -n 2,3p "$scratch/$1.out" | paste -sd' '), $(stat -c %s "$trace") bytes"
}

failed=0
for ((seed = 1; seed <= seeds; seed += at_once)); do
    pids=()
    for ((n = seed; n < seed + at_once && n <= seeds; n++)); do
        one "$n" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
done
exit $failed

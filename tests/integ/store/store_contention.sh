#!/bin/bash
# Many workers on one shard, one task queue, one workflow: without faults, with an endpoint that closes connections
# at COMMIT before it is carried out, and after.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export programs=$BUILD_DIR/tests DSQL_LOG_LEVEL=error

expect 0 "$dsql" local exec -- bash -c '
    set -e
    "$dsql" schema apply >/dev/null
    "$programs/store_contention"
    "$dsql" local fault close-commit=8%
    "$programs/store_contention" faults
    "$dsql" local fault clear
    "$dsql" local fault close-applied=8% conflict-commit=5% seed=7
    "$programs/store_contention" faults'
[ "$(printf '%s\n' "$out" | grep -c ': 40 tokens,')" = 9 ] || fail "$out"
printf '%s\n' "$out"

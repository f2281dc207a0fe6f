#!/bin/bash
# The store of a Temporal server: every method against a real database, the fences, many workers on few
# rows, with and without an endpoint that closes connections at COMMIT.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export programs=$BUILD_DIR/tests DSQL_LOG_LEVEL=error

expect 0 "$dsql" local exec -- bash -c '
    set -e
    "$dsql" schema apply >/dev/null
    "$programs/store_methods"
    "$programs/store_fence"
    "$programs/store_contention"
    "$dsql" local fault close-commit=8%
    "$programs/store_contention" faults
    "$dsql" local fault clear
    "$dsql" local fault close-applied=8% conflict-commit=5% seed=7
    "$programs/store_contention" faults'
contains "$out" '148 operations, three ways; shard lock 1'
contains "$out" 'stale owner refused 25 times of 25: FOR KEY SHARE'
contains "$out" 'stale owner refused 25 times of 25: FOR UPDATE'
contains "$out" 'a plain SELECT lets the stale owner commit'
[ "$(printf '%s\n' "$out" | grep -c ': 40 tokens,')" = 9 ] || fail "$out"
printf '%s\n' "$out"

# A cluster of early 2026, or one where the index is missing: the other lock.
expect 0 "$dsql" local exec -- bash -c '
    set -e
    "$dsql" schema apply >/dev/null
    psql -qc "drop index shards_fence"
    "$programs/store_methods"'
contains "$out" '148 operations, three ways; shard lock 2'

# What `make test-cluster` runs, with this endpoint for a cluster; it leaves one alone that is in use.
expect 2 env -u CLUSTER_ENDPOINT bash "$SOURCE_DIR/scripts/test-cluster" "$BUILD_DIR"
contains "$err" 'CLUSTER_ENDPOINT is not set'
expect 1 "$dsql" local exec -- bash -c '
    "$dsql" schema apply >/dev/null && psql -qc "insert into shards values (1, 1, '"''"', '"''"')" &&
    CLUSTER_ENDPOINT=$DSQL_ENDPOINT bash "$SOURCE_DIR/scripts/test-cluster" "$BUILD_DIR"'
contains "$err" 'the store of this cluster is in use (1 rows)'

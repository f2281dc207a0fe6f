#!/bin/bash
# The store of a Temporal server: every method against a real database. Its fences are in store_fence.sh, many
# workers on few rows in store_contention.sh.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export programs=$BUILD_DIR/tests DSQL_LOG_LEVEL=error

# The last time with a cluster from before FOR KEY SHARE.
expect 0 "$dsql" local exec -- bash -c '
    set -e
    "$dsql" schema apply >/dev/null
    "$programs/store_methods"
    "$programs/store_script"
    "$programs/store_large"
    "$programs/store_packs"
    "$programs/store_ids"
    "$dsql" schema verify --deep
    "$programs/store_again"
    "$programs/store_schema" complete
    psql -qc "alter table queue rename column message_encoding to other"
    "$programs/store_schema" "missing column queue.message_encoding"
    psql -qc "alter table queue rename column other to message_encoding"
    "$dsql" local fault no-key-share=100%
    "$programs/store_methods"
    "$programs/store_script"'
contains "$out" '160 operations, three ways; shard lock 1'
contains "$out" '160 operations, three ways; shard lock 2'
contains "$out" 'scripts; shard lock 1'
contains "$out" 'scripts; shard lock 2'
contains "$out" 'large values: 53 homes, three ways'
contains "$out" 'packs: 5 tables'
contains "$out" 'ids: 10 lengths, three ways'
contains "$out" 'complete, and so is every large value'
contains "$out" 'scripts run again'
printf '%s\n' "$out"

# What `make test-cluster` runs, with this endpoint for a cluster; it leaves one alone that is in use.
expect 2 env -u CLUSTER_ENDPOINT bash "$SOURCE_DIR/scripts/test-cluster" "$BUILD_DIR"
contains "$err" 'CLUSTER_ENDPOINT is not set'
expect 1 "$dsql" local exec -- bash -c '
    "$dsql" schema apply >/dev/null && psql -qc "insert into shards values (1, 1, '"''"', '"''"')" &&
    CLUSTER_ENDPOINT=$DSQL_ENDPOINT bash "$SOURCE_DIR/scripts/test-cluster" "$BUILD_DIR"'
contains "$err" 'the store of this cluster is in use (1 rows)'

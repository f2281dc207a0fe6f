#!/bin/bash
# Visibility against a real database.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export programs=$BUILD_DIR/tests DSQL_LOG_LEVEL=error

expect 0 "$dsql" local exec -- bash -c '
    set -e
    "$dsql" schema apply >/dev/null
    "$programs/visibility_writes"
    "$programs/visibility_compact"'
contains "$out" 'visibility: writes one by one'
contains "$out" 'visibility: counters and tombstones'
printf '%s\n' "$out"

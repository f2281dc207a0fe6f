#!/bin/bash
# Lists and counts of visibility against a naive evaluator.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export programs=$BUILD_DIR/tests DSQL_LOG_LEVEL=error

expect 0 "$dsql" local exec -- bash -c '
    set -e
    "$dsql" schema apply >/dev/null
    "$programs/visibility_queries" 600 400'
contains "$out" 'visibility: 400 queries over 600 runs'
printf '%s\n' "$out"

expect 0 "$dsql" local exec -- bash -c '"$dsql" schema apply >/dev/null && "$programs/visibility_reads"'
contains "$out" 'visibility: typical queries are served by indexes'
printf '%s\n' "$out"

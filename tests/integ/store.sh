#!/bin/bash
# The store of a Temporal server: every method against a real database.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

expect 0 "$dsql" local exec -- bash -c '"$dsql" schema apply >/dev/null && "$0"' "$BUILD_DIR/tests/store_methods"
contains "$out" '148 operations, three ways; shard lock 1'

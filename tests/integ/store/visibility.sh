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
    "$programs/visibility_compact"
    "$programs/visibility_random" damage
    "$dsql" local fault close-commit=4% conflict-commit=5%
    "$programs/visibility_random"
    "$dsql" local fault clear
    "$dsql" local fault close-applied=4% conflict=5%
    "$programs/visibility_random"'
contains "$out" 'visibility: writes one by one'
contains "$out" 'visibility: counters and tombstones'
[ "$(printf '%s\n' "$out" | grep -c 'visibility: random writes')" = 3 ] || fail "$out"
contains "$out" 'visibility: random writes, damage and repair'
printf '%s\n' "$out"

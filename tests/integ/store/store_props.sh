#!/bin/bash
# The eight properties of locking, with random cases; the sixth once more with an endpoint that closes
# connections at COMMIT.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export programs=$BUILD_DIR/tests

expect 0 "$dsql" local exec -- bash -c '
    set -e
    "$dsql" schema apply >/dev/null
    "$programs/store_props"
    "$dsql" local fault close-commit=15% close-applied=15%
    "$programs/store_props" 6'
[ "$(printf '%s\n%s\n' "$out" "$err" | grep -c "^property '")" = 9 ] || fail "$out $err"

#!/bin/bash
# Random transactions of 16 clients on 20 keys, held beside the oracle: 10,000 over four seeds, times
# OCC_SCALE. OCC_SEED is the first seed.
# shellcheck disable=SC2016 # a program for another shell stands in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

expect 0 "$dsql" local exec -- bash -c '
    for i in 0 1 2 3; do "$0" make $(($1 + i)) || exit; done
    for i in 0 1 2 3; do
        "$0" run $(($1 + i)) "$2" & pids="$pids $!"
    done
    status=0
    for pid in $pids; do wait "$pid" || status=1; done
    exit $status' "$BUILD_DIR/tests/occ_diff" "${OCC_SEED:-1}" $((2500 * ${OCC_SCALE:-1}))
echo "$out"
[ "$(printf '%s\n' "$out" | grep -c ' transactions, ')" = 4 ] || fail "$out"

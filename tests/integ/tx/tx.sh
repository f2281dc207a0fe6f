#!/bin/bash
# Transactions against `dsql local`.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export BUILD_DIR
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
chmod 777 "$TMPDIR"

# shellcheck disable=SC2016 # a program for another shell
expect 0 "$dsql" local exec -- bash -ec \
    'for program in tx_trips tx_script tx_errors tx_fences tx_retry tx_ends tx_values tx_faults tx_pool tx_fault; do "$BUILD_DIR/tests/$program"; done'

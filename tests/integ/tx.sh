#!/bin/bash
# Transactions against `dsql local`.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
chmod 777 "$TMPDIR"

expect 0 "$dsql" local exec -- "$BUILD_DIR/tests/tx_wire"
expect 0 "$dsql" local exec -- "$BUILD_DIR/tests/tx_fault"

#!/bin/bash
# What libdsql says of random transactions beside what is in the tables. PROP_SEED repeats a run, PROP_SCALE
# makes it longer.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
chmod 777 "$TMPDIR"

expect 0 "$dsql" local exec --rate 10000 --burst 10000 -- "$BUILD_DIR/tests/tx_outcomes"
echo "$out" | grep ' transactions: '

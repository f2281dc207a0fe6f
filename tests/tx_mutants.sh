#!/bin/bash
# Deliberate bugs in transactions, one at a time, in a copy of the tree that is built apart: each makes an
# outcome untrue, and tests/integ/tx/tx_outcomes.sh has to catch it.
#     tx_mutants.sh [NAME...]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/mutants.bash
. tests/mutants.bash

# name | file | what is replaced | by what
mutants='
fence-without-begin|src/tx/wire_queue.c|wire->single = wire->one .*$|wire->single = wire->one;
commit-behind-fence|src/tx/wire.c|if (e->fence \&\& !(.*$|if (e->fence \&\& false)
copy-sent|src/tx/wire_queue.c|verb == DSQL_VERB_COPY|verb == DSQL_VERB_COPY \&\& false
commit-by-caller|src/tx/wire_queue.c|verb == DSQL_VERB_CONTROL|verb == DSQL_VERB_CONTROL \&\& false
applied-not-noted|src/tx/wire_answer.c|wire->applied = true|wire->applied = false
hidden-write-missed|src/tx/wire_answer.c|e->verb == DSQL_VERB_COUNTED|e->verb >= DSQL_VERB_OTHER
unknown-hidden-by-body|src/tx/run.c|failed == DSQL_COMMIT_UNKNOWN)|false)
lost-is-certain|src/tx/wire_fail.c|if (commit_in_flight(wire))|if (false)
forgetting-not-seen|src/tx/prepared.c|tag\[0\] == .D. \&\&|false \&\&
script-fence-unraised|src/tx/script.c|if (!step->expect .*$|if (true)
script-all-single|src/tx/script.c|its.single = script->count == 1.*$|its.single = true;
name-not-renewed|src/tx/wire_fail.c|\.stale_plan = true|.stale_plan = false
'

copy_tree dsql tx_outcomes

# Whether the program that is built now passes. What it says is in $scratch/out.
passes() { SOURCE_DIR=$scratch BUILD_DIR=$scratch/build PROP_SHRINK=50 bash "$scratch/tests/integ/tx/tx_outcomes.sh" >"$scratch/out" 2>&1; }

passes || { echo "without a bug it fails:"; cat "$scratch/out"; exit 1; }
judge() {
    local start=$SECONDS caught=" SURVIVES"
    passes || caught=$(sed -n 's/.*simplest of [0-9]* draws: \([^;]*\);.*/\1/p' "$scratch/out" | head -1)
    printf '%-22s %3d s  %s\n' "$1" $((SECONDS - start)) "${caught:-$(tail -1 "$scratch/out")}"
    [ "$caught" != " SURVIVES" ]
}
each_mutant judge "$@"

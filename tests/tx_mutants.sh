#!/bin/bash
# Deliberate bugs in transactions, one at a time, in a copy of the tree that is built apart: each makes an
# outcome untrue, and tests/integ/tx/tx_outcomes.sh has to catch it.
#     tx_mutants.sh [NAME...]
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
export CCACHE_BASEDIR=$scratch CCACHE_NOHASHDIR=1

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

git ls-files -z -- CMakeLists.txt cmake src include scenarios tests bench docs schema scripts |
    tar --null -T - -c | tar -x -C "$scratch"
launcher=()
! command -v ccache >/dev/null || launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache)
cmake -G Ninja -S "$scratch" -B "$scratch/build" --log-level=WARNING -DDSQL_WERROR=OFF "${launcher[@]}" >/dev/null
build() { ninja -C "$scratch/build" dsql tx_outcomes >"$scratch/log" 2>&1; }
build || { tail "$scratch/log"; exit 1; }

# Whether the program that is built now passes. What it says is in $scratch/out.
passes() { SOURCE_DIR=$scratch BUILD_DIR=$scratch/build PROP_SHRINK=50 bash "$scratch/tests/integ/tx/tx_outcomes.sh" >"$scratch/out" 2>&1; }

passes || { echo "without a bug it fails:"; cat "$scratch/out"; exit 1; }
failed=0
while IFS='|' read -r name file from to; do
    [ -n "$name" ] || continue
    [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
    cp "$scratch/$file" "$scratch/saved"
    sed -i "s|$from|$to|" "$scratch/$file"
    ! cmp -s "$scratch/$file" "$scratch/saved" || { echo "$name: $file has changed: the bug finds no place"; exit 1; }
    build || { echo "$name does not build"; tail "$scratch/log"; exit 1; }
    start=$SECONDS
    caught=" SURVIVES"
    passes || caught=$(sed -n 's/.*simplest of [0-9]* draws: \([^;]*\);.*/\1/p' "$scratch/out" | head -1)
    printf '%-22s %3d s  %s\n' "$name" $((SECONDS - start)) "${caught:-$(tail -1 "$scratch/out")}"
    [ "$caught" != " SURVIVES" ] || failed=1
    cp "$scratch/saved" "$scratch/$file"
done <<<"$mutants"
exit $failed

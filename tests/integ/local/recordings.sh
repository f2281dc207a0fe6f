#!/bin/bash
# What people recorded of live clusters (tests/vectors/recordings), put to `dsql local` of the day it was recorded if the
# service has learned since. docs/local-fidelity.md has the figures.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
recordings() { python3 "$SOURCE_DIR/tests/integ/local/recordings.py" "$@"; }

recordings --dialects "$SOURCE_DIR"/tests/vectors/recordings/*.txt >"$scratch/files"
bad=0
mapfile -t dialects < <(cut -d' ' -f1 "$scratch/files" | sort -u)
for dialect in "${dialects[@]}"; do
    options=()
    [ "$dialect" = today ] || options=(--dialect "$dialect")
    mapfile -t files < <(sed -n "s/^$dialect //p" "$scratch/files")
    start_local --port 0 "${options[@]}"
    in_env python3 "$SOURCE_DIR/tests/integ/local/recordings.py" "${files[@]}" >"$scratch/$dialect" || bad=1
    stop_local
    cat "$scratch/$dialect"
done
[ $bad = 0 ] || fail "an answer is not the one that was recorded"

# The page has what came out, each row and the sum.
cat "$scratch"/today "$scratch"/20* | grep '^|' >"$scratch/rows"
sum=$(sed -E 's/.*\| ([0-9]+) of ([0-9]+) \|$/\1 \2/' "$scratch/rows" | awk '{same += $1; all += $2} END {print same " of " all}')
grep -qF "$sum pairs are the same" "$SOURCE_DIR/docs/local-fidelity.md" || fail "docs/local-fidelity.md lacks the sum: $sum"
while read -r row; do
    grep -qF "$row" "$SOURCE_DIR/docs/local-fidelity.md" || fail "docs/local-fidelity.md lacks: $row"
done <"$scratch/rows"

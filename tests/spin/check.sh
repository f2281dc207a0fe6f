#!/bin/bash
# Checks the model of the fleet's budget with spin, then takes one rule away at a time and expects the
# checker to find out: a model in which nothing can go wrong proves nothing.
#   check.sh           the rules, looked through for SPIN_SECONDS (20), and the broken ones
#   SPIN_SECONDS=600 check.sh   as far as it gets in that time
set -euo pipefail
model=$(cd "$(dirname "$0")" && pwd)/blocks.pml
seconds=${SPIN_SECONDS:-20}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

build() { # build BREAK FLAGS...: makes ./pan
    local broken=$1
    shift
    spin "-DBREAK=$broken" -a "$model" >/dev/null
    cc -w -O2 -DSAFETY "$@" -o pan pan.c
}

# Bitstate: each state costs bits, so that the search gets far; a violation it reports is a real one.
build 0 -DBITSTATE
./pan -m100000 -w30 "-Q$(((seconds + 59) / 60))" >log 2>&1 &
search=$!
for ((i = 0; i < seconds && i >= 0; i++)); do
    kill -0 $search 2>/dev/null || break
    sleep 1
done
kill $search 2>/dev/null || true
wait $search 2>/dev/null || true
if grep -qE 'errors: [1-9]|assertion violated|invalid end' log; then
    cat log
    echo "spin: the protocol is broken"
    exit 1
fi
echo "spin: no violation in $(grep -oE 'States= *[0-9.e+]+' log | tail -n 1 || true)$(grep -E 'states, stored' log || true)"

# Rules 4 and 5 are as needed, but what they prevent lies too deep to be found in every run.
for broken in 1 2 3; do
    build $broken -DCOLLAPSE
    timeout 300 ./pan -m1000 >log 2>&1 || true
    grep -q 'errors: 1' log || { tail -n 20 log; echo "spin: rule $broken can be taken away unnoticed"; exit 1; }
    echo "spin: without rule $broken: $(grep -oE 'assert.*' log | head -n 1)"
done

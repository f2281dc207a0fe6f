#!/bin/bash
# Deliberate bugs in core, one at a time, in a copy of the tree that is built apart: each has to be
# caught by a scenario or by random worlds. A check that no bug can fail is no check.
#     sim_mutants.sh [NAME...]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/mutants.bash
. tests/mutants.bash
worlds=${MUTANT_WORLDS:-500}

# name | file | what is replaced | by what
mutants='
guard-ignored|src/core/lifetime.c|\.usable_until = dsql_mono_add(born, usable_ns)|.usable_until = dsql_mono_add(born, life_ns)
slot-leak|src/core/slots.c|^    s->closing--;$|    (void)s->closing;
permit-counted-twice|src/core/blocks_answer.c|put_in_purse(b, b->flight.drawn);|put_in_purse(b, 2 * b->flight.drawn);
doubt-counted-twice|src/core/blocks_answer.c|applied ? b->doubt.drawn : b->doubt.returned|b->doubt.drawn + b->doubt.returned
copy-unseen|src/core/blocks_answer.c|if (own \&\& is_ours(b, own)) {|if (own \&\& (is_ours(b, own), true)) {
expiry-by-wall-clock|src/core/blocks.c|dsql_mono_since(now, seen->since)|(dsql_blocks_own(b)->seen_ms - dsql_registry_find(\&b->view, seen->id)->seen_ms) * DSQL_MS
jitter-dropped|src/core/lifetime.c|dsql_rng_between(rng, -half_ns, half_ns)|0 * dsql_rng_between(rng, -half_ns, half_ns)
waiters-lifo|src/base/queue.h|return queue->first;|return queue->last;
'

copy_tree dsql
dsql=$scratch/build/dsql

# Prints who catches the program that is built now; nothing if nobody does.
catchers() {
    local scenario
    for scenario in $("$dsql" sim list | cut -d ' ' -f 1); do
        case $scenario in ecs-* | over-cap) continue ;; esac # long, or fails anyway
        "$dsql" sim run "$scenario" >"$scratch/out" 2>&1 || {
            printf ' %s:%s' "$scenario" "$(sed -n 's/^  FAILED \([A-Za-z]*\).*/\1/p' "$scratch/out" | paste -sd+)"
        }
    done
    "$dsql" sim fuzz --seed 1 --worlds "$worlds" >"$scratch/out" 2>&1 ||
        printf ' fuzz:%s (world %s)' "$(sed -n 's/^FAILED \([A-Za-z]*\).*/\1/p' "$scratch/out" | paste -sd+)" \
            "$(sed -n 's/^\([0-9]*\) worlds.*/\1/p' "$scratch/out")"
}

caught=$(catchers)
[ -z "$caught" ] || { echo "without a bug something fails:$caught"; exit 1; }
judge() {
    local start=$SECONDS
    caught=$(catchers)
    printf '%-22s %3d s %s\n' "$1" $((SECONDS - start)) "${caught:- SURVIVES}"
    [ -n "$caught" ]
}
each_mutant judge "$@"

#!/bin/bash
# Histories of `dsql local` are snapshot isolated, in real time too: lists that many append to and registers that many
# read and write, without faults, and while connections break and COMMIT fails before and after it was carried out.
# Before that, the judge itself: it finds what it must and allows what it must, in the histories of tests/vectors/judge,
# whose first lines say what they are.
#
# SEED=n repeats what the threads do, EACH=n makes each of them do so much; what comes of it is the machine's.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
judge() { python3 "$SOURCE_DIR/tests/integ/local/judge.py" "$@"; }
load=$BUILD_DIR/tests/judge_load
seed=${SEED:-$((RANDOM + 1))}
echo "SEED=$seed"

count=0
for history in "$SOURCE_DIR"/tests/vectors/judge/*.txt; do
    verdict=$(sed -n '1s/^# //p' "$history")
    case $verdict in
        allowed) strong=0 weak=0 ;;
        stale*) strong=1 weak=0 ;; # only real time forbids it
        *) strong=1 weak=1 ;;
    esac
    [ $strong = 0 ] || says="$history: $verdict: "
    [ $strong = 1 ] || says='snapshot isolated'
    expect $strong judge --strong "$history"
    contains "$out" "$says"
    expect $weak judge "$history"
    [ $weak = 0 ] || contains "$out" "$says"
    count=$((count + 1))
done
[ $count -ge 20 ] || fail "only $count histories"
echo "the judge: $count histories"

start_local --port 0
# round WORKLOAD NAME: its history in $scratch/NAME, judged; $done_, $failed and $unknown count its transactions.
round() {
    in_env "$load" make
    in_env "$load" "$1" 8 "${EACH:-40}" "$seed" >"$scratch/$2" || fail "$1, $2"
    in_env "$load" drop
    expect 0 judge --strong "$scratch/$2"
    echo "$1: ${out#"$scratch/"}"
    done_=$(grep -c ' ok ' "$scratch/$2") failed=$(grep -c ' fail ' "$scratch/$2" || true) unknown=$(grep -c ' info ' "$scratch/$2" || true)
    # One that nothing happened in proves nothing.
    [ "$done_" -ge 20 ] || fail "$2: only $done_ committed"
}
# How threads meet is the machine's: a round that shows too little is followed by another, of another seed.
for workload in append register; do
    for _ in 1 2 3 4 5 6 7 8; do
        round $workload $workload-calm
        [ "$failed" = 0 ] || break
        seed=$((seed + 1))
    done
    [ "$failed" -gt 0 ] || fail "$workload: no conflicts"
    [ "$unknown" = 0 ] || fail "$workload: $unknown do not know how they ended"
done

# While things fail. Connections are dropped again and again, however slow the machine is: after so many statements.
# Whoever is at COMMIT then does not know how it ended.
in_env "$dsql" local fault conflict-commit=4% close-commit=4% close-applied=4% unavailable-commit=2% unavailable-applied=2% \
    unavailable=1% "seed=$seed"
(
    trap 'exit 0' TERM
    seen=0
    while :; do
        now=$(in_env "$dsql" local status 2>/dev/null | sed -n 's/^statements=//p' || true)
        if [ "${now:-0}" -ge $((seen + 100)) ]; then
            seen=$now
            in_env "$dsql" local fault drop=20% >/dev/null 2>&1 || true
        fi
        sleep 0.5
    done
) &
dropper=$!
for workload in append register; do
    for _ in 1 2 3 4 5 6 7 8; do
        round $workload $workload-faults
        [ "$unknown" = 0 ] || break
        seed=$((seed + 1))
    done
    [ "$unknown" -gt 0 ] || fail "$workload: everybody knows how it ended"
done
kill $dropper
wait $dropper 2>/dev/null || true
stop_local

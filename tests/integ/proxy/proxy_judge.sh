#!/bin/bash
# Histories taken through `dsql proxy` are snapshot isolated, in real time too, as those of tests/integ/local/judge.sh:
# eight clients on three connections, without and with --retry-conflicts, without faults and while connections break and
# COMMIT fails before and after it was carried out.
#
# SEED=n repeats what the threads do, EACH=n makes each of them do so much; what comes of it is the machine's.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"
load=$BUILD_DIR/tests/judge_load
seed=${SEED:-$((RANDOM + 1))}
echo "SEED=$seed"

# round WORKLOAD NAME: its history in $scratch/NAME, judged; $done_, $failed and $unknown count its transactions.
round() {
    in_env "$load" make
    through "$load" "$1" 8 "${EACH:-25}" "$seed" >"$scratch/$2" || fail "$1, $2"
    in_env "$load" drop
    expect 0 python3 "$SOURCE_DIR/tests/integ/local/judge.py" --strong "$scratch/$2"
    echo "${out#"$scratch/"}"
    done_=$(grep -c ' ok ' "$scratch/$2") failed=$(grep -c ' fail ' "$scratch/$2" || true) unknown=$(grep -c ' info ' "$scratch/$2" || true)
    [ "$done_" -ge 20 ] || fail "$2: only $done_ committed"
}
url=''
figure() { curl -sf "${url}metrics" | sed -n "s/^dsql_proxy_$1_total{.*} //p"; }
for retries in 0 5; do
    start_proxy --connections=3 --retry-conflicts=$retries --address=127.0.0.1:0
    url=$(sed -n 's/^metrics: \(.*\)metrics$/\1/p' "$scratch/proxy.out")
    # How threads meet is the machine's: a round that shows too little is followed by another, of another seed.
    for workload in append register; do
        for _ in 1 2 3 4 5 6 7 8; do
            round $workload "$workload-calm-$retries"
            [ "$failed" = 0 ] || break
            seed=$((seed + 1))
        done
        [ "$failed" -gt 0 ] || fail "$workload: no conflicts"
        [ "$unknown" = 0 ] || fail "$workload: $unknown do not know how they ended"
    done
    expect 0 "$dsql" local fault conflict-commit=10% close-commit=4% close-applied=4% unavailable-commit=2% \
        unavailable-applied=2% unavailable=1% "seed=$seed"
    for workload in append register; do
        for _ in 1 2 3 4 5 6 7 8; do
            round $workload "$workload-faults-$retries"
            [ "$unknown" = 0 ] || break
            seed=$((seed + 1))
        done
        [ "$unknown" -gt 0 ] || fail "$workload: everybody knows how it ended"
    done
    expect 0 "$dsql" local fault clear
    if [ $retries -gt 0 ]; then
        counted() { [ "$(figure retried)" -gt 0 ]; }
        await counted
    fi
    stop_proxy
done
stop_local

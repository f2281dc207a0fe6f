#!/bin/bash
# What a simulated fleet costs: CPU time for each event and each connection, as fleets grow by their
# connections and by their processes; and the largest scenario that comes with the program, which should
# take less than 5 s.       sim.sh BUILD_DIR
set -euo pipefail
dsql=$1/dsql
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
TIMEFORMAT=%U

measure() { # measure SCENARIO: events, seconds of CPU; the best of three
    local best='' cpu
    for _ in 1 2 3; do
        cpu=$({ time "$dsql" sim run "$1" --json >"$scratch/out"; } 2>&1) || { echo "$1 fails" >&2; exit 1; }
        [ -z "$best" ] || [ "$(echo "$cpu < $best" | bc)" = 1 ] || continue
        best=$cpu
    done
    echo "$(jq .events "$scratch/out") $best"
}

echo 'ten simulated minutes of a fleet that renews its connections; 1.00 is the first row'
printf '%12s %10s %10s %8s %10s %16s %6s\n' connections processes events 'CPU s' 'us/event' 'us/connection' ''
first=''
while read -r processes each; do
    cat >"$scratch/fleet.yaml" <<Y
duration: 10m
sample: 10s
cluster: {rate: 1000, connections: 200000}
budget: {rate: 1000, burst: 1000, connections: 200000}
pool: {targetReady: $each, baseLifetime: 4m, lifetimeJitter: 2m}
services: [{name: fleet, count: $processes}]
Y
    read -r events cpu < <(measure "$scratch/fleet.yaml")
    total=$((processes * each))
    one=$(echo "scale=4; $cpu * 1000000 / $total" | bc)
    first=${first:-$one}
    printf '%12d %10d %10d %8.2f %10.2f %16.1f %6.2f\n' $total "$processes" "$events" "$cpu" \
        "$(echo "scale=4; $cpu * 1000000 / $events" | bc)" "$one" "$(echo "scale=4; $one / $first" | bc)"
done <<'ROWS'
10 100
10 300
10 1000
10 3000
10 10000
30 100
100 100
300 100
ROWS
read -r events cpu < <(measure ecs-400wps)
printf 'ecs-400wps: 44 processes, 22,000 connections, 30 minutes: %.2f s of CPU, %d events, %.2f us each\n' "$cpu" "$events" \
    "$(echo "scale=4; $cpu * 1000000 / $events" | bc)"

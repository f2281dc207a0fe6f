#!/bin/bash
# How long `dsql local` takes from its start to the answer of a first query: with a new folder, and again with that folder,
# ROUNDS times. Beside it what psql alone takes with an endpoint that runs.       local_start.sh BUILD_DIR [ROUNDS]
set -euo pipefail
dsql=$1/dsql
rounds=${2:-5}
scratch=$(mktemp -d)
chmod 755 "$scratch"
server=''
trap '[ -z "$server" ] || kill -TERM "$server" 2>/dev/null; wait; rm -rf "$scratch"' EXIT

now_ms() { echo $(($(date +%s%N) / 1000000)); }
ask() { (
    # shellcheck source=/dev/null
    . "$scratch/ready" && psql -XAtqc 'select 1' >/dev/null
); }

# started FOLDER: sets took to milliseconds and leaves the endpoint running.
started() {
    local began
    rm -f "$scratch/ready"
    began=$(now_ms)
    "$dsql" local --data "$1" --port 0 --ready-file "$scratch/ready" >"$scratch/out" 2>&1 &
    server=$!
    until [ -s "$scratch/ready" ]; do sleep 0.005; done
    ask
    took=$(($(now_ms) - began))
}

stopped() {
    kill -TERM "$server"
    wait "$server" || true
    server=''
}

median() { printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"; }

first=() second=() alone=()
for ((i = 0; i < rounds; i++)); do
    started "$scratch/data$i"
    first+=("$took")
    began=$(now_ms)
    ask
    alone+=($(($(now_ms) - began)))
    stopped
    started "$scratch/data$i"
    second+=("$took")
    stopped
    rm -rf "$scratch/data$i"
done
echo "first start $(median "${first[@]}") ms, second $(median "${second[@]}") ms, psql alone $(median "${alone[@]}") ms (medians of $rounds)"

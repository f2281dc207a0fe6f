#!/bin/bash
# One-activity workflows on this store and on Temporal's own postgres12_pgx plugin: the same machine, the same
# build of PostgreSQL with the same settings, the same build of the server, in turns; 1, 10 and 50 workflows at once (AT),
# with 0, 1 and 5 ms for each round trip (DELAY). ROUNDS (3) of COUNT workflows for each (20, and 4 for each at once);
# medians. A quarter of an hour on a quiet machine. Both servers reach their PostgreSQL through the same little proxy,
# which makes them wait and counts round trips. The own plugin has no TLS and no endpoint between it and PostgreSQL.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/stock.bash
. "$(dirname "$0")/stock.bash"
rounds=${ROUNDS:-3} ats=${AT:-1 10 50} delays=${DELAY:-0ms 1ms 5ms}
export DSQL_POOL_MAX_OPEN=50 DSQL_RESERVOIR_ENABLED=true DSQL_RESERVOIR_EMPTY_WAIT=2s

# ticks FIELDS PID...: what these processes have used, in clock ticks.
ticks() {
    local fields=$1 pid
    shift
    for pid in "$@"; do sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null; done | cut -d' ' -f"$fields" | tr ' ' '\n' | awk '{n += $1} END {print n + 0}'
}
used() { # used STORE: by its server, the endpoint, PostgreSQL
    local pid=pid_$1 postmaster
    postmaster=$(postmaster_of "$1")
    # Of the postmaster also what those of its children used that have ended.
    # shellcheck disable=SC2046 # a list
    echo "$(ticks 12,13 "${!pid}") $(ticks 12,13 "$local_pid") $(($(ticks 12-15 "$postmaster") + $(ticks 12,13 $(pgrep -P "$postmaster"))))"
}

# measure STORE DELAY AT: one line of figures.
measure() {
    local address=address_$1 at=$3 count=${COUNT:-$((20 + 4 * $3))} before after
    before="$(trips "$1" "$2") $(used "$1")"
    TIMEFORMAT='%U %S'
    { time "$check" --address "${!address}" --kind activity --count "$count" --at "$at" --limit 600s --unaudited >"$scratch/said"; } 2>"$scratch/client" ||
        fail "$1, $2: $(cat "$scratch/said" "$scratch/client")"
    after="$(trips "$1" "$2") $(used "$1")"
    echo "$1 $2 $at $count $(sed 's/.* s: \(.*\) a second, p50 \(.*\) ms, p99 \(.*\) ms,.*/\1 \2 \3/' "$scratch/said") $before $after $(cat "$scratch/client")"
}

start_cluster --port 0
delay dsql "127.0.0.1:$PGPORT"
start_stock_postgres
make_stock_database
delay stock "$scratch/stock/.s.PGSQL.5432"
DSQL_ENDPOINT=localhost:$port_dsql start_server dsql --port 0
stock_config "$port_stock" >"$scratch/stock.yaml"
start_server stock --config "$scratch/stock.yaml"
for store in dsql stock; do measure $store 0ms 10 >/dev/null; done # warm
for at in $ats; do
    for delay in $delays; do
        for _ in $(seq "$rounds"); do
            for store in dsql stock; do measure "$store" "$delay" "$at"; done
        done
    done
done >"$scratch/figures"

python3 - "$scratch/figures" "$(getconf CLK_TCK)" <<'PYTHON'
import statistics, sys
tick = float(sys.argv[2])
runs = {}
for line in open(sys.argv[1]):
    store, delay, at, *rest = line.split()
    count, *v = [float(x) for x in rest]
    wps, p50, p99, before, after, client = v[0], v[1], v[2], v[3:7], v[7:11], v[11] + v[12]
    used = [(b - a) / tick * 1000 / count for a, b in zip(before[1:], after[1:])]
    runs.setdefault((at, delay), {}).setdefault(store, []).append(
        [wps, p50, p99, (after[0] - before[0]) / count, *used, client * 1000 / count])
names = ["workflows a second", "p50, ms", "p99, ms", "round trips a workflow", "CPU ms a workflow: server", "... endpoint",
         "... PostgreSQL", "... client and worker"]
for (at, delay), of in runs.items():
    ours, stock = ([statistics.median(c) for c in zip(*of[s])] for s in ("dsql", "stock"))
    spread = [" (%.4g to %.4g)" % (min(c), max(c)) for c in zip(*[[o[i] / s[i] if s[i] else 0 for i in range(3)]
              for o, s in zip(of["dsql"], of["stock"])])] + [""] * 5
    print("%-70s %10s %14s %8s" % ("%s at once, %s a round trip, medians of %d rounds" % (at, delay, len(of["dsql"])),
                                   "this store", "postgres12_pgx", "ratio"))
    for name, o, s, sp in zip(names, ours, stock, spread):
        print("    %-66s %10.1f %14.1f %8s%s" % (name, o, s, "%.2f" % (o / s) if s else "", sp))
PYTHON

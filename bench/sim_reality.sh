#!/bin/bash
# The simulator beside the real thing: four processes with 50 connections each, that live for less than a
# minute, against `dsql local` in real time, and the same fleet on paper with twenty seeds. Prints the
# largest differences and draws both into one chart. Then one process with callers, half of whose connections are
# dropped: fill time, opens, empties and discards by reason, side by side.
#     sim_reality.sh BUILD_DIR [CHART.svg]        with callers only: CALLERS_ONLY=1
set -euo pipefail
build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fleet() { # fleet CHART
cat >"$scratch/fleet.yaml" <<'Y'
duration: 90s
cluster: {connectLatency: 15ms, connectLatencyTail: 10ms}
budget: {kind: local, rate: 5, burst: 5}
pool: {targetReady: 50, baseLifetime: 40s, lifetimeJitter: 20s, guardWindow: 5s}
services: [{name: history}, {name: matching}, {name: frontend}, {name: worker}]
Y
for seed in $(seq 20); do
    "$build/dsql" sim run "$scratch/fleet.yaml" --seed "$seed" --csv "$scratch/$seed.csv" >"$scratch/out"
done
export DSQL_POOL_MAX_OPEN=50 DSQL_RESERVOIR_ENABLED=true DSQL_RESERVOIR_BASE_LIFETIME=40s DSQL_RESERVOIR_LIFETIME_JITTER=20s \
    DSQL_RESERVOIR_GUARD_WINDOW=5s DSQL_RESERVOIR_LOW_WATERMARK=0 DSQL_CONNECTION_RATE_LIMIT=5 \
    DSQL_CONNECTION_BURST_LIMIT=5 DSQL_STAGGERED_STARTUP=false
cat >"$scratch/compare.py" <<'PY'
import csv, re, subprocess, sys, threading, time
member, scratch, chart, seconds = sys.argv[1], sys.argv[2], sys.argv[3], 90

sims = []
for seed in range(1, 21):
    rows = list(csv.DictReader(open(f"{scratch}/{seed}.csv")))
    ready = [sum(int(v) for k, v in r.items() if k.endswith("_ready")) for r in rows]
    sims.append(([int(r["opens"]) for r in rows], ready))

seen, begin = [[] for _ in range(4)], time.monotonic()
def follow(i):
    process = subprocess.Popen([member, str(seconds + 2)], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
    for line in process.stdout:
        numbers = dict(re.findall(r"(\w+)=(\d+)", line))
        seen[i].append((time.monotonic() - begin, int(numbers["opens"]), int(numbers["ready"])))
    assert process.wait() == 0
threads = [threading.Thread(target=follow, args=(i,)) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()

def at(points, t, which):  # what a process said around t, by a straight line
    before = max((p for p in points if p[0] <= t), default=(0, 0, 0))
    after = min((p for p in points if p[0] > t), default=before)
    if after[0] == before[0]: return before[which]
    return before[which] + (after[which] - before[which]) * (t - before[0]) / (after[0] - before[0])
times = range(0, seconds + 1)
real = [[sum(at(p, t, which) for p in seen) for t in times] for which in (1, 2)]
mean = [[sum(s[which][t] for s in sims) / len(sims) for t in times] for which in (0, 1)]
low = [[min(s[which][t] for s in sims) for t in times] for which in (0, 1)]
high = [[max(s[which][t] for s in sims) for t in times] for which in (0, 1)]
rate = lambda line: [0.0] * 5 + [(line[t] - line[t - 5]) / 5 for t in times if t >= 5]

def worst(a, b):
    t = max(times, key=lambda t: abs(a[t] - b[t]))
    return abs(a[t] - b[t]), t
d_ready, t_ready = worst(real[1], mean[1])
d_opens, t_opens = worst(real[0], mean[0])
d_rate, t_rate = worst(rate(real[0]), rate(mean[0]))
print(f"ready:  at most {d_ready:.0f} of 200 apart ({d_ready / 2:.1f} %), at {t_ready} s")
print(f"opens:  {real[0][-1]:.0f} real, {mean[0][-1]:.0f} on paper; at most {d_opens:.0f} apart, at {t_opens} s")
print(f"opens a second (over 5 s): at most {d_rate:.1f} apart, at {t_rate} s")

def path(line, top, height, y0): return "M" + "L".join(f"{60 + t * 7},{y0 + height - v / top * height:.1f}" for t, v in zip(times, line))
def band(a, b, top, height, y0):
    there = [f"{60 + t * 7},{y0 + height - v / top * height:.1f}" for t, v in zip(times, b)]
    back = [f"{60 + t * 7},{y0 + height - v / top * height:.1f}" for t, v in zip(times, a)][::-1]
    return "M" + "L".join(there + back) + "Z"
out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 430" font-family="sans-serif" font-size="12">'
       '<rect width="720" height="430" fill="#fff"/>']
def panel(title, y0, top, lo, me, hi, re_):
    height = 150
    out.append(f'<text x="60" y="{y0 - 8}" font-weight="bold">{title}</text>')
    for k in range(5):
        y = y0 + height - k * height / 4
        out.append(f'<path d="M60,{y}H690" stroke="#ddd"/><text x="54" y="{y + 4}" text-anchor="end">{top * k / 4:g}</text>')
    for t in range(0, 91, 15):
        out.append(f'<text x="{60 + t * 7}" y="{y0 + height + 16}" text-anchor="middle">{t} s</text>')
    if lo: out.append(f'<path d="{band(lo, hi, top, height, y0)}" fill="#9bbfe0" opacity=".5"/>')
    out.append(f'<path d="{path(me, top, height, y0)}" fill="none" stroke="#1f5f99" stroke-width="1.5"/>')
    out.append(f'<path d="{path(re_, top, height, y0)}" fill="none" stroke="#c0392b" stroke-width="1.5"/>')
panel("ready connections of four processes", 40, 200, low[1], mean[1], high[1], real[1])
panel("opens a second, over 5 s", 245, 40, None, rate(mean[0]), None, rate(real[0]))
out.append('<text x="430" y="425" fill="#1f5f99">simulated, 20 seeds</text><text x="570" y="425" fill="#c0392b">against dsql local</text></svg>')
open(chart, "w").write("\n".join(out) + "\n")
PY
"$build/dsql" local exec -- python3 "$scratch/compare.py" "$build/tests/budget_member" "$scratch" "$1"
}

# Ten connections that live for 15 to 25 s, 8 of them in use on average, callers in groups of four. At 30 s every second
# connection is dropped, and five new ones take 2.5 s.
callers() {
    cat >"$scratch/callers.yaml" <<'Y'
duration: 60s
cluster: {connectLatency: 15ms, connectLatencyTail: 10ms}
budget: {kind: local, rate: 2, burst: 2}
pool: {targetReady: 10, baseLifetime: 20s, lifetimeJitter: 10s, guardWindow: 3s}
services: [{name: process, workload: {spawn: 20ms, burst: 4, hold: 30ms, holdJitter: 20ms, maxInUse: 64}}]
events: [{at: 30s, what: drop, fraction: 0.5}]
Y
    for seed in $(seq 20); do
        "$build/dsql" sim run "$scratch/callers.yaml" --seed "$seed" --csv "$scratch/$seed.csv" --json >"$scratch/$seed.json"
    done
    export DSQL_POOL_MAX_OPEN=10 DSQL_RESERVOIR_ENABLED=true DSQL_RESERVOIR_BASE_LIFETIME=20s DSQL_RESERVOIR_LIFETIME_JITTER=10s \
        DSQL_RESERVOIR_GUARD_WINDOW=3s DSQL_RESERVOIR_LOW_WATERMARK=0 DSQL_CONNECTION_RATE_LIMIT=2 \
        DSQL_CONNECTION_BURST_LIMIT=2 DSQL_STAGGERED_STARTUP=false DSQL_LOG_LEVEL=error
    for n in 1 2 3; do
        # shellcheck disable=SC2016 # expanded by the inner shell
        "$build/dsql" local exec -- bash -c '(sleep 30; "$1" local fault drop=50% >/dev/null) & "$2" 60 20 4 30 20; wait' \
            bash "$(realpath "$build/dsql")" "$(realpath "$build/bench/reality_bench")" >"$scratch/real.$n"
    done
    python3 - "$scratch" <<'PY'
import csv, json, re, sys
scratch = sys.argv[1]
real = [dict((k, int(v)) for k, v in re.findall(r"(\w+)=(-?\d+)", open(f"{scratch}/real.{n}").read())) for n in (1, 2, 3)]
sims = []
for seed in range(1, 21):
    last = list(csv.DictReader(open(f"{scratch}/{seed}.csv")))[-1]
    run = json.load(open(f"{scratch}/{seed}.json"))
    row = {k.removeprefix("discards_"): int(v) for k, v in last.items() if k.startswith("discards_")}
    row.update(opens=int(last["opens"]), empties=int(last["empties"]), checkouts=run["checkouts"],
               full_ms=round(1000 * (run["services"][0]["full_in_seconds"] or -0.001)))
    sims.append(row)
first = ["full_ms", "opens", "checkouts", "empties"]
print(f"{'a process with callers':33} {'real, three runs':>24} {'on paper, mean of 20':>22}  least and most")
for name in first + [k for k in sims[0] if k not in first]:
    seen, drawn = [r.get(name, 0) for r in real], [s[name] for s in sims]
    if max(seen + drawn) > 0:
        print(f"{name:33} {' '.join(f'{v:7}' for v in seen):>24} {sum(drawn) / len(drawn):22.1f}  {min(drawn)} to {max(drawn)}")
PY
}

[ -n "${CALLERS_ONLY:-}" ] || fleet "${2:-$scratch/chart.svg}"
callers

#!/bin/bash
# The simulator as a user meets it: every scenario that comes with it, with its seed; the same bytes each
# time; what it says to bad files and bad options; plan and fuzz; its page in a real browser.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

# ---- all scenarios, with what they write; twice, to the byte
names=$("$dsql" sim list | cut -d ' ' -f 1)
[ "$(echo "$names" | wc -w)" = 14 ] || fail "14 scenarios expected: $names"
for name in $names; do
    cmp -s "$SOURCE_DIR/scenarios/$name.yaml" <("$dsql" sim list --show "$name") || fail "$name is not the one of its file"
    status=0
    [ "$name" != over-cap ] || status=1
    runs='1 2'
    [ "$name" != ecs-400wps ] || runs=1 # seconds each
    for run in $runs; do
        expect $status "$dsql" sim run "$name" --csv "$scratch/$run.csv" --html "$scratch/$run.html"
        [ -z "$err" ] || fail "$name: $err"
        cp "$scratch/out" "$scratch/$run.txt"
    done
    for kind in txt csv html; do
        [ "$runs" = 1 ] || cmp "$scratch/1.$kind" "$scratch/2.$kind" || fail "$name: two runs, two results"
    done
    cp "$scratch/1.html" "$scratch/$name.html"
    case $name in
        over-cap)
            contains "$out" 'this fleet wants 22000 connections and may hold 10000: it cannot fit. What fits: 227 a process'
            contains "$out" 'FAILED assertConvergeWithin at 5m1s: '
            contains "$out" 'again: dsql sim run over-cap --seed 42'
            ;;
        *) contains "$out" 'all assertions held (seed 42)' ;;
    esac
done
# Another seed is another run, and is what the run says it was.
expect 0 "$dsql" sim run local --seed 7 --csv "$scratch/7.csv"
contains "$out" 'all assertions held (seed 7)'
"$dsql" sim run local --csv "$scratch/42.csv" >"$scratch/out"
! cmp -s "$scratch/42.csv" "$scratch/7.csv" || fail "two seeds, one result"
expect 0 "$dsql" sim run local mass-drop --seeds 3 --json
[ "$(jq -r '"\(.scenario) \(.seed) \(.passed)"' <<<"$out" | paste -sd,)" = \
    'local 42 true,local 43 true,local 44 true,mass-drop 42 true,mass-drop 43 true,mass-drop 44 true' ] || fail "$out"
expect 1 "$dsql" sim run over-cap --json
jq -e '.passed == false and (.misfit | test("cannot fit")) and .failures[0].check == "assertConvergeWithin" and .peak_connections == 10000' \
    <<<"$out" >"$scratch/jq" || fail "$out"
# Callers that come before the pools are full are another thing than those who find nothing later.
expect 0 "$dsql" sim run mass-drop
contains "$out" '  budget: 100/s + burst 100'
contains "$out" ' before the first filling, 0 after it'
# "held" says what was demanded and what was seen.
contains "$out" 'held: in any t seconds at most 100 + 100 x t connects, so at most 200 in one second'
contains "$out" 'held: no caller goes away empty-handed once its process has reached its target. Seen: 0 of '
expect 0 "$dsql" sim run mass-drop --json
jq -e '.empties > 0 and .late_empties == 0 and ([.services[].empties] | add) == .empties' <<<"$out" >"$scratch/jq" || fail "$out"
jq -e '(.assertions | length) == 7 and all(.assertions[]; .held and (.text | length) > 20)' <<<"$out" >"$scratch/jq" || fail "$out"
# What happens between two samples is kept: half of all connections are lost and back within a second, and callers
# hold a connection for some milliseconds.
"$dsql" sim run mass-drop --csv "$scratch/drop.csv" >"$scratch/out"
python3 - "$scratch/drop.csv" <<'PY' || fail "the record hides the drop"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
number = lambda row, name: int(row[name])
after = next(r for r in rows if float(r["seconds"]) >= 301)
assert number(after, "connections_low") < 130 and number(after, "connections_high") == 200, after
assert number(after, "history_open_low") < 40, after
assert max(number(r, "worker_in_use_high") for r in rows) >= 2
for r in rows:
    for service in ("history", "matching", "frontend", "worker"):
        opened = number(r, service + "_ready") + number(r, service + "_in_use")
        assert number(r, service + "_open_low") <= opened <= number(r, service + "_open_high"), r
        assert number(r, service + "_in_use_low") <= number(r, service + "_in_use") <= number(r, service + "_in_use_high"), r
PY
# A world in which an owner's plan once changed each time it was made, and time stood still.
expect 0 timeout 900 "$dsql" sim fuzz --case 8671573820339194824
# 22,000 connections at the quota everybody has.
sed 's/connections: 25000/connections: 10000/; s/duration: 30m/duration: 6m/' "$SOURCE_DIR/scenarios/ecs-400wps.yaml" >"$scratch/own.yaml"
expect 1 "$dsql" sim run "$scratch/own.yaml"
contains "$out" 'may hold 10000: it cannot fit. What fits: 227 a process for these 44 processes, or a quota raised to 22000'

# The other shared budget.
sed 's/^services:/budget: {kind: leases}\nservices:/' "$SOURCE_DIR/scenarios/local.yaml" >"$scratch/own.yaml"
expect 0 "$dsql" sim run "$scratch/own.yaml"
contains "$out" 'all assertions held (seed 42)'

# ---- files and options that do not fit
refused() { # refused MESSAGE < TEXT
    cat >"$scratch/bad.yaml"
    expect 2 "$dsql" sim run "$scratch/bad.yaml"
    contains "$err" "$1"
}
refused 'bad.yaml:2: a service has no field '"'coutn'" <<<$'services:\n  - {name: a, coutn: 3}'
refused 'bad.yaml:2: duration: expected a duration from 1s to 168h, as 90s or 250ms, not '"'long'" <<<$'services: [{name: a}]\nduration: long'
refused 'bad.yaml:3: service: there is no service' <<<$'services: [{name: a}]\nevents:\n  - {at: 1s, what: crash, service: b}'
expect 1 "$dsql" sim run no-such
contains "$err" "no scenario 'no-such'"
contains "$err" "'dsql sim list' names those that come with this program"
expect 1 "$dsql" sim run mass-drp
contains "$err" "did you mean 'mass-drop'?"
expect 1 "$dsql" sim list --show mass-drp
contains "$err" "no scenario 'mass-drp' comes with this program"
contains "$err" "did you mean 'mass-drop'?"
expect 2 "$dsql" sim run local --seed x
contains "$err" '--seed=x is no number from 0 on'
expect 1 "$dsql" sim run local --html "$scratch/nowhere/x.html"
contains "$err" "$scratch/nowhere/x.html: No such file or directory"
[ -z "$out" ] || fail "it ran nevertheless: $out"
expect 2 "$dsql" sim fuzz --show
contains "$err" '--show goes with --case'
status=0
"$dsql" sim run local --csv "$scratch/no/such" >"$scratch/out" 2>"$scratch/err" || status=$?
[ $status != 0 ] || fail "a file that can't be written is no failure"
contains "$(cat "$scratch/err")" 'No such file or directory'

# ---- plan
expect 0 "$dsql" sim plan --services 44 --conns 100 --lifetime 50m --runs 1
contains "$out" '44 processes with 100 connections each: 4400 of 10000; they live for 50m'
contains "$out" 'refused (53400)    in 0 % of 1 runs'
expect 0 "$dsql" sim plan --services 44 --conns 100 --lifetime 50m --runs 1 --json
jq -e '.wanted == 4400 and .peak_connections == 4400 and .full_seconds > 40 and .full_seconds < 60 and .runs_refused == 0 and .fits
    and .steady_per_second > 0.8 and .steady_per_second < 3' <<<"$out" >"$scratch/jq" || fail "$out"
expect 1 "$dsql" sim plan --services 44 --conns 500 --runs 1
contains "$out" 'it cannot fit'
contains "$out" 'does NOT fit'
[[ "$out" != *'full after'* ]] || fail "it ran a fleet that arithmetic refuses: $out"
expect 1 "$dsql" sim plan --services 44 --conns 500 --json
jq -e '.simulated == false and .fits == false and (.advice[0] | test("cannot fit"))' <<<"$out" >"$scratch/jq" || fail "$out"
expect 2 "$dsql" sim plan --lifetime 1h
contains "$err" 'exceed the 60m'
expect 2 "$dsql" sim plan --conns 0
contains "$err" '--conns=0 is no number from 1'

# ---- fuzz
expect 0 "$dsql" sim fuzz --seed 1 --worlds 20
contains "$out" '20 worlds from seed 1: '
contains "$out" 'everything held'
said=$out
expect 0 "$dsql" sim fuzz --seed 1 --worlds 20
[ "$out" = "$said" ] || fail "the same worlds, another result: $said $out"
expect 0 "$dsql" sim fuzz --case 5
said=$(sed 1d <<<"$out")
"$dsql" sim fuzz --case 5 --show >"$scratch/own.yaml"
expect 0 "$dsql" sim run "$scratch/own.yaml"
[ "$(sed 1d <<<"$out")" = "$said" ] || fail "a world that was shown runs in another way"

# ---- the page in a browser: charts with something in them, no complaint, nothing wider than a phone
for name in mass-drop over-cap; do
    timeout 900 chromium --headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --disable-dev-shm-usage --enable-logging=stderr --window-size=400,800 \
        --user-data-dir="$scratch/profile" --dump-dom "file://$scratch/$name.html" >"$scratch/dom" 2>"$scratch/err" ||
        fail "chromium: $(tail -n 5 "$scratch/err")"
    ! grep -E 'CONSOLE|Uncaught|net::ERR' "$scratch/err" || fail "the browser complains"
    python3 - "$name" "$scratch/dom" <<'PY' || fail "$name: the page is not whole"
import re, sys
name, dom = sys.argv[1], open(sys.argv[2]).read()
charts = re.findall(r"<svg.*?</svg>", dom, re.S)
drawn = [c for c in charts if re.search(r"<(polyline|path)[^>]*(points|d)=\"[^\"]{20,}", c)]
assert len(charts) >= 4 and len(drawn) >= 3, (len(charts), len(drawn))
assert all("<polygon" in c for c in charts), "a chart without its band"
assert "What is asserted" in dom
assert ("All assertions held." in dom) == (name == "mass-drop")
assert ("cannot fit" in dom) == (name == "over-cap")
PY
done

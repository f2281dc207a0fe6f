#!/bin/bash
# The flight recorder: ten seconds (RECORDER_SECONDS) of a pool to which everything happens, recorded and
# replayed; every decision has to be equal. A simulation that begins there. Files that are cut off or changed, and places that are refused.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export DSQL=$dsql
driver=$BUILD_DIR/tests/recorder_driver
trace=$scratch/pool.trace

echo 'what was here before' >"$trace"
DSQL_TRACE=$trace expect 0 "$dsql" local exec -- "$driver" "${RECORDER_SECONDS:-10}"
contains "$err" 'event=pool.trace '
[ "$(cat "$trace.old")" = 'what was here before' ] || fail "an earlier recording is not kept"
[ "$(stat -c %a "$trace")" = 600 ] || fail "others may read the recording"

expect 0 "$dsql" sim replay "$trace"
for text in 'decisions equal' ' 0 gaps' 'fewer than the target' 'a successor for an aging one' 'callers wait' \
    'the connect took too long' 'failed slot' ': throttled' ': denied' ': token_expired' ': network' \
    'close slot' ': server_closed' ': broken' ': insufficient_remaining_lifetime' ': expiring_soon_on_scan' 'drain'; do
    grep -q -- "$text" <<<"$out" || fail "'$text' is missing in $out"
done
tail -n 3 <<<"$out"
case $out in *'not ended'*) fail "the recording has no end" ;; esac

# No secret, no name, no address.
! grep -aq -e "X-Amz" -e localhost -e 127.0.0.1 "$trace" || fail "the recording holds more than numbers"

# Other forms of the same.
expect 0 "$dsql" sim replay --json --all "$trace"
python3 - "$scratch/out" <<'PY'
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
summary = lines.pop()
assert summary["equal"] and summary["closed"] and summary["records"] == len(lines), summary
assert [line["record"] for line in lines] == list(range(1, len(lines) + 1))
assert {"turn", "open", "opened", "failed", "close", "closed", "sleep"} <= {line["what"] for line in lines}
PY
expect 0 "$dsql" sim replay --quiet --html "$scratch/page.html" "$trace"
contains "$(cat "$scratch/page.html")" 'decisions equal'
contains "$(cat "$scratch/page.html")" '<h2>Discards</h2>'

# What another setting would have done: a simulation, and it says so.
from() { expect 0 "$dsql" sim run --from-trace "$trace" "$@"; }
from --html "$scratch/page.html" --csv "$scratch/rows.csv"
contains "$out" 'from here on this is a simulation. A recording does not tell'
contains "$out" ' recorded  simulated'
contains "$(cat "$scratch/page.html")" '<b>This is a simulation</b> that begins where a recorded pool was'
from --json
jq -e '.simulated and .from_trace.connects > 10 and .from_trace.connect_mean_ns >= .from_trace.connect_shortest_ns and
    .from_trace.rate == 50 and (.from_trace.unknown | length) > 3 and .from_trace.compared["connects begun"][0] > 10' \
    <<<"$out" >"$scratch/jq" || fail "$out"
connects() { from --json "$@" && jq .connects <<<"$out"; }
usual=$(connects) many=$(connects pool.targetReady=24 pool.maxOpen=24) long=$(connects pool.baseLifetime=30s)
((many > usual && long < usual)) || fail "connects: $usual as recorded, $many with three times the target, $long that live longer"
from pool.targetReady=24 pool.maxOpen=24
contains "$out" 'changed: pool.targetReady=24 pool.maxOpen=24'
from --at 1s
contains "$out" 'the simulation begins '
expect 2 "$dsql" sim run --from-trace "$trace" --at 10h
contains "$err" 'the recording lasts for '
expect 2 "$dsql" sim run --from-trace "$trace" pool.targetRead=3
contains "$err" "did you mean 'targetReady'?"
expect 2 "$dsql" sim run --from-trace "$trace" local
contains "$err" 'a recording or scenarios, not both'
expect 2 "$dsql" sim run --at 3s local
contains "$err" '--from-trace FILE'
expect 2 "$dsql" sim run pool.targetReady=3
contains "$err" 'no scenario'
expect 0 "$dsql" sim run local services.targetReady=60 --json
jq -e '.services[0].target == 60 and .changed == "services.targetReady=60"' <<<"$out" >"$scratch/jq" || fail "$out"

# Cut off anywhere, it is replayed up to there: no difference, no crash, and what is missing is said.
size=$(stat -c %s "$trace")
for cut in 0 1 39 40 1000 $((size / 3)) $((size / 2)) $((size - 50)); do
    head -c "$cut" "$trace" >"$scratch/cut"
    expect 2 "$dsql" sim replay "$scratch/cut"
    case $out$err in
        *DIFFERS*) fail "cut off at $cut: $out" ;;
        *'nothing is recorded here'* | *'cut off'*) ;;
        *) fail "cut off at $cut: $err" ;;
    esac
    expect 2 "$dsql" sim run --from-trace "$scratch/cut"
    grep -q -e 'nothing is recorded here' -e 'cut off' <<<"$err" || fail "cut off at $cut: $err"
    [ -z "$out" ] || fail "a recording that is cut off was simulated: $out"
done
# A byte that is not what was written.
for at in 20 200 5000 $((size / 2)); do
    cp "$trace" "$scratch/changed"
    python3 -c 'import sys
with open(sys.argv[1], "r+b") as f:
    f.seek(int(sys.argv[2])); b = f.read(1)[0]; f.seek(int(sys.argv[2])); f.write(bytes([b ^ 16]))' "$scratch/changed" "$at"
    expect 2 "$dsql" sim replay --quiet "$scratch/changed"
    grep -q -e 'damaged at byte' -e 'no recording of a pool' <<<"$err" || fail "changed at $at: $err"
    expect 2 "$dsql" sim run --from-trace "$scratch/changed"
    grep -q -e 'damaged at byte' -e 'no recording of a pool' <<<"$err" || fail "changed at $at: $err"
done
expect 1 "$dsql" sim run --from-trace "$scratch/none"
contains "$err" 'No such file'
expect 1 "$dsql" sim replay "$scratch/none"
contains "$err" 'No such file'
expect 2 "$dsql" sim replay "$SOURCE_DIR/README.md"
contains "$err" 'no recording of a pool'

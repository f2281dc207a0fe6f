# A fleet in a storm, judged by `dsql local`: run inside `dsql local exec` by budget.sh, with the budget's
# settings in the environment.   budget_storm.bash SCRATCH MEMBERS SECONDS LONG_STOP DYNAMODB_PID
# shellcheck shell=bash disable=SC2154 # dsql is in the environment
set -euo pipefail
scratch=$1 members=$2 seconds=$3 long_stop=$4 dynamodb=$5
limit=$((DSQL_DISTRIBUTED_CONN_LIMIT - DSQL_BUDGET_HEADROOM))
declare -a pids=()

fail() {
    echo "FAILED: $*" >&2
    "$dsql" budget status >&2 || true
    "$dsql" local status >&2 || true
    tail -n 3 "$scratch"/member.* >&2 || true
    exit 1
}
seen() { "$dsql" local status | awk -v name="$1" -F'[ =:]+' '$1 == name {print $2}'; }
start() { # start INDEX
    "$BUILD_DIR/tests/budget_member" >"$scratch/member.$1" 2>"$scratch/member.$1.err" &
    pids[$1]=$!
}
finish() {
    local pid
    for pid in "${pids[@]}"; do kill -CONT "$pid" 2>/dev/null && kill -9 "$pid" 2>/dev/null; done
    kill -CONT "$dynamodb" 2>/dev/null || true
}
trap finish EXIT

until_true() { # until_true SECONDS COMMAND...: waits for it
    local i
    for ((i = 0; i < $1 * 5; i++)); do
        if "${@:2}"; then return 0; fi
        sleep 0.2
    done
    return 1
}
is_open() { [ "$(seen open)" = "$1" ]; }
full() { is_open "$limit"; }

for ((i = 0; i < members; i++)); do start "$i"; done
until_true 600 full || fail "never full: $(seen open) of $limit"

# Exact: every slot in use, shares that differ by one at most, nobody dead.
exact() {
    "$dsql" budget status --json 2>/dev/null >"$scratch/status.json" && full &&
        python3 - "$scratch/status.json" "$limit" "$members" <<'PY'
import json, sys
blocks = json.load(open(sys.argv[1]))["blocks"]
slots = [o["slots"] for o in blocks["owners"]]
sys.exit(not (blocks["slots"] == int(sys.argv[2]) and len(slots) == int(sys.argv[3]) and max(slots) - min(slots) <= 1))
PY
}

# An outage of DynamoDB closes nothing. Before that, shares are still made equal, and who gives one back closes.
until_true 600 exact || fail "never exact: $(cat "$scratch/status.json")"
closed=$(seen closed)
kill -STOP "$dynamodb"
sleep "$((long_stop > 0 ? long_stop : 3))" # in which it would close some, if it did
[ "$(seen closed)" = "$closed" ] || fail "connections were closed while DynamoDB was away"
kill -CONT "$dynamodb"

# The storm: kill -9 and a new one, and stops shorter than the TTL.
RANDOM=${BUDGET_SEED:-1}
end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ]; do
    victim=$((RANDOM % members))
    case $((RANDOM % 3)) in
        0)
            kill -9 "${pids[$victim]}"
            wait "${pids[$victim]}" 2>/dev/null || true
            start "$victim"
            ;;
        1)
            kill -STOP "${pids[$victim]}"
            sleep "${BUDGET_STOP:-1}"
            kill -CONT "${pids[$victim]}"
            ;;
        2)
            kill "${pids[$victim]}"
            wait "${pids[$victim]}" 2>/dev/null || true
            start "$victim"
            ;;
    esac
    sleep 0.$((RANDOM % 10))
done
[ "$(seen refused_full)" = 0 ] || fail "the cap was exceeded $(seen refused_full) times"

# A dead owner's block is gone within two TTLs, and its slots are used by others.
now_ms() { echo $((${EPOCHREALTIME/./} / 1000)); }
owners() { "$dsql" budget status --json 2>/dev/null | grep -c '"age_s"'; }
is_owners() { [ "$(owners)" = "$1" ]; }
# Waits for what a look sees. The last look that did not see it began $late ms after SINCE; the slowest took $slowest
# ms, which a machine that busy may need beyond any bound.
until_seen() { # until_seen SINCE COMMAND...
    local began took status
    late=0 slowest=0
    while began=$(now_ms) && [ $((began - $1)) -lt 600000 ]; do
        status=0
        "${@:2}" || status=$?
        took=$(($(now_ms) - began))
        [ $took -le $slowest ] || slowest=$took
        [ $status != 0 ] || return 0
        late=$((began - $1))
        sleep 0.05
    done
    return 1
}
reuse() {
    local ttl=${DSQL_BUDGET_TTL%s}
    until_true 600 is_owners "$members" || fail "$(owners) owners instead of $members"
    until_true 600 full || fail "not full after the storm: $(seen open) of $limit"
    kill -9 "${pids[1]}"
    wait "${pids[1]}" 2>/dev/null || true
    until_seen "$(now_ms)" is_owners $((members - 1)) || fail "a dead owner still has a block"
    echo "a dead owner's block was there for $late ms, TTL $ttl s; a look took up to $slowest ms"
    [ "$long_stop" = 0 ] || [ "$late" -le $((2000 * ttl + slowest)) ] || fail "more than two TTLs"
    until_true 600 full || fail "a dead owner's slots are not used: $(seen open) of $limit"
    start 1
}
[ "${BUDGET_REUSE:-yes}" = no ] || reuse

# One that is silent for longer than the TTL: others take its slots, so that there may be more connections than the
# limit, by those of the silent one, which the headroom covers. Nothing above the limit is seen later than 2 s after its
# return.
within_limit() { [ "$(seen open)" -le "$limit" ]; }
if [ "$long_stop" -gt 0 ]; then
    kill -STOP "${pids[0]}"
    sleep "$long_stop" # more than the TTL
    open=$(seen open)
    echo "open while one is silent for $long_stop s: $open of $limit"
    [ "$open" -le "$DSQL_DISTRIBUTED_CONN_LIMIT" ] || fail "$open open: more than limit and headroom"
    kill -CONT "${pids[0]}"
    until_seen "$(now_ms)" within_limit || fail "$(seen open) open: never within the limit again"
    echo "above the limit until $late ms after its return; a look took up to $slowest ms"
    [ "$late" -le $((2000 + slowest)) ] || fail "above the limit $late ms after the return"
fi

# What is left is exact again.
until_true 600 exact || fail "never exact: $(cat "$scratch/status.json")"

# Connects: in any stretch of time at most burst + rate * t. The stamps are of arrivals, so those that
# were under way (permits of one burst at most) may come late and together.
"$dsql" local status --admissions >"$scratch/admissions"
python3 - "$scratch/admissions" "$DSQL_DISTRIBUTED_RATE_LIMITER_LIMIT" "$DSQL_BUDGET_BURST" <<'PY' || fail "too many connects"
import sys
rate, burst = int(sys.argv[2]), int(sys.argv[3])
stamps = sorted(int(word) for word in open(sys.argv[1]).read().split())
level, last, lowest = float(burst), stamps[0], 0.0
for at in stamps:
    level = min(burst, level + rate * (at - last) / 1e9) - 1
    last, lowest = at, min(lowest, level)
print(f"{len(stamps)} connects at {rate}/s, burst {burst}: at most {-lowest:.1f} above it in arrivals")
sys.exit(-lowest > burst)
PY

# SIGTERM hands everything back.
for pid in "${pids[@]}"; do kill "$pid"; done
for pid in "${pids[@]}"; do wait "$pid" || true; done
pids=()
until_true 600 is_open 0 || fail "$(seen open) connections left"
"$dsql" budget status --json 2>/dev/null | grep -q '"owners": \[\]' || fail "owners left"
echo "refused: rate $(seen refused_rate), full $(seen refused_full); admitted $(seen admitted)"

#!/bin/bash
# A bank behind `dsql proxy`, in Python, while connections are dropped, throttled, denied and stalled, COMMIT fails before and
# after it is carried out, the endpoint is restarted, and the proxy is killed and replaced: no sum is wrong, no transfer
# that was told as committed is lost, none that was told as rolled back is there, and the rest was told as unknown.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"
bank() { /usr/bin/python3 "$SOURCE_DIR/tests/integ/proxy/proxy_bank.py" "$@"; }
count=${COUNT:-400}
steps=10
start_proxy --connections=3 --wait=5s
bank make
through /usr/bin/python3 "$SOURCE_DIR/tests/integ/proxy/proxy_bank.py" work "$scratch/told" "$count" >"$scratch/work" 2>&1 &
work=$!

# The next thing happens when so many transfers are over, however long that takes.
step=0
is_over() { [ "$(stat -c %s "$scratch/told" 2>/dev/null || echo 0)" -ge $((step * count / steps)) ] || ! kill -0 $work 2>/dev/null; }
next() {
    step=$((step + 1))
    eventually is_over || fail "no progress at step $step: $(cat "$scratch/work")"
}
fault() { "$dsql" local fault "$@" >/dev/null || fail "fault $*"; }
next
fault drop=60%
next
fault throttle=50% deny=20% drop=100%
next
fault clear
fault stall=1s
next
fault close-applied=10% close-commit=10% conflict-commit=10% seed=3
next
fault clear
next # the proxy is killed, and its successor runs transactions again
kill -KILL "$proxy_pid"
wait "$proxy_pid" 2>/dev/null || true
start_proxy_at "$PROXY_PORT" --connections=3 --wait=5s --retry-conflicts=5
next
fault conflict-commit=20% close-applied=10% drop=50% seed=4
next
fault clear
kill -TERM "$local_pid" # the endpoint is away for a moment
wait "$local_pid" || fail "dsql local: $(cat "$scratch/local.err")"
start_local --port="$PGPORT" --stale-catalogue=0
next
fault drop=100%
status=0
wait $work || status=$?
[ $status = 0 ] || fail "the clients ended with $status: $(tail -20 "$scratch/work")"
cat "$scratch/work"
expect 0 bank audit "$scratch/told"
echo "$out"
contains "$out" ' unknown'
[ "${out%% *}" -gt 0 ] || fail 'nothing was committed'
stop_proxy
stop_local

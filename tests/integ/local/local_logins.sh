#!/bin/bash
# Clients that connect and say nothing: they are dropped in time and in number, and cost the others nothing. When
# descriptors run out, the endpoint waits without spinning, says so once, and goes on.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
seen() { "$dsql" local status --data "$scratch/data" | sed -n "s/^$1=//p"; }
wait_for() { eventually "$@" || fail "never: $*"; }
# silent COUNT: connects so often, says nothing, prints a line when all are connected, "gone N" at the end of its
# input: how many the endpoint has closed.
cat >"$scratch/silent.py" <<'PY'
import os, select, socket, sys
port, count = int(sys.argv[1]), int(sys.argv[2])
all = []
for _ in range(count):
    s = socket.socket(); s.setblocking(False); s.connect_ex(("127.0.0.1", port)); all.append(s)
print("connected", flush=True)
sys.stdin.read()
gone = 0
for s in all:
    try: gone += s.recv(1) == b""
    except BlockingIOError: pass
    except OSError: gone += 1
print("gone", gone, flush=True)
PY
silent() {
    rm -f "$scratch/in"
    mkfifo "$scratch/in"
    python3 "$scratch/silent.py" "$port" "$1" <"$scratch/in" >"$scratch/silent" 2>&1 &
    silent_pid=$!
    exec 4>"$scratch/in"
    wait_for grep -q connected "$scratch/silent"
}
silent_end() { # how many were closed, in $gone
    exec 4>&-
    wait "$silent_pid" || fail "$(cat "$scratch/silent")"
    gone=$(sed -n 's/^gone //p' "$scratch/silent")
}
is() { [ "$(seen "$1")" = "$2" ]; }

# By number: at most 20 at once, and who logs in gets through beside 300 silent ones.
start_local --port 0 --max-logins 20
port=$(sed -n "s/^export PGPORT='\(.*\)'$/\1/p" "$scratch/ready")
silent 300
[ "$(in_env psql -Atc 'select 1')" = 1 ] || fail "nobody gets in beside silent clients"
for _ in $(seq 6000); do
    [ "$(seen logging_in)" -le 20 ] || fail "logging_in=$(seen logging_in)"
    [ "$(seen accepted)" -lt 301 ] || break
    sleep 0.1
done
[ "$(seen refused_protocol)" -ge 280 ] || fail "refused_protocol=$(seen refused_protocol)"
grep -q 'event=local.refused reason=protocol .*detail="too slow to log in while others wait"' "$scratch/local.err" || fail "$(cat "$scratch/local.err")"
refused=$(seen refused_protocol)
silent_end
[ "$gone" = "$refused" ] || fail "$gone were closed, not $refused"
wait_for is logging_in 0
# Who has logged in does not count.
sleepers=
for i in $(seq 25); do
    in_env psql -qXAtc 'select pg_sleep(600)' >/dev/null 2>&1 &
    sleepers="$sleepers $!"
    wait_for is open "$i"
done
[ "$(seen logging_in)" = 0 ] || fail "logging_in=$(seen logging_in)"
# shellcheck disable=SC2086 # words
kill $sleepers 2>/dev/null || true
stop_local

# By time.
start_local --port 0 --login-time 1s
port=$(sed -n "s/^export PGPORT='\(.*\)'$/\1/p" "$scratch/ready")
# PostgreSQL's own minute, which is the default, must not pass; a machine that is busy has more than one try.
for refused in 10 20 30 40 50; do
    silent 10
    SECONDS=0
    wait_for is refused_protocol $refused
    took=$SECONDS
    silent_end
    [ "$gone" = 10 ] || fail "$gone were closed, not 10"
    [ $took -ge 40 ] || break
done
[ "$took" -lt 40 ] || fail "silent clients were there for $took s"
stop_local

# No descriptors: with room for some 20 more, 100 connect.
start_local --port 0
port=$(sed -n "s/^export PGPORT='\(.*\)'$/\1/p" "$scratch/ready")
[ "$(in_env psql -Atc 'select 1')" = 1 ] || fail "the first"
prlimit --pid "$local_pid" --nofile=$(($(find "/proc/$local_pid/fd" -mindepth 1 | wc -l) + 20))
silent 100
wait_for grep -q 'event=local.short' "$scratch/local.err"
ticks() { awk '{print $14 + $15}' "/proc/$local_pid/stat"; }
before=$(ticks) began=${EPOCHREALTIME/./}
sleep 5 # of waiting, which cost next to nothing
spent=$(($(ticks) - before)) took=$((${EPOCHREALTIME/./} - began))
[ $((spent * 10000000)) -lt $((took * $(getconf CLK_TCK))) ] || fail "$spent ticks of the processor in $took us of waiting"
[ "$(grep -c event=local.short "$scratch/local.err")" = 1 ] || fail "$(cat "$scratch/local.err")"
silent_end
wait_for in_env psql -qAtc 'select 1' >/dev/null 2>&1
[ "$(in_env psql -Atc 'select 2')" = 2 ] || fail "it did not go on"
[ "$(seen rests)" -gt 0 ] || fail "rests=$(seen rests)"
stop_local

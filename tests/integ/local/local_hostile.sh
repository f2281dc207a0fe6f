#!/bin/bash
# Clients that send garbage, half a message, a length of 1 GiB or nothing cost one connection and a line in
# the log each, and nobody else notices.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export dsql hostile=$BUILD_DIR/tests/local_hostile
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there

"$dsql" local --port 0 --data "$scratch/data" --ready-file "$scratch/ready" >/dev/null 2>"$scratch/log" &
pid=$!
trap 'exec 3>&-; kill $pid 2>/dev/null || true; wait || true; rm -rf "$scratch"' EXIT
ready() {
    kill -0 $pid 2>/dev/null || fail "dsql local ended: $(cat "$scratch/log")"
    [ -e "$scratch/ready" ]
}
eventually ready || fail "dsql local is not ready"
# shellcheck disable=SC1091 # written a moment ago
. "$scratch/ready"
seen() { "$dsql" local status | sed -n "s/^$1=//p"; }

# Somebody who has done no harm is there all the while.
exec 3> >(psql -AtXq >"$scratch/good" 2>&1)
echo "select 'before';" >&3
eventually test -s "$scratch/good" || fail "the good one gets no answer"

rounds=0
for kind in http high tls-junk startup query small unknown; do
    expect 0 timeout 900 "$hostile" $kind
    rounds=$((rounds + 1))
    [ "$(seen refused_protocol)" = $rounds ] || fail "$kind: refused_protocol=$(seen refused_protocol), not $rounds"
    [ "$(grep -c 'event=local.refused reason=protocol' "$scratch/log")" = $rounds ] || fail "$kind: $(cat "$scratch/log")"
done
expect 3 timeout 900 "$hostile" nothing # it may think; the endpoint waits as long as PostgreSQL would
expect 0 timeout 900 "$hostile" half
is_open() { [ "$(seen open)" = "$1" ]; }
eventually is_open 1 || fail "half a message keeps a connection open"
[ "$(awk '/VmHWM/ {print $2}' "/proc/$pid/status")" -lt $((200 * 1024)) ] || fail "a length alone took memory"

echo "select 'after';" >&3
exec 3>&-
wait $!
[ "$(cat "$scratch/good")" = "$(printf 'before\nafter')" ] || fail "the good one: $(cat "$scratch/good")"

# Questions the control socket does not know, too long ones, and those who ask nothing.
ask() { timeout 900 python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.sendall(sys.argv[2].encode() * int(sys.argv[3]))
if sys.argv[4] == "wait": sys.stdout.write(s.recv(100).decode())' "$DSQL_LOCAL_CONTROL" "$@"; }
expect 0 ask $'nonsense\n' 1 wait
contains "$out" error
ask x 100000 wait >/dev/null 2>&1 || true
expect 0 ask '' 1 go
expect 0 ask fault 1 go
eventually is_open 0 || fail "the control socket is gone"
kill -TERM $pid
wait $pid || fail "it ended with $?: $(cat "$scratch/log")"

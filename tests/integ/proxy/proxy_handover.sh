#!/bin/bash
# One `dsql proxy` takes over from another while clients connect all the time: none is refused. Sockets of systemd
# (LISTEN_FDS) are used as they are, and what does not listen is refused.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"

mkdir "$scratch/sockets"
options=(--connections=4 "--handover=$scratch/handover" "--socket-dir=$scratch/sockets")
start_proxy "${options[@]}" --drain=60s
first=$proxy_pid

# Clients that come and go, by TCP and by the Unix socket, until they are told to end; what failed is told.
cat >"$scratch/come_and_go.py" <<'PY'
import os, sys, threading
import psycopg
stop, port, folder, failures = sys.argv[1], os.environ['PGPORT'], sys.argv[2], []
def visit(i):
    while not os.path.exists(stop):
        try:
            with psycopg.connect(host=folder if i % 2 else '127.0.0.1', autocommit=True) as conn:
                assert conn.execute('select 40 + 2').fetchone() == (42,)
            open(f'{stop}.{i}', 'w').close()
        except Exception as error:
            failures.append(repr(error))
threads = [threading.Thread(target=visit, args=(i,)) for i in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print(f'{len(failures)} failed {failures[:3]}')
PY
through /usr/bin/python3 "$scratch/come_and_go.py" "$scratch/stop" "$scratch/sockets" >"$scratch/visits" 2>&1 &
visitors=$!
have_visited() { [ "$(find "$scratch" -name 'stop.?' | wc -l)" = 4 ]; }
visited() { # each of them has been there once more
    rm -f "$scratch"/stop.?
    await have_visited
}
visited

# A transaction that is open when the hand-over begins ends where it began.
coproc session { through psql -X -A -t -q 2>&1; }
# shellcheck disable=SC2154 # session is the coproc's
exec {to_session}>&"${session[1]}" {from_session}<&"${session[0]}"
printf 'begin; select 1;\n' >&"$to_session"
IFS= read -r -t 120 line <&"$from_session"
same "$line" 1

successor() { # the process that takes over; it says so in its own files
    : >"$scratch/proxy.out"
    "$dsql" proxy --port=0 "${options[@]}" >"$scratch/proxy.out" 2>"$scratch/proxy.err" &
    proxy_pid=$!
    await said_ready
    grep -q -- "-p $PROXY_PORT " "$scratch/proxy.out" || fail "another port: $(cat "$scratch/proxy.out" "$scratch/proxy.err")"
}
# Who asks for the sockets and goes gets them, and changes nothing; one has its turn at a time; another user gets nothing.
cat >"$scratch/ask.py" <<'PY'
import os, socket, sys
def ask():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(120)
    s.connect(sys.argv[1])
    return s, len(socket.recv_fds(s, 1, 8)[1])
if sys.argv[2:]:
    os.setuid(int(sys.argv[2]))
    print(ask()[1])
else:
    first, second = ask(), ask()
    print(first[1], second[1])
PY
same "$(python3 "$scratch/ask.py" "$scratch/handover")" '2 0'
if [ "$(id -u)" = 0 ]; then
    chmod 666 "$scratch/handover"
    same "$(python3 "$scratch/ask.py" "$scratch/handover" 65534)" 0
fi
visited
! grep -q proxy.handed_over "$scratch/proxy.err" || fail 'who only asked has taken over'
mv "$scratch/proxy.err" "$scratch/first.err"
successor
visited
second=$proxy_pid
await grep -q proxy.handed_over "$scratch/first.err"
printf 'commit; select 2;\n\\q\n' >&"$to_session"
IFS= read -r -t 120 line <&"$from_session"
same "$line" 2
ended_well "$first" # once its clients have left
mv "$scratch/proxy.err" "$scratch/second.err"
successor
ended_well "$second"
visited
touch "$scratch/stop"
wait "$visitors"
contains "$(cat "$scratch/visits")" '0 failed'
[ -S "$scratch/sockets/.s.PGSQL.$PROXY_PORT" ] || fail 'the Unix socket is gone'
stop_proxy
[ ! -e "$scratch/sockets/.s.PGSQL.$PROXY_PORT" ] || fail 'the Unix socket is left behind'
[ ! -e "$scratch/handover" ] || fail 'the socket of the hand-over is left behind'

# Sockets that another process listens on: systemd's, as systemd-socket-activate(1) passes them.
cat >"$scratch/activate.py" <<'PY'
import os, socket, sys
kind, path, command = sys.argv[1], sys.argv[2], sys.argv[3:]
sockets = []
if kind != 'none':
    tcp = socket.socket()
    tcp.bind(('127.0.0.1', 0))
    if kind == 'listening':
        tcp.listen(8)
        local = socket.socket(socket.AF_UNIX)
        local.bind(path)
        local.listen(8)
        sockets.append(local)
    sockets.append(tcp)
# Above 3 first, so that none of them is overwritten.
copies = [os.dup2(s.fileno(), 100 + i) for i, s in enumerate(sockets)]
for i, fd in enumerate(copies):
    os.dup2(fd, 3 + i)
    os.set_inheritable(3 + i, True)
    os.close(fd)
os.environ |= {'LISTEN_PID': str(os.getpid()), 'LISTEN_FDS': str(len(sockets))}
os.execvp(command[0], command)
PY
: >"$scratch/proxy.out"
python3 "$scratch/activate.py" listening "$scratch/activated" "$dsql" proxy --connections=2 >"$scratch/proxy.out" 2>"$scratch/proxy.err" &
proxy_pid=$!
await said_ready
PROXY_PORT=$(sed -n 's/.*-h [^ ]* -p \([0-9]*\).*/\1/p' "$scratch/proxy.out" | head -1)
same "$(psql_t -c 'select 40 + 2')" 42
[ "$PROXY_PORT" != 6432 ] || fail 'the port is not that of the socket'
stop_proxy
[ -S "$scratch/activated" ] || fail 'a socket of systemd was removed'
expect 2 python3 "$scratch/activate.py" bound "$scratch/x" "$dsql" proxy --connections=2
contains "$err" 'does not listen'
stop_local

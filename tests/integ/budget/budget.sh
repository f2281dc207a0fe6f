#!/bin/bash
# The fleet's budget on real servers of the DynamoDB API: AWS's DynamoDB Local and dynoxide. Processes
# with real pools share one table and one `dsql local`, which is the judge: what it let in, and when.
# BUDGET_SECONDS=120 is the long form of `make soak`: 20 processes, cap 200, 50 connects a second, TTL 10 s.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/budget/dynamodb.bash
. "$SOURCE_DIR/tests/integ/budget/dynamodb.bash"
export BUILD_DIR
seconds=${BUDGET_SECONDS:-3}

export DSQL_BUDGET=blocks DSQL_DISTRIBUTED_CONN_LEASE_TABLE=fleet DSQL_RESERVOIR_ENABLED=true
export DSQL_STAGGERED_STARTUP=false DSQL_LOG_LEVEL=warn DSQL_RESERVOIR_INITIAL_FILL_TIMEOUT=1s
if [ "$seconds" -ge 60 ]; then
    members=20 long_stop=30
    export DSQL_DISTRIBUTED_CONN_LIMIT=200 DSQL_BUDGET_HEADROOM=10 DSQL_DISTRIBUTED_RATE_LIMITER_LIMIT=50
    export DSQL_BUDGET_BURST=50 DSQL_BUDGET_TTL=10s DSQL_POOL_MAX_OPEN=20 BUDGET_STOP=5
else
    members=4 long_stop=0
    export DSQL_DISTRIBUTED_CONN_LIMIT=44 DSQL_BUDGET_HEADROOM=4 DSQL_DISTRIBUTED_RATE_LIMITER_LIMIT=50
    # The TTL is longer than a busy machine may keep a process waiting beside BUDGET_STOP.
    export DSQL_BUDGET_BURST=50 DSQL_BUDGET_TTL=15s DSQL_POOL_MAX_OPEN=15
fi

for kind in ${BUDGET_SERVERS:-dynoxide dynamodb-local}; do
    start_server "$kind"
    # Waiting for a TTL on one of the servers is enough in the short run.
    if [ "$seconds" -lt 60 ] && [ "$kind" != dynoxide ]; then export BUDGET_REUSE=no; fi
    # shellcheck disable=SC2016 # for the other shell
    "$dsql" local exec --rate 1000 --burst 1000 --max-connections "$DSQL_DISTRIBUTED_CONN_LIMIT" -- bash -c '
        "$dsql" budget setup 2>/dev/null && exec bash "$1/tests/integ/budget/budget_storm.bash" "$2" "$3" "$4" "$5" "$6"' \
        _ "$SOURCE_DIR" "$scratch" "$members" "$seconds" "$long_stop" "$server" || fail "on $kind"
    stop_server
    echo "$kind: holds"
done

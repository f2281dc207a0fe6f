#!/bin/bash
# The configuration of deploy/temporal as deploy/ecs runs it: each service in a process of its own, connected as
# the database role of deploy/temporal/role.sql, which may not touch tables. One workflow goes through.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
start_cluster --port 0
sed "s|ROLE_ARN|$DSQL_LOCAL_ARN|" "$root/deploy/temporal/role.sql" |
    PGPASSWORD=$("$dsql" token --admin) psql -qX -v ON_ERROR_STOP=1
# A loopback address of its own, so that the ports of the configuration are free.
address=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1))
export TEMPORAL_BIND_IP=$address TEMPORAL_BROADCAST_ADDRESS=$address TEMPORAL_HISTORY_SHARDS=4
export DSQL_USER=temporal DSQL_RESERVOIR_ENABLED=true DSQL_POOL_MAX_OPEN=10 DSQL_RESERVOIR_EMPTY_WAIT=2s
launch() { # launch SERVICE PORT: waits until it listens
    DSQL_SERVICE_NAME=temporal-$1 \
        "$server" --config "$root/deploy/temporal/temporal.yaml" --services "$1" >"$scratch/$1.log" 2>&1 &
    local pid=$!
    for _ in $(seq 6000); do
        # shellcheck disable=SC2188 # opening it is the point
        if (: >"/dev/tcp/$address/$2") 2>/dev/null; then return; fi
        kill -0 $pid 2>/dev/null || fail "$1 ended: $(tail -n 1 "$scratch/$1.log")"
        sleep 0.1
    done
    fail "$1 does not come up: $(tail -n 1 "$scratch/$1.log")"
}
# One after the other: on an empty cluster only the first may write what the cluster is; others that try at the
# same moment end, and ECS or systemd starts them again.
launch history 7234
launch matching 7235
launch frontend 7233
launch worker 7239
for _ in $(seq 6000); do
    ! grep -q '^Temporal is at' "$scratch/frontend.log" || break
    sleep 0.1
done
"$check" --address "$address:7233" --count 1 --kind activity ||
    fail "no workflow: $(tail -n 3 "$scratch"/*.log | cut -c 1-500)"
echo "deploy: a workflow has run, each service in a process of its own"

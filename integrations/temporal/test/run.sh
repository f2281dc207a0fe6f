#!/bin/bash
# A Temporal server on 'dsql local', with a first workflow. With --stay it runs until it is interrupted;
# without, it runs some workflows of each kind. COUNT workflows (70).
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
stay=${1:-}
start_cluster --port "${DSQL_LOCAL_PORT:-0}"
start_server a --port "${TEMPORAL_PORT:-$([ -n "$stay" ] && echo 7233 || echo 0)}"
echo "A first workflow:"
"$check" --address "$address_a" --count 1 --kind activity | sed 's/^/    /'
echo "Temporal's frontend is at $address_a, namespace default; its data is on dsql local at port $PGPORT"
if [ "$stay" = --stay ]; then
    echo "Ctrl-C ends both."
    trap 'exit 0' INT TERM
    wait "$pid_a" || true
else
    workflows 'workflows of all kinds' "${COUNT:-70}" true
    kill_server "$pid_a" TERM
fi

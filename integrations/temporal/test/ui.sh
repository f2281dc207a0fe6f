#!/bin/bash
# Temporal's Web UI on this visibility, in a browser (Chromium): lists, filters, counts by status, the pages of a workflow,
# schedules, batch operations. Every request that the UI makes is answered, and the pages show what was asked for. The
# UI server is built from its Go module, GO is the go to use; UI_VERSION is another version of it. With PICTURE=FILE.png
# the list is drawn.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
version=${UI_VERSION:-v2.55.0}
check_options=(--attributes)
start_cluster --port 0
start_server a --port 0
http=http://$(sed -n 's/^Temporal is at .*, HTTP at //p' "$scratch"/a.*.log)/api/v1/namespaces/default

ui_server=$root/build/temporal/ui-server-$version
[ -x "$ui_server" ] || {
    GOBIN=$scratch/bin "${GO:-go}" install "github.com/temporalio/ui-server/v2/cmd/server@$version" >"$scratch/go" 2>&1 ||
        fail "the UI server: $(tail -3 "$scratch/go")"
    mv "$scratch/bin/server" "$ui_server"
}

post() { # post PATH JSON
    curl -sS --max-time 60 --fail-with-body -H 'Content-Type: application/json' -d "$2" "$http/$1" >"$scratch/posted" || fail "$1: $(cat "$scratch/posted")"
}
workflows 'what there is to see' 14 true
for n in 1 2 3 4 5; do # for which there is no worker: they stay open
    post "workflows/waiting-$n" '{"workflowType": {"name": "Wait"}, "taskQueue": {"name": "nobody"}}'
done
post schedules/nightly '{"requestId": "nightly", "schedule": {"state": {"paused": true}, "spec": {"interval": [{"interval": "3600s"}]}, "action": {"startWorkflow":
    {"workflowId": "by-night", "workflowType": {"name": "Wait"}, "taskQueue": {"name": "nobody"}}}}}'

# count QUERY N: until the server counts so many
count() {
    for _ in $(seq 300); do
        counted=$(curl -sS --max-time 60 -G --data-urlencode "query=$1" "$http/workflow-count" | python3 -c 'import json, sys; print(json.load(sys.stdin).get("count", 0))')
        [ "$counted" != "$2" ] || return 0
        sleep 1
    done
    fail "'$1' counts $counted, not $2"
}
count "WorkflowType = 'Wait'" 5
post batch-operations/too-many '{"visibilityQuery": "WorkflowType = '"'Wait'"' AND WorkflowId IN ('"'waiting-1', 'waiting-2'"')",
    "reason": "too many", "terminationOperation": {"identity": "test"}}'
count "WorkflowType = 'Wait' AND ExecutionStatus = 'Terminated'" 2
count "TemporalNamespaceDivision = 'TemporalBatcher' AND ExecutionStatus = 'Completed'" 1

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir "$scratch/config"
cat >"$scratch/config/development.yaml" <<YAML
temporalGrpcAddress: $address_a
host: 127.0.0.1
port: $port
enableUi: true
defaultNamespace: default
disableNewsFetch: true
YAML
"$ui_server" --root "$scratch" --config config --env development start >"$scratch/ui.log" 2>&1 &
for _ in $(seq 300); do
    ! curl -s --noproxy '*' -o /dev/null "http://127.0.0.1:$port/api/v1/settings" || break
    sleep 0.2
done

python3 - >"$scratch/pages" <<'PYTHON'
import json, urllib.parse
def page(path, *texts, query=""):
    print(json.dumps([path + (query and "?query=" + urllib.parse.quote(query)), *texts]))
page("workflows", "25 Workflows", "3 Running", "16 Completed", "4 Continued as new", "2 Terminated", "waiting-1", "check-1-again-5")
page("workflows", "3 Workflows", "waiting-3", "-waiting-1", "-check-1-again-5", query='`ExecutionStatus`="Running"')
page("workflows", "waiting-1", "waiting-2", "-waiting-3", query='`WorkflowType`="Wait" AND `ExecutionStatus`="Terminated"')
page("workflows", "check-1-again-5", "check-1-again-12", "-waiting-3", query='`WorkflowId` STARTS_WITH "check-1-again"')
page("workflows", "check-1-cancel-6", "-waiting-3", query='`CheckTags`in("done") AND `CheckSteps`=100')
page("workflows", "check-1-timer-2", "-check-1-again-5", query='`StartTime`>="2020-01-01T00:00:00Z" AND `CheckKey`="check-1-timer-2"')
page("workflows/waiting-4", "waiting-4", "Running")
page("schedules", "nightly")
page("schedules/nightly", "nightly", "Wait")
page("batch-operations", "too-many")
page("batch-operations/too-many", "too many")
PYTHON
python3 "$root/integrations/temporal/test/ui.py" "http://127.0.0.1:$port" "$scratch/profile" "${PICTURE:-}" <"$scratch/pages" || fail "the Web UI: $(tail -3 "$scratch/ui.log")"
kill_server "$pid_a" TERM
echo "ui: the Web UI $version lists, filters and counts, and shows schedules and batch operations"

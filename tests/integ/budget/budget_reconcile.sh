#!/bin/bash
# The reconciler of `leases` on real servers, in virtual time, beside another program's leases that are never renewed
# and whose items DynamoDB deletes while their connections live.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/budget/dynamodb.bash
. "$SOURCE_DIR/tests/integ/budget/dynamodb.bash"
export AWS_ACCESS_KEY_ID=AKIAEXAMPLE AWS_SECRET_ACCESS_KEY=secret
items() { expect 0 python3 "$SOURCE_DIR/tests/integ/budget/lease_items.py" "$1" fleet "$2" "${3:-}"; }
after_30_minutes() { # after_30_minutes ENDPOINT BEFORE AFTER
    expect 0 "$BUILD_DIR/tests/lease_reconcile" fleet "$1" 30
    contains "$out" "before: $2"
    contains "$out" "after: $3"
}
for kind in ${BUDGET_SERVERS:-dynoxide dynamodb-local}; do
    start_server "$kind"
    expect 0 "$dsql" budget setup --table fleet --endpoint abcdefghijklmnopqrstuvwxyz.dsql.us-east-1.on.aws
    items keep fleet
    # A dead owner's leases go with their part of the counter, by themselves.
    after_30_minutes ours 'active=8 leases=8' 'active=3 leases=3'
    # Those that are never renewed, and look just as dead, stay, and so does their part when they are deleted.
    items acquire mixed 100
    after_30_minutes mixed 'active=9 leases=9' 'active=4 leases=4'
    items acquire gone 100
    items acquire gone 100
    items expire gone
    after_30_minutes gone 'active=10 leases=8' 'active=5 leases=3'
    # A counter that somebody sets to nothing, as the plugin's runbook has it, gets our part back.
    items reset ours
    after_30_minutes ours 'active=8 leases=11' 'active=3 leases=3'
    stop_server
    echo "$kind: holds"
done

#!/bin/bash
# Symptoms of docs/operations.md: the fleet's budget in DynamoDB.
# shellcheck source=tests/integ/operation/symptoms.bash
. "$SOURCE_DIR/tests/integ/operation/symptoms.bash"
# shellcheck source=tests/integ/budget/dynamodb.bash
. "$SOURCE_DIR/tests/integ/budget/dynamodb.bash"
trap 'stop_process; stop_server; cleanup' EXIT
start_server dynoxide
export DSQL_DISTRIBUTED_CONN_LEASE_TABLE=fleet DSQL_BUDGET_TTL=4s
dsql budget setup

# A table that can be used.
DSQL_BUDGET=blocks expect 0 dsql doctor
contains "$out" 'table fleet is there'

healthy 'Fleet limit reached' 'DynamoDB errors'

# It never gets full, so it never begins to work.
starts_ill=yes begin 'Fleet limit reached'
check

begin 'DynamoDB errors'
stop_server
check

#!/bin/bash
# Symptoms of docs/operations.md: the fleet's budget in DynamoDB, and credentials that run out.
# shellcheck source=tests/integ/symptoms.bash
. "$SOURCE_DIR/tests/integ/symptoms.bash"
# shellcheck source=tests/integ/dynamodb.bash
. "$SOURCE_DIR/tests/integ/dynamodb.bash"
trap 'stop_process; stop_server; rm -rf "$scratch"' EXIT
start_server dynoxide
export DSQL_DISTRIBUTED_CONN_LEASE_TABLE=fleet DSQL_BUDGET_TTL=4s
dsql budget setup

# A table that can be used.
DSQL_BUDGET=blocks expect 0 dsql doctor
contains "$out" 'table fleet is there'

# It never gets full, so it never begins to work.
starts_ill=yes begin 'Fleet limit reached'
check

begin 'DynamoDB errors'
stop_server
check

# Keys with a short life, from a command that one day fails.
cat >"$scratch/keys" <<KEYS
[ ! -e "$scratch/broken" ] || exit 1
expires=\$(date -u -d '+10 seconds' +%Y-%m-%dT%H:%M:%SZ)
printf '{"Version": 1, "AccessKeyId": "%s", "SecretAccessKey": "%s", "Expiration": "%s"}\n' \\
    "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" "\$expires"
KEYS
printf '[default]\ncredential_process = bash %s\n' "$scratch/keys" >"$scratch/config"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN
export AWS_CONFIG_FILE=$scratch/config AWS_SHARED_CREDENTIALS_FILE=/dev/null
begin 'Credentials fail'
touch "$scratch/broken"
check

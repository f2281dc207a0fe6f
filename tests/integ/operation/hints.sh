#!/bin/bash
# What the program advises can be done: commands and settings in its messages are there. And a few first steps of a new
# user, whose hints must fit what is wrong.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
expect 0 python3 "$SOURCE_DIR/tests/integ/operation/hints_check.py" "$SOURCE_DIR" "$dsql"
mkdir -p "$scratch/tree/src"
cp -r "$SOURCE_DIR/docs" "$SOURCE_DIR/include" "$scratch/tree"
cp -r "$SOURCE_DIR/src/config" "$SOURCE_DIR/src/cli" "$SOURCE_DIR/src/budget" "$SOURCE_DIR/src/temporal" "$scratch/tree/src"
wrong() { # wrong TEXT WHAT-IS-SAID
    echo "static const char *const advice = \"$1\";" >"$scratch/tree/src/cli/advice.c"
    expect 1 python3 "$SOURCE_DIR/tests/integ/operation/hints_check.py" "$scratch/tree" "$dsql"
    contains "$out" "$2"
}
wrong "run 'dsql budget'" "src/cli/advice.c: 'dsql budget' is no command that does something"
wrong "run 'dsql budget repair --mend'" 'budget repair has no --mend'
wrong "run 'dsql shcema\" \" apply'" "'dsql shcema apply' is no command"
wrong 'raise DSQL_POOL_MAXIMUM' 'DSQL_POOL_MAXIMUM is no setting'
wrong 'Set CLUSTER_ENDPOINT to a name' 'advises the old name CLUSTER_ENDPOINT'

# Without credentials no policy helps.
nobody() { env -i "PATH=$PATH" "HOME=$scratch" AWS_EC2_METADATA_DISABLED=true "$@"; }
cluster=abcdefghijklmnopqrstuvwxyz.dsql.us-east-1.on.aws
expect 1 nobody "$dsql" budget status --table t --endpoint $cluster
contains "$err" 'no AWS credentials'
contains "$err" 'set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE'
case $err in *deploy/iam*) fail "a policy is advised: $err" ;; esac
# What is not set is not wrong.
expect 2 nobody "$dsql" token
[ "$err" = $'dsql: no endpoint\ndsql: give --endpoint or set DSQL_ENDPOINT' ] || fail "$err"
expect 2 nobody DSQL_ENDPOINT=https://x/ "$dsql" token
contains "$err" "'dsql config' says what is wrong with the one that is set"
expect 2 nobody "$dsql" local status
contains "$err" 'give --data FOLDER'

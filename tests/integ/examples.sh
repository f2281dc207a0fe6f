#!/bin/bash
# The programs in examples/ run, against an endpoint made for them, and say what their pages promise. Each uses
# the public headers alone.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
cd "$SOURCE_DIR"
! grep -n '#include "' examples/*.c || fail "an example includes what is not installed"
for example in examples/*.c; do
    name=$(basename "$example" .c)
    grep -qF "($name.c)" examples/README.md || fail "examples/README.md does not name $name.c"
    grep -qF "pkg-config --cflags --libs libdsql" "$example" || fail "$name.c does not say how it is compiled"
done

export examples=$BUILD_DIR/examples DSQL_STAGGERED_STARTUP=false DSQL_POOL_MAX_OPEN=8
# shellcheck disable=SC2016 # a program for another shell
expect 0 "$dsql" local exec -- bash -ec '"$examples/checkout"; "$examples/transfer"; "$examples/script"; "$examples/fenced_update"; "$examples/fenced_update"'
contains "$out" "the cluster's time is 20"
contains "$out" '80 transfers, 0 failed, the sum is 2000'
contains "$out" 'transfer of 30: OK'
contains "$out" 'transfer of 40: CONDITION_FAILED in step 2: account 2'
grep -qx 'the sum is 2000' <<<"$out" || fail "the script's sum is not 2000: $out"
contains "$out" 'renew_lease with range id 7: OK'
contains "$out" 'take_over_lease with range id 7: OK'
contains "$out" 'renew_lease with range id 7: CONDITION_FAILED: '

# What can't work says so, and what to do.
export DSQL_ENDPOINT=localhost:1 DSQL_REGION=us-east-1 AWS_ACCESS_KEY_ID=AKIATEST AWS_SECRET_ACCESS_KEY=secret
export PGHOSTADDR=127.0.0.1 DSQL_POOL_WARMUP_MAX_RETRIES=0
expect 1 "$examples/checkout"
contains "$err" 'no connection to localhost'

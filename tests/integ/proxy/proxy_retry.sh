#!/bin/bash
# `dsql proxy --retry-conflicts`: what is run again and what is told, the sum of increments that met each other, and what
# is never run again: a COMMIT whose outcome is unknown.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"
retry() { through /usr/bin/python3 "$SOURCE_DIR/tests/integ/proxy/proxy_retry.py" "$@"; }
figure() { curl -sf "${url}metrics" | sed -n "s/^dsql_proxy_$1_total{.*} //p"; }

start_proxy --connections=4
expect 0 retry off
contains "$out" 'conflicts told'
expect 0 retry storm
echo "without: $out"
stop_proxy

start_proxy --connections=4 --compat=off --retry-conflicts=5 --address=127.0.0.1:0
url=$(sed -n 's/^metrics: \(.*\)metrics$/\1/p' "$scratch/proxy.out")
expect 0 retry on
contains "$out" 'run again'
expect 0 retry storm
echo "with: $out"
counted() { [ "$(figure retries)" -ge "$(figure retried)" ] && [ "$(figure retried)" -ge 8 ] && [ "$(figure conflicts)" -ge 4 ]; }
await counted

# The same answers with it and without it, where nobody meets anybody.
for seed in 3 7; do
    expect 0 python3 "$SOURCE_DIR/tests/integ/proxy/proxy_diff.py" 300 "$seed"
    contains "$out" 'the same answers'
done

# Of two transactions in one query the first may be committed when the second meets a conflict.
expect 0 "$dsql" local fault conflict-commit=50% seed=1
expect 0 retry batch
expect 0 "$dsql" local fault clear

# An unknown outcome is not run again.
psql_t -c 'create table once (n int)'
expect 0 "$dsql" local fault close-applied=1x
expect 1 through psql -X -v VERBOSITY=verbose -c 'insert into once values (1)'
contains "$err" 08007
same "$(psql_t -c 'select count(*) from once')" 1
stop_proxy
stop_local

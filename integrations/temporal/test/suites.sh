#!/bin/bash
# The adapter's own tests and Temporal's persistence suites, on 'dsql local'. Arguments go to the suites,
# such as -test.run TestStores/Shard. Temporal gives each operation two seconds, which a busy machine may
# not have: the suites are built with TEMPORAL_DEBUG, by which Temporal multiplies them by a hundred.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/stock.bash
. "$(dirname "$0")/stock.bash"
# How soon there is another connection for one that a test lost is the machine's business, too.
export DSQL_POOL_MAX_OPEN=20 DSQL_RESERVOIR_EMPTY_WAIT=1m
built=$root/build/temporal
start_cluster --port 0
start_stock_postgres
make_stock_database
export STOCK_POSTGRES=$scratch/stock # what the adapter answers is compared with what Temporal's own plugin answers
# Tests look for files from their package's folder, as go runs them.
of() { (cd "$root/integrations/temporal/$2" && timeout 7200 "$built/$1" -test.timeout 7190s) || fail "the tests of $2"; }
of audit temporal-check
of visibility temporal-visibility
of server temporal-dsql-server
of plugin dsql
cd "$root/integrations/temporal/suites"

count() { grep -cE "^ *--- $1" "$scratch/suites.log" || true; }
findings() { grep -A12 'Error Trace' "$scratch/suites.log" | cut -c1-300 | head -60 || tail -n 60 "$scratch/suites.log"; }

status=0
timeout 7200 "$built/suites" -test.v -test.timeout 7190s "$@" >"$scratch/suites.log" 2>&1 || status=$?
grep -E '^ *--- (FAIL|SKIP)' "$scratch/suites.log" | sed 's/^ *//' || true
echo "suites: $(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped"
[ $status = 0 ] || findings
exit $status

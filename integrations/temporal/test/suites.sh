#!/bin/bash
# The adapter's own tests and Temporal's persistence suites, on 'dsql local'. Arguments go to the suites,
# such as -test.run TestStores/Shard.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
export DSQL_POOL_MAX_OPEN=20
start_cluster --port 0
timeout 300 "$root/build/temporal/plugin" -test.timeout 290s || fail "the adapter's own tests"
cd "$root/integrations/temporal/suites"
status=0
timeout 600 "$root/build/temporal/suites" -test.v -test.timeout 590s "$@" >"$scratch/suites.log" 2>&1 || status=$?
grep -E '^ *--- (FAIL|SKIP)' "$scratch/suites.log" | sed 's/^ *//' || true
echo "suites: $(grep -cE '^ *--- PASS' "$scratch/suites.log") passed, $(grep -cE '^ *--- FAIL' "$scratch/suites.log" || true) failed, $(grep -cE '^ *--- SKIP' "$scratch/suites.log" || true) skipped"
[ $status = 0 ] || {
    grep -A12 'Error Trace' "$scratch/suites.log" | cut -c1-300 | head -60 || tail -n 60 "$scratch/suites.log"
    exit $status
}

#!/bin/bash
# Temporal's own persistence suites on 'dsql local'. Arguments go to the test program, such as
# -test.run TestStores/Shard -test.v.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
export DSQL_POOL_MAX_OPEN=20
start_local --port 0
"$dsql" schema apply >/dev/null
cd "$root/integrations/temporal/suites"
status=0
timeout 600 "$root/build/temporal/suites" -test.v -test.timeout 590s "$@" >"$scratch/suites.log" 2>&1 || status=$?
grep -E '^ *--- (FAIL|SKIP)' "$scratch/suites.log" | sed 's/^ *//' || true
echo "suites: $(grep -cE '^ *--- PASS' "$scratch/suites.log") passed, $(grep -cE '^ *--- FAIL' "$scratch/suites.log" || true) failed, $(grep -cE '^ *--- SKIP' "$scratch/suites.log" || true) skipped"
[ $status = 0 ] || {
    grep -A12 'Error Trace' "$scratch/suites.log" | cut -c1-300 | head -60
    exit $status
}

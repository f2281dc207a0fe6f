#!/bin/bash
# The adapter's own tests and Temporal's persistence suites, on 'dsql local'. Arguments go to the suites,
# such as -test.run TestStores/Shard. Temporal gives each operation two seconds, which a busy machine may
# not have: with AGAIN=N the tests that failed are run up to N times more, and it is said.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/stock.bash
. "$(dirname "$0")/stock.bash"
export DSQL_POOL_MAX_OPEN=20
built=$root/build/temporal
start_cluster --port 0
start_stock_postgres
make_stock_database
export STOCK_POSTGRES=$scratch/stock # what the adapter answers is compared with what Temporal's own plugin answers
"$built/audit"
"$built/visibility"
"$built/server"
plugin() { timeout 1200 "$built/plugin" -test.timeout 1190s; }
plugin || { [ "${AGAIN:-0}" -gt 0 ] && "$dsql" local fault clear && echo "suites: once more: the adapter's own tests" && plugin; } ||
    fail "the adapter's own tests"
cd "$root/integrations/temporal/suites"

suites() { # suites ARGUMENT...: what they say goes to $scratch/suites.log
    timeout 1200 "$built/suites" -test.v -test.timeout 1190s "$@" >"$scratch/suites.log" 2>&1
}
count() { grep -cE "^ *--- $1" "$scratch/suites.log" || true; }
failed_suites() { sed -n 's/^ *--- FAIL: \(Test[A-Za-z]*\/[A-Za-z0-9]*\) .*/\1/p' "$scratch/suites.log" | sort -u; }
findings() { grep -A12 'Error Trace' "$scratch/suites.log" | cut -c1-300 | head -60 || tail -n 60 "$scratch/suites.log"; }

status=0
suites "$@" || status=$?
grep -E '^ *--- (FAIL|SKIP)' "$scratch/suites.log" | sed 's/^ *//' || true
echo "suites: $(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped"
[ $status = 0 ] || findings

# Only after 1 is every suite in the log; what panicked or took too long has not come to all of them.
again=()
[ $status != 1 ] || mapfile -t again < <(failed_suites)
for _ in $(seq "${AGAIN:-0}"); do
    [ ${#again[@]} -gt 0 ] || break
    status=0
    still=()
    for suite in "${again[@]}"; do
        echo "suites: once more: $suite"
        suites -test.run "^${suite%/*}\$/^${suite#*/}\$" || {
            status=$?
            still+=("$suite")
            findings
        }
    done
    again=("${still[@]}")
done
exit $status

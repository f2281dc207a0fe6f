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

# The transfer in one round trip of docs/transactions.md, as a reader would take it from there.
sed -n '/^## Scripts/,$p' docs/transactions.md | sed -n '/^#include/,/^```/p' | grep -v '^```' >"$scratch/page.c"
cat >>"$scratch/page.c" <<'C'
#include <stdio.h>
int main(void)
{
    const int64_t seen[2] = {1, 1}, stale[2] = {2, 1};
    struct dsql_pool_options options;
    struct dsql_pool *pool;
    struct dsql_err err = {0};
    size_t failed = 9;
    if (dsql_pool_options_env(&options, &err) != DSQL_OK || dsql_pool_open(&options, &pool, &err) != DSQL_OK)
        return 1;
    printf("first: %s\n", dsql_rc_name(transfer(pool, seen, 30, &failed, &err)));
    printf("second: %s", dsql_rc_name(transfer(pool, stale, 40, &failed, &err)));
    printf(" in step %zu: %s %s\n", failed + 1, err.entity, err.key);
    dsql_pool_close(pool);
}
C
"${CC:-cc}" -std=c17 -Wall -Wextra -Werror -I include -I "$BUILD_DIR/generated" -I "$(pg_config --includedir)" \
    "$scratch/page.c" -o "$scratch/page" -L "$BUILD_DIR" -ldsql -lpq -Wl,-rpath,"$BUILD_DIR" || fail "the page's transfer does not compile"
export page=$scratch/page
# shellcheck disable=SC2016 # a program for another shell
expect 0 "$dsql" local exec -- bash -ec '
    psql -qc "CREATE TABLE wallet (id bigint PRIMARY KEY, balance bigint, version bigint)"
    psql -qc "INSERT INTO wallet VALUES (1, 100, 1), (2, 0, 1)"
    "$page"; psql -Atc "SELECT id, balance, version FROM wallet ORDER BY id"'
[ "$out" = "first: OK
second: CONDITION_FAILED in step 2: wallet 2
1|70|2
2|30|2" ] || fail "the page's transfer: $out"

# What can't work says so, and what to do.
export DSQL_ENDPOINT=localhost:1 DSQL_REGION=us-east-1 AWS_ACCESS_KEY_ID=AKIATEST AWS_SECRET_ACCESS_KEY=secret
export PGHOSTADDR=127.0.0.1 DSQL_POOL_WARMUP_MAX_RETRIES=0
expect 1 "$examples/checkout"
contains "$err" 'no connection to localhost'

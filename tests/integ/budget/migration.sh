#!/bin/bash
# docs/migration.md is true: every name of the Go plugin has its row, and what stands in the row is there.
# shellcheck disable=SC2016 # pages have backticks
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
expect 0 python3 "$SOURCE_DIR/tests/integ/budget/migration_check.py" "$SOURCE_DIR" "$dsql"

# The check finds what is wrong: a page without a row, one that names what is not there, one whose option is another.
mkdir "$scratch/tree"
cp -r "$SOURCE_DIR/docs" "$SOURCE_DIR/deploy" "$SOURCE_DIR/include" "$SOURCE_DIR/src" "$SOURCE_DIR/tests" "$scratch/tree"
page=$scratch/tree/docs/migration.md
wrong() { # wrong SED-EXPRESSION WHAT-IS-SAID
    sed "$1" "$SOURCE_DIR/docs/migration.md" >"$page"
    ! cmp -s "$page" "$SOURCE_DIR/docs/migration.md" || fail "'$1' changes nothing"
    expect 1 python3 "$SOURCE_DIR/tests/integ/budget/migration_check.py" "$scratch/tree" "$dsql"
    contains "$out" "$2"
}
wrong '/^| `DSQL_STAGGERED_STARTUP`/d' "no row for the plugin's variable DSQL_STAGGERED_STARTUP"
wrong '/^| `Refill failed`/d' "no row for the plugin's message Refill failed"
wrong 's/`pool.not_filled`/`pool.unfilled`/' 'pool.unfilled is not there'
wrong 's/`DSQLBudgetUsedUp`/`DSQLBudgetUsed`/' 'DSQLReservoirRefillFailures: DSQLBudgetUsed is not there'
wrong 's/dsql_pool_open/dsql_pool_opened/' 'dsql_pool_opened is no metric'
wrong 's/--plugin-gone/--gone/' 'no option --gone'
wrong 's/budget-limiter-policy/limiter-policy/' 'is not there'

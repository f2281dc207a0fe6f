#!/bin/bash
# Random runs and random queries on this visibility store (or SUBJECT) and on Temporal's own on PostgreSQL: the same
# runs, the same order, the same counts; of lists with more than 1,000 runs the first ones, of each eighth query all.
# RUNS (2000) and QUERIES (1000), SEED for the ones of an earlier time; 20000 and 10000 are the whole. At the end rows,
# postings and counters must agree.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/stock.bash
. "$(dirname "$0")/stock.bash"
export DSQL_POOL_MAX_OPEN=20
start_cluster --port 0
start_stock_postgres
make_stock_visibility
"$root/build/temporal/temporal-visibility" diff --reference "$scratch/stock" --subject "${SUBJECT:-dsql}" --runs "${RUNS:-2000}" \
    --queries "${QUERIES:-1000}" ${SEED:+--seed "$SEED"} "$@"
"$dsql" visibility check

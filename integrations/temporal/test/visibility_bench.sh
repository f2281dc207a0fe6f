#!/bin/bash
# What Temporal's visibility takes on this store and on Temporal's own postgres12_pgx, each with COUNT runs (50000): the
# same machine, the same build of PostgreSQL with the same settings, in turns. Writes, the first page of six typical
# lists, page 100, and counts by status; medians of ROUNDS (21). A million runs take more than an hour. The own plugin
# has no TLS and no endpoint between it and PostgreSQL.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/stock.bash
. "$(dirname "$0")/stock.bash"
export DSQL_POOL_MAX_OPEN=20 DSQL_RESERVOIR_ENABLED=true
start_cluster --port 0
start_stock_postgres
make_stock_visibility
"$root/build/temporal/temporal-visibility" bench --reference "$scratch/stock" --subject "${SUBJECT:-dsql}" --runs "${COUNT:-50000}" \
    --rounds "${ROUNDS:-21}" --seed "${SEED:-1}" "$@"

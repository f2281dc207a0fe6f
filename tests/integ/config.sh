#!/bin/bash
# `dsql config` as a person and as a machine sees it.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
clean() { env -i PATH="$PATH" "$@"; }

expect 0 clean "$dsql" config
contains "$out" 'DSQL_POOL_MAX_OPEN                          100              default'
expect 0 clean DSQL_RESEVOIR_ENABLED=true DSQL_POOL_MAX_OPEN=-5 CLUSTER_ENDPOINT=x.y "$dsql" config
contains "$out" 'x.y              environment CLUSTER_ENDPOINT'
contains "$out" 'adjusted  DSQL_POOL_MAX_OPEN=-5'
contains "$out" 'did you mean DSQL_RESERVOIR_ENABLED?'
expect 1 clean DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true "$dsql" config
contains "$out" 'error     DSQL_DISTRIBUTED_CONN_LEASE_TABLE is not set'
expect 0 clean DSQL_USER=app "$dsql" config --changed
[ "$(grep -c DSQL_ "$scratch/out")" = 1 ] || fail "--changed shows more than one setting"

expect 0 clean DSQL_USER='we"ird' DSQL_RESERVOIR_BASE_LIFETIME=soon "$dsql" config --json
python3 - "$scratch/out" <<'PYTHON'
import json, sys
config = json.load(open(sys.argv[1]))
settings = {s["name"]: s for s in config["settings"]}
assert settings["DSQL_USER"]["value"] == 'we"ird' and settings["DSQL_USER"]["origin"] == "environment"
assert settings["DSQL_POOL_MAX_OPEN"]["value"] == 100
assert settings["DSQL_STAGGERED_STARTUP"]["value"] is True
assert settings["DSQL_RETRY_JITTER_FACTOR"]["value"] == 0.25
assert settings["DSQL_ENDPOINT"]["value"] is None
assert settings["DSQL_RESERVOIR_BASE_LIFETIME"]["value_ns"] == 11 * 60 * 10**9
assert settings["DSQL_RESERVOIR_BASE_LIFETIME"]["origin"] == "adjusted"
assert [f["kind"] for f in config["findings"]] == ["adjusted"], config["findings"]
PYTHON
expect 0 clean "$dsql" config --json --changed
python3 -c 'import json, sys; assert json.load(sys.stdin)["settings"] == []' <"$scratch/out"

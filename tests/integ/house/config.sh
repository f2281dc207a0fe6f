#!/bin/bash
# `dsql config` as a person and as a machine sees it.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
clean() { env -i PATH="$PATH" "$@"; }

expect 0 clean "$dsql" config
contains "$out" 'DSQL_POOL_MAX_OPEN                          100              default'
expect 0 clean DSQL_RESEVOIR_ENABLED=true DSQL_POOL_MAX_OPEN=-5 CLUSTER_ENDPOINT=x.y REGION=us-east-1 "$dsql" config
contains "$out" 'x.y              environment CLUSTER_ENDPOINT'
contains "$out" 'adjusted  DSQL_POOL_MAX_OPEN=-5'
contains "$out" 'did you mean DSQL_RESERVOIR_ENABLED?'
expect 1 clean DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true "$dsql" config
contains "$out" 'error     DSQL_DISTRIBUTED_CONN_LEASE_TABLE is not set'
# An endpoint that can't be used is no reason to go on without one.
expect 1 clean DSQL_ENDPOINT='a b' "$dsql" config
contains "$out" "error     DSQL_ENDPOINT=a b can't be used (it takes host or host:port)"
# Neither is one without a region, or with another than its name tells.
expect 1 clean DSQL_ENDPOINT=x.y "$dsql" config
contains "$out" "error     the region of the cluster 'x.y' is not known. Name the region with --region R or AWS_REGION"
expect 1 clean DSQL_ENDPOINT=x.dsql.us-east-1.on.aws AWS_REGION=eu-west-1 "$dsql" config
contains "$out" 'error     the cluster x.dsql.us-east-1.on.aws is not in the region eu-west-1. Leave the region out, or'
expect 1 clean DSQL_ENDPOINT=x.dsql.us-east-1.on.aws AWS_REGION=eu-west-1 "$dsql" config --json
jq -e '.findings == [{kind: "error", variable: "DSQL_ENDPOINT", message: .findings[0].message}]' <<<"$out" >"$scratch/jq" || fail "$out"
expect 0 clean DSQL_ENDPOINT=x.dsql.us-east-1.on.aws:5433 AWS_REGION=us-east-1 "$dsql" config
# What somebody put into the environment neither breaks lines nor steers the terminal.
expect 0 clean $'DSQL_\e[31mX\nY=1' DSQL_USER=$'a\e[31mb' "$dsql" config
contains "$out" 'unknown   DSQL_?[31mX?Y is no setting'
contains "$out" 'adjusted  DSQL_USER=a?[31mb can'
LC_ALL=C grep -q '[^ -~]' "$scratch/out" && fail "unprintable: $(cat -v "$scratch/out")"
# More findings than there is room for.
many=()
for i in $(seq 70); do many+=("DSQL_NOBODY_$i=1"); done
expect 0 clean "${many[@]}" "$dsql" config
[ "$(tail -n 1 "$scratch/out")" = '  and 6 more' ] || fail "$(tail -n 1 "$scratch/out")"
expect 1 clean "${many[@]}" DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=true "$dsql" config
expect 1 clean "${many[@]}" DSQL_ENDPOINT=x.y "$dsql" config
[ "$(tail -n 1 "$scratch/out")" = '  and 7 more' ] || fail "$(tail -n 1 "$scratch/out")"
expect 0 clean "${many[@]}" "$dsql" config --json
python3 -c 'import json, sys; c = json.load(sys.stdin); assert len(c["findings"]) == 64 and c["findings_dropped"] == 6' \
    <"$scratch/out"
expect 0 clean DSQL_RETRY_JITTER_FACTOR=0.00001 DSQL_METRICS_ADDRESS=:9090 "$dsql" config
contains "$out" ' 0.00001          environment'
contains "$out" ' 127.0.0.1:9090   environment'

expect 0 clean DSQL_USER=app "$dsql" config --changed
[ "$(grep -c DSQL_ "$scratch/out")" = 1 ] || fail "--changed shows more than one setting"

expect 0 clean DSQL_USER='we"ird' DSQL_RESERVOIR_BASE_LIFETIME=soon AWS_REGION=us-east-1 \
    DSQL_METRICS_ADDRESS=off "$dsql" config --json
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
assert config["findings"] == [{
    "kind": "adjusted",
    "variable": "DSQL_RESERVOIR_BASE_LIFETIME",
    "message": "DSQL_RESERVOIR_BASE_LIFETIME=soon can't be used (it takes 10s to 1h); using 11m",
}], config["findings"]
assert settings["DSQL_REGION"]["variable"] == "AWS_REGION", settings["DSQL_REGION"]
assert settings["DSQL_USER"]["variable"] == "DSQL_USER" and "variable" not in settings["DSQL_POOL_MAX_OPEN"]
assert settings["DSQL_METRICS_ADDRESS"]["value"] == "off"
PYTHON
expect 0 clean "$dsql" config --json --changed
python3 -c 'import json, sys; assert json.load(sys.stdin)["settings"] == []' <"$scratch/out"

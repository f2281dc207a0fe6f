#!/bin/bash
# The server refuses a cluster without the schema, and one with an older one.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
start_local --port 0
# shellcheck disable=SC1091 # written by dsql local
. "$scratch/ready"
refused() { # refused TEXT
    if timeout 180 "$server" --port 0 >"$scratch/out" 2>&1; then fail "the server started"; fi
    grep -q "$1" "$scratch/out" || fail "'$1' is not in: $(tail -3 "$scratch/out")"
}
refused 'schema'
"$dsql" schema apply >/dev/null
psql -Xqc "update schema_version set curr_version = '1.18'"
refused "dsql schema apply"
"$dsql" schema apply >/dev/null
start_server a --port 0
kill_server "$pid_a" TERM
echo "schema: refused without one and with an older one, accepted after 'dsql schema apply'"

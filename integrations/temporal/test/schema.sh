#!/bin/bash
# The server refuses a cluster without the schema, one with an older one, and one whose tables have another shape.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
start_local --port 0
# shellcheck disable=SC1091 # written by dsql local
. "$scratch/ready"
refused() { # refused TEXT
    if timeout 900 "$server" --port 0 >"$scratch/out" 2>&1; then fail "the server started"; fi
    grep -q "$1" "$scratch/out" || fail "'$1' is not in: $(tail -3 "$scratch/out")"
}
refused 'schema'
"$dsql" schema apply >/dev/null
psql -Xqc "update schema_version set curr_version = '1.18'"
refused "dsql schema apply"
"$dsql" schema apply >/dev/null
psql -Xqc 'alter table tasks rename column task_queue_id to other'
refused 'missing column tasks.task_queue_id'
psql -Xqc 'alter table tasks rename column other to task_queue_id'
start_server a --port 0
kill_server "$pid_a" TERM
echo "schema: refused without one, with an older one and with another shape, accepted after 'dsql schema apply'"

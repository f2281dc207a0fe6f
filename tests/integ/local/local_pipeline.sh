#!/bin/bash
# After messages that PostgreSQL skips or ignores (a Query behind an error, a Sync among the data of COPY) `dsql local`
# knows how far its client is: nothing is refused for a transaction that never was, faults strike the right answer,
# names mean what they mean at PostgreSQL, and no setting stays for the next client.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
start_local --port 0 --stale-catalogue=0
in_env python3 "$SOURCE_DIR/tests/integ/local/local_pipeline.py" "$dsql" || fail "what is skipped"
expect 0 in_env psql -XAtc 'select count(*) from t where id = 3' # those that were struck are applied
[ "$out" = 7 ] || fail "$out of 7 INSERTs are there"
stop_local

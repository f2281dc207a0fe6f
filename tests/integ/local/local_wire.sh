#!/bin/bash
# Where the service is no different from PostgreSQL, `dsql local` answers a sequence of messages as a plain PostgreSQL
# does: the same messages with the same content, in both protocols, with errors at each place.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
bin=/usr/lib/postgresql/15/bin

as_server=() # PostgreSQL refuses to run as root
[ "$(id -u)" != 0 ] || as_server=(setpriv --reuid=postgres --regid=postgres --clear-groups)
chmod 755 "$scratch"
mkdir "$scratch/pg"
[ "$(id -u)" != 0 ] || chown postgres "$scratch/pg"
"${as_server[@]}" $bin/initdb -D "$scratch/pg/data" -U admin --auth=trust --locale=C --encoding=UTF8 --no-sync >/dev/null
"${as_server[@]}" $bin/postgres -D "$scratch/pg/data" -h '' -k "$scratch/pg" -c fsync=off \
    -c 'default_transaction_isolation=repeatable read' >"$scratch/pg.log" 2>&1 &
server=$!
start_local --port 0
eventually env PGHOST="$scratch/pg" psql -U admin -qXc "" postgres 2>/dev/null || fail "PostgreSQL is not ready"

in_env python3 "$SOURCE_DIR/tests/integ/local/local_wire.py" "$scratch/pg/.s.PGSQL.5432" || fail "answers differ"
stop_local
kill -INT "$server"
wait "$server"

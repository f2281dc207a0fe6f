#!/bin/bash
# The folder of `dsql local`: folders of earlier versions are brought up.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
data=$scratch/data
for bin in /usr/lib/postgresql/15/bin /usr/lib/postgresql/*/bin; do [ ! -d "$bin" ] || break; done

# single SQL: as the superuser, while no endpoint runs
single() {
    local as=()
    [ "$(id -u)" != 0 ] || as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
    printf '%s\n' "$1" | "${as[@]}" "$bin/postgres" --single -D "$data/pg" \
        -c shared_preload_libraries=dsql_module -c "dynamic_library_path=$data:\$libdir" postgres >"$scratch/single" 2>&1 ||
        fail "single: $(cat "$scratch/single")"
}

procedures() { in_env psql -Atc "select count(*) from pg_proc where proname = 'wait_for_job'"; }

start_local --port 0
in_env psql -qc 'create table kept (id int primary key)'
in_env psql -qc 'insert into kept values (5)'
stop_local
layout=$(cat "$data/layout")

# The same version finds its own SQL there and runs nothing.
single 'drop procedure sys.wait_for_job(text)'
start_local --port 0
[ "$(procedures)" = 0 ] || fail "the first SQL ran again"
stop_local

# Another version's SQL ran last: ours runs, and what clients made stays.
echo another >"$data/first_sql"
start_local --port 0
[ "$(procedures)" = 1 ] || fail "the first SQL did not run again"
[ "$(in_env psql -Atc 'select id from kept')" = 5 ] || fail "the data is gone"
stop_local

# A folder as layout 4 left it: it did not say which SQL ran, and its mark lay among PostgreSQL's files.
single 'drop procedure sys.wait_for_job(text)'
rm "$data/first_sql"
touch "$data/pg/dsql_ready_2"
echo 4 >"$data/layout"
start_local --port 0
[ "$(procedures)" = 1 ] || fail "the first SQL did not run again"
[ "$(in_env psql -Atc 'select id from kept')" = 5 ] || fail "the data is gone"
[ "$(cat "$data/layout")" = "$layout" ] || fail "layout $(cat "$data/layout"), not $layout"
stop_local

# SQL that fails ends the start, and the next start tries again.
single 'drop event trigger dsql_limits; drop function sys.dsql_limit(boolean, text, text)'
single 'create function sys.dsql_limit(too_many boolean, code text, message text) returns int language sql as $$ select 1 $$'
echo another >"$data/first_sql"
expect 1 "$dsql" local --port 0 --data "$data"
contains "$err" 'cannot change return type of existing function'
single 'drop function sys.dsql_limit(boolean, text, text)'
start_local --port 0
[ "$(in_env psql -Atc 'select id from kept')" = 5 ] || fail "the data is gone"
stop_local

# What was never made completely is not used.
rm "$data/first_sql"
expect 2 "$dsql" local --port 0 --data "$data"
contains "$err" 'was not made completely'

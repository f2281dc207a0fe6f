#!/bin/bash
# Hostile statements (local_box.txt) do not get out of the box: through the front, and past it, where only the
# module inside PostgreSQL stands in the way. No file is read or written, no program run, no role or catalogue changed.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
box() { python3 "$SOURCE_DIR/tests/integ/local/local_box.py" "$@"; }

start_local --port 0
canary=$scratch/canary outside=$scratch/outside
echo "canary-$RANDOM-$RANDOM-$RANDOM" >"$canary"
cp "$canary" "$scratch/kept"
chmod 666 "$canary"
mkdir -m 777 "$outside"
untouched() {
    [ -z "$(ls -A "$outside")" ] || fail "$1 left $(ls -A "$outside")"
    cmp -s "$canary" "$scratch/kept" || fail "$1 changed a file"
}

in_env psql -qX -v ON_ERROR_STOP=1 <<'SQL'
create table box (v text);
insert into box values ('row');
create function box_f() returns int language sql as 'select 1';
create role box_app login;
create role box_maker login createrole;
grant select, insert, update, delete on box to box_app, box_maker;
SQL
# shellcheck disable=SC2016 # expanded there
in_env bash -c 'psql -qXc "aws iam grant box_app to '\''$DSQL_LOCAL_ARN'\''"'
attack() { # attack WALL
    expect 0 box locked "$scratch/data/run/.s.PGSQL.5432"
    for user in admin box_app; do
        in_env python3 "$SOURCE_DIR/tests/integ/local/local_box.py" front $user "$canary" "$outside" || fail "$1, as $user"
        untouched "$user through the front, $1"
    done
}
attack 'behind the wall'
stop_local
start_local --port 0 --no-wall
attack 'without the wall'

# A PostgreSQL of the same folder, with secrets that we know.
postmaster=$(head -1 "$scratch/data/pg/postmaster.pid")
cp "/proc/$postmaster/cmdline" "$scratch/cmdline"
! grep -aqE '[0-9a-f]{64}' "/proc/$postmaster/cmdline" "/proc/$postmaster/environ" || fail "a secret can be seen"
program=$(readlink "/proc/$postmaster/exe")
uid=$(stat -c %u "/proc/$postmaster")
stop_local
box alone "$program" "$scratch/cmdline" "$uid" "$canary" "$outside" || fail "past the front"
untouched "somebody past the front"

# Without secrets it does not even start.
mapfile -d '' -t args <"$scratch/cmdline"
as=()
[ "$(id -u)" != 0 ] || as=(setpriv --reuid "$uid" --clear-groups)
status=0
timeout 900 "${as[@]}" "$program" "${args[@]:1}" </dev/null >"$scratch/said" 2>&1 || status=$?
[ $status = 1 ] || fail "without secrets it ended with $status: $(cat "$scratch/said")"
contains "$(cat "$scratch/said")" 'gave no secrets'

# A folder in which clients gave themselves more, as they could with earlier versions: it is taken back.
"${as[@]}" "$program" --single "${args[@]:1}" postgres >"$scratch/said" 2>&1 <<'SQL'
grant pg_execute_server_program, pg_read_server_files to box_app
grant dsql_super to box_maker
alter role box_app superuser replication
alter database postgres owner to admin
SQL
echo other >"$scratch/data/first_sql"
start_local --port 0
held() { in_env psql -XAtqc "$1"; }
[ "$(held "select string_agg(rolname, ' ' order by 1) from pg_roles where rolsuper or rolreplication")" = dsql_super ] ||
    fail "somebody is still a superuser"
[ "$(held "select count(*) from pg_auth_members where member >= 16384")" = 0 ] || fail "somebody is still a member"
[ "$(held "select datdba::regrole from pg_database where datname = 'postgres'")" = dsql_super ] || fail "the owner"

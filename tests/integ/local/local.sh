#!/bin/bash
# `dsql local exec` as a stock psql sees it: the command, statements, jobs, pgbench.
# shellcheck disable=SC2016,SC2015 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

local_exec() { "$dsql" local exec "$@"; }

# The command runs against the endpoint, and its status is ours. Nothing is left behind.
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR"
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
chmod 777 "$TMPDIR"
expect 0 local_exec -- psql -Atc 'select 41 + 1'
[ "$out" = 42 ] || fail "$out"
expect 7 local_exec -- sh -c 'exit 7'
expect 127 local_exec -- no-such-program
expect 0 local_exec -- sh -c 'test -r "$PGSSLROOTCERT" && test -n "$AWS_SECRET_ACCESS_KEY" &&
    test "$DSQL_ENDPOINT" = "localhost:$PGPORT" && test "$PGSSLMODE" = verify-full'
[ -z "$(ls -A "$TMPDIR")" ] || fail "left behind: $(ls -A "$TMPDIR")"
expect 2 local_exec --endpoint 'a b' -- true
# What the caller's environment says about other servers does not matter.
expect 0 env PGPORT=1 PGHOST=x DSQL_REGION=eu-west-1 AWS_SESSION_TOKEN=t "$dsql" local exec -- \
    bash -c 'PGPASSWORD=$("$0" token) psql -Atc "select 6"' "$dsql"
[ "$out" = 6 ] || fail "$out"
# A pool of one process has nobody to be staggered against; who sets it means it.
expect 0 env -u DSQL_STAGGERED_STARTUP "$dsql" local exec -- "$dsql" config --changed
contains "$out" 'DSQL_STAGGERED_STARTUP                      false            environment'
expect 0 env DSQL_STAGGERED_STARTUP=true "$dsql" local exec -- "$dsql" config --changed
contains "$out" 'DSQL_STAGGERED_STARTUP                      true             environment'
expect 2 local_exec --port=x -- true
contains "$err" '--port=x is no number'
# The dashes before the command may be left out: what stands behind it is its own.
expect 0 local_exec psql -Atc 'select 8'
[ "$out" = 8 ] || fail "$out"

# Statements: refusals in the service's words, in both protocols, and what they do to a transaction.
cat >"$scratch/statements.sql" <<'SQL'
\set VERBOSITY verbose
create table t (id int primary key, v int);
truncate t;
insert into t values (1, 1);
begin;
insert into t values (2, 2);
savepoint s;
select 1;
commit;
select count(*) from t;
begin;
create table u (id int primary key);
insert into t values (3, 3);
rollback;
set statement_timeout = 5;
show server_version;
select 'kept'; truncate t;
\copy t from program 'printf "7\t7\n8\t8\n"'
select string_agg(id::text, ',' order by id) from t;
SQL
expect 0 local_exec -- psql -AtqX -f "$scratch/statements.sql"
wanted='1
kept
16.15
1,7,8'
[ "$(printf '%s\n' "$out" | grep -vE '^ROLLBACK$' | sort)" = "$(printf '%s\n' "$wanted" | sort)" ] || fail "$out"
for line in '0A000: unsupported statement: Truncate' \
    '0A000: unsupported transaction statement: SAVEPOINT' \
    '25P02: current transaction is aborted' \
    '0A000: ddl and dml are not supported in the same transaction' \
    '0A000: setting configuration parameter "statement_timeout" not supported'; do
    contains "$err" "ERROR:  $line"
done

# Jobs and role mappings: what PostgreSQL does not know answers in the service's shape.
cat >"$scratch/jobs.sql" <<'SQL'
\set VERBOSITY verbose
create table j (id int primary key, v int);
create unique index async if not exists iv on j (v) \gset
\echo :job_id
select status, job_type, object_name from sys.jobs where job_id = :'job_id';
call sys.wait_for_job(:'job_id');
call sys.wait_for_job('x');
select sys.wait_for_job('x');
create index async iv on j (v);
insert into j values (1, 1);
insert into j values (2, 1);
create role app login;
AWS IAM GRANT app TO 'arn:aws:iam::1:role/o''x';
select arn, pg_role_name from sys.iam_pg_role_mappings;
aws iam revoke app from 'arn:aws:iam::1:role/o''x';
select count(*) from sys.iam_pg_role_mappings;
SQL
expect 0 local_exec -- psql -AtX -f "$scratch/jobs.sql"
for line in 'completed|INDEX_BUILD|' t 'AWS IAM GRANT' "arn:aws:iam::1:role/o'x|app" 'AWS IAM REVOKE' 0; do
    contains "$out" "$line"
done
printf '%s\n' "$out" | grep -qE '^[a-z2-7]{26}$' || fail "no job id: $out"
for line in '22P02: Unable to convert text to UUID' '42809:' '42P07: relation "iv" already exists' '23505:'; do
    contains "$err" "ERROR:  $line"
done
expect 1 local_exec --transaction-age 1s -- psql -AtX -c '\set VERBOSITY verbose' -c begin -c 'select pg_sleep(1.2)' -c 'select 1'
contains "$err" 'ERROR:  54000: transaction age limit of'

# A setting ends with its session, however it was set: PostgreSQL's sessions serve one client after another.
cat >"$scratch/settings.sh" <<'SH'
psql -qc "create function zone() returns text language sql as \$\$ select set_config('timezone', 'Asia/Tokyo', false) \$\$"
for sets in 'select zone()' "update pg_settings set setting = 'Asia/Tokyo' where name = 'TimeZone'" "set timezone to 'Asia/Tokyo'"; do
    psql -Atqc "$sets" -c 'show timezone' | tail -n 1
    psql -Atqc 'show timezone'
done
SH
expect 0 local_exec -- bash "$scratch/settings.sh"
[ "$(tr '\n' ' ' <<<"$out")" = 'Asia/Tokyo UTC Asia/Tokyo UTC Asia/Tokyo UTC ' ] || fail "a setting outlives its session: $out"

# pgbench, all three ways to send a statement. Conflicts are PostgreSQL's own for now.
cat >"$scratch/bench.sh" <<'SH'
set -e
psql -qc 'create table b (id int primary key, n int)'
psql -qc 'insert into b select i, 0 from generate_series(1, 200) i'
printf '\\set id random(1, 200)\nbegin;\nselect n from b where id = :id;\nupdate b set n = n + 1 where id = :id;\nend;\n' >"$1"
for mode in simple extended prepared; do
    pgbench -n -M $mode -f "$1" -c 4 -t 50 --max-tries 100 2>&1 | grep 'number of failed transactions: 0'
done
psql -Atc 'select sum(n) from b'
SH
expect 0 local_exec -- bash "$scratch/bench.sh" "$scratch/bench.sql"
[ "$(printf '%s\n' "$out" | tail -n 1)" = 600 ] || fail "updates were lost: $out"

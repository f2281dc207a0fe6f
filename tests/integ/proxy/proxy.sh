#!/bin/bash
# `dsql proxy` before a `dsql local`: psql, pgbench in its three protocols and psycopg through it, few connections for
# many clients; the same answers as without it; who may come in; what is said when a connection is lost; the drain.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"

expect 2 env -u DSQL_USER -u CLUSTER_USER "$dsql" proxy --port=0
contains "$err" 'which role of the database'

start_proxy --connections=4 --compat=off
same "$(psql_t -c 'select 40 + 2')" 42
same "$(through env PGAPPNAME=mine psql -X -A -t -q -c 'show application_name')" mine
same "$(psql_t -c "set search_path to nowhere" -c 'show search_path')" nowhere
# shellcheck disable=SC2016 # PostgreSQL's
same "$(psql_t -c 'show search_path')" '"$user", public'
same "$(PGOPTIONS='-c TimeZone=Asia/Tokyo' psql_t -c 'show timezone')" Asia/Tokyo
same "$(PGOPTIONS='-c TimeZone=Asia/Tokyo' psql_t -c "set timezone to 'UTC'" -c 'reset timezone' -c 'show timezone')" Asia/Tokyo
same "$(psql_t -c 'begin' -c "set timezone to 'Asia/Tokyo'" -c 'rollback' -c 'show timezone')" UTC
psql_t -c 'create table t (id int primary key, v text)'
printf '1\tone\n2\ttwo\n' | psql_t -c 'copy t from stdin'
same "$(psql_t -c 'copy t to stdout' | wc -l)" 2
same "$(psql_t -c "select length(repeat('x', 3000000))")" 3000000
expect 1 through psql -X -c 'select nonsense'
contains "$err" 'column "nonsense" does not exist'
expect 2 through psql -X -U somebody -c 'select 1'
contains "$err" 'role "somebody" is not served by this proxy'
expect 2 through env PGOPTIONS='-c temp_tablespaces=x' psql -X -c 'select 1'
contains "$err" 'setting configuration parameter "temp_tablespaces" not supported'
if [ "$(id -u)" = 0 ]; then # another user of this machine is not let in
    expect 2 through setpriv --reuid=65534 --clear-groups psql -X -c 'select 1'
    contains "$err" 'user 65534 of this machine may not use this proxy'
fi

# Many clients on four connections, in each protocol.
psql_t -c "insert into t select g, '' from generate_series(3, 100) g"
# shellcheck disable=SC2016 # pgbench's
printf '%s\n' '\set id random(1, 100)' 'SELECT v FROM t WHERE id = :id;' >"$scratch/read.sql"
printf '%s\n' '\set id random(1, 100)' 'BEGIN;' 'SELECT v FROM t WHERE id = :id;' \
    "UPDATE t SET v = 'u' WHERE id = :id;" 'COMMIT;' >"$scratch/write.sql"
for mode in simple extended prepared; do
    expect 0 through pgbench -n -M "$mode" -f "$scratch/read.sql" -c 40 -j 4 -t 25
    contains "$out" 'number of failed transactions: 0'
    # A thread for each client: pgbench waits for a Parse, and would wait for a transaction of its own.
    expect 0 through pgbench -n -M "$mode" -f "$scratch/write.sql" -c 12 -j 12 -t 10 --max-tries=100
    contains "$out" 'transactions actually processed: 120/120'
done

through /usr/bin/python3 - <<'PYTHON'
import psycopg
with psycopg.connect('user=admin dbname=postgres', prepare_threshold=0, autocommit=True) as conn:
    conn.prepared_max = 2  # more are deallocated by SQL
    for i in range(20):
        with conn.transaction():
            assert conn.execute('select %s::int + ' + str(i % 5), (i,)).fetchone() == (i + i % 5,)
    with conn.cursor(binary=True) as cur:
        assert cur.execute('select 7::int8, %s::text', ('b',)).fetchone() == (7, 'b')
    try:
        with conn.transaction():
            conn.execute('insert into t values (1, null)')
        raise SystemExit('a duplicate key was taken')
    except psycopg.errors.UniqueViolation:
        pass
    with conn.cursor() as cur, cur.copy('copy t (id, v) from stdin') as copy:
        copy.write_row((1001, 'copied'))
    # A statement whose table has changed: the next Parse parses it anew.
    conn.execute('create table plan (id int primary key)')
    conn.pgconn.prepare(b'mine', b'select * from plan')
    assert conn.pgconn.exec_prepared(b'mine', []).nfields == 1
    conn.execute('alter table plan add column v text')
    for _ in range(2):
        conn.execute('deallocate mine')
        conn.pgconn.prepare(b'mine', b'select * from plan')
        result = conn.pgconn.exec_prepared(b'mine', [])
        assert result.nfields == 2, result.error_message
    with conn.pipeline():
        a, b = conn.execute('select 1'), conn.execute('select v from t where id = %s', (1001,))
        assert a.fetchone() == (1,) and b.fetchone() == ('copied',)
PYTHON

# Who sends a statement and goes has it carried out.
through /usr/bin/python3 - <<'PYTHON'
import psycopg
conn = psycopg.connect('user=admin dbname=postgres', autocommit=True)
conn.pgconn.nonblocking = 1
conn.pgconn.send_query(b"insert into t values (2001, 'and goes')")
conn.pgconn.flush()
conn.pgconn.finish()
PYTHON
is_there() { [ "$(psql_t -c 'select count(*) from t where id = 2001')" = 1 ]; }
await is_there

# The same answers with it and without it.
for seed in 2 5 22 144 322 413; do
    expect 0 python3 "$SOURCE_DIR/tests/integ/proxy/proxy_diff.py" 300 "$seed"
    contains "$out" 'the same answers'
done
# At this seed a connection refuses the settings of its next client, whatever they are: another one is lent.
expect 0 python3 "$SOURCE_DIR/tests/integ/proxy/proxy_diff.py" 60 105

# A connection that ends while it is idle is replaced unseen; one that ends in a transaction is told of.
expect 0 "$dsql" local fault drop=1
same "$(psql_t -c 'select 1')" 1
begin_session() { # psql, whose last words can be read when it has ended
    coproc session { through psql -X -A -t -q 2>&1; }
    exec {to_session}>&"${session[1]}" {from_session}<&"${session[0]}"
}
say() { printf '%s\n' "$1" >&"$to_session"; }
hear() { IFS= read -r -t 120 line <&"$from_session" || fail 'psql says nothing'; contains "$line" "$1"; }
begin_session
say 'begin; select 41 + 1;'
hear 42
expect 0 "$dsql" local fault drop=1
say 'select 1;'
hear 'the connection to the database was lost' # and psql ends
expect 0 "$dsql" local fault close-applied=1x
expect 1 through psql -X -v VERBOSITY=verbose -c "update t set v = 'lost' where id = 1"
contains "$err" 08007
contains "$err" 'is unknown'
expect 0 "$dsql" local fault clear

# What tools send to every PostgreSQL is answered as done, unless a result would change.
stop_proxy
start_proxy --connections=4
same "$(through psql -X -A -t -c begin -c 'set transaction isolation level repeatable read, read only' \
    -c 'lock table t in access share mode' -c 'set lock_timeout to 0' -c rollback | tr '\n' ,)" 'BEGIN,SET,LOCK TABLE,SET,ROLLBACK,'
expect 1 through psql -X -v ON_ERROR_STOP=1 -c begin -c 'set transaction read only' -c 'insert into t values (7000)'
contains "$err" 'read-only transaction'
same "$(through env PGOPTIONS='-c statement_timeout=5' psql -X -A -t -c \
    "set datestyle=iso; set client_min_messages=notice; select set_config('bytea_output','hex',false) from pg_show_all_settings() where name = 'bytea_output'" | tail -1)" hex
expect 1 through psql -X -c 'set bytea_output to escape'
contains "$err" 'setting configuration parameter "bytea_output" not supported'

# Nobody waits for ever, and the reason is said.
stop_proxy
start_proxy --connections=1 --wait=200ms
# Who has prepared something by SQL does not keep the connection.
begin_session
say 'prepare p as select 41 + 1;'
say 'execute p;'
hear 42
same "$(psql_t -c 'prepare p as select 7' -c 'execute p')" 7
say 'execute p; begin; select 1;'
hear 42
hear 1
expect 1 through psql -X -v VERBOSITY=verbose -c 'select 1'
contains "$err" '53300: no connection to the database'
contains "$err" 'HINT:'
# The drain waits for the transaction that is open, and no longer.
kill -TERM "$proxy_pid"
for _ in $(seq 600); do
    ! grep -q proxy.draining "$scratch/proxy.err" || break
    sleep 0.1
done
say 'select 2; commit; select 3;'
hear 2
status=0
wait "$proxy_pid" || status=$?
[ "$status" = 0 ] || fail "the proxy ended with $status: $(cat "$scratch/proxy.err")"
stop_local

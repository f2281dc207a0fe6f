#!/bin/bash
# Many clients at the same instant: nothing is lost, nothing appears that was not committed, all
# constraints hold. The same with a log that is far too small, during VACUUM, and when a backend of
# PostgreSQL or a client is killed.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
storm=$BUILD_DIR/tests/occ_storm
data=$scratch/data
ask() { in_env psql -XAtqc "$1"; }
vacuums() { ask "select coalesce(sum(autovacuum_count), 0) from pg_stat_user_tables where relname in ($1)"; }

# Nobody but the endpoint gets at the PostgreSQL behind; that VACUUM comes often is for its configuration.
start_local --port 0
stop_local
printf '%s\n' 'autovacuum_naptime = 1s' 'autovacuum_vacuum_threshold = 1' 'autovacuum_vacuum_scale_factor = 0' \
    'autovacuum_vacuum_insert_threshold = 1' 'autovacuum_vacuum_insert_scale_factor = 0' \
    'autovacuum_analyze_threshold = 1' 'autovacuum_analyze_scale_factor = 0' >>"$data/pg/postgresql.conf"
start_local --port 0
in_env "$storm" make
expect 0 in_env "$storm" run 0 16 40
echo "all in order: $out"

# VACUUM makes pages all-visible while transactions with deletes of their own are open.
tables="'counter', 'ledger', 'pair', 'parent', 'child', 'uniq'"
before=$(vacuums "$tables")
for round in $(seq 40); do
    expect 0 in_env "$storm" run $((1000 + 10 * round)) 4 100
    [ "$(vacuums "$tables")" -lt $((before + 6)) ] || break
done
[ "$(vacuums "$tables")" -ge $((before + 6)) ] || fail "there was no VACUUM"
echo "beside VACUUM, $round times: $out"

# What an index or a page says about visibility must not be believed: own deletes are known to neither.
in_env psql -qXc 'create table seen (id int primary key, v int)'
in_env psql -qXc 'insert into seen select i, i from generate_series(1, 2000) i'
is_vacuumed() { [ "$(vacuums "'seen'")" -gt 0 ]; }
eventually is_vacuumed || fail "there was no VACUUM of seen"
ask 'alter role admin set enable_seqscan = off'
for plan in 'Bitmap Heap Scan' 'Index Scan'; do
    case $plan in Bitmap*) other=enable_indexscan ;; *) other=enable_bitmapscan ;; esac
    ask "alter role admin set $other = off"
    query='select count(*) from seen where id between 400 and 600'
    # A name of its own: a session at PostgreSQL that was opened before is not used again.
    counted=$(in_env env PGAPPNAME="$other" psql -AtqX -c 'begin' -c 'delete from seen where id <= 500' \
        -c "$query" -c "explain $query" -c 'rollback')
    contains "$counted" "$plan"
    [ "${counted%%[!0-9]*}" = 100 ] || fail "by $plan it counts $counted"
    ask "alter role admin reset $other"
done
ask 'alter role admin reset enable_seqscan'

# A client is killed in the middle of everything.
bash -c '. "$0"; exec "$@"' "$scratch/ready" "$storm" run 200 8 100000 >/dev/null 2>&1 &
victim=$!
in_env "$storm" run 300 4 30 >"$scratch/run" 2>&1 &
run=$!
has_written() { [ "$(ask "select count(*) from ledger where thread between $1 and $1 + 99")" -gt "$2" ]; }
eventually has_written 200 20
kill -KILL $victim
wait $victim 2>/dev/null || true
wait $run || fail "a client was killed: $(cat "$scratch/run")"
echo "a client was killed: $(cat "$scratch/run")"

# A backend is killed: PostgreSQL throws everybody out and recovers.
in_env "$storm" run 400 8 150 >"$scratch/run" 2>&1 &
run=$!
eventually has_written 400 5
for _ in $(seq 600); do # it may end before it is hit
    backend=$(ask "select pid from pg_stat_activity where usename = 'admin' and state <> 'idle'
        and query not like '%pg_stat_activity%' limit 1" || true)
    [ -z "$backend" ] || ! kill -KILL "$backend" 2>/dev/null || break
done
wait $run || fail "a backend was killed: $(cat "$scratch/run")"
echo "a backend was killed: $(cat "$scratch/run")"
stop_local

# With a log of 64 entries many fail who need not, and nobody commits who must not.
echo 'dsql.log_entries = 64' >>"$data/pg/postgresql.conf"
start_local --port 0
[ "$(ask 'show dsql.log_entries')" = 64 ] || fail "the log is not small"
expect 0 in_env "$storm" run 500 8 40
echo "with a small log: $out"
expect 0 in_env "$BUILD_DIR/tests/occ_script" "$SOURCE_DIR/tests/vectors/occ/small-log/floor.txt"
stop_local

#!/bin/bash
# `dsql schema apply` on the schema of an older version with data in it: the columns of whole ids are added, also by
# runs that are killed after each of them; no row changes, statements of older servers go on, and the store then works
# as on a new schema.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

cat >"$scratch/inside.sh" <<'SH'
. "$SOURCE_DIR/tests/integ/store/inside.bash"

# The tables as they were: without the columns that may be added.
sed '/_full TEXT,$/d' "$SOURCE_DIR/schema/dsql/v12/temporal/schema.sql" >"$work/old.sql"
[ "$(($(wc -l <"$SOURCE_DIR/schema/dsql/v12/temporal/schema.sql") - $(wc -l <"$work/old.sql")))" = 11 ]
psql -Xq -v ON_ERROR_STOP=1 -f "$work/old.sql" >"$work/out"
sql "insert into schema_version values (0, 'postgres', now(), '1.19', '1.19')"
indexes_are_there() { [ -z "$(sql "select 1 from pg_index where not indisvalid limit 1")" ]; }
eventually indexes_are_there

# Data, more than one transaction takes, in each table that changes.
id=00000000-0000-4000-8000-000000000001
fill() { # fill N: as the servers of the older version do
    sql "insert into timer_info_maps (shard_id, namespace_id, workflow_id, run_id, timer_id, data, data_encoding)
        select $1, '$id', 'wf', '$id', 'timer ' || n, 'data', 'Proto3' from generate_series(1, 2500) n"
    sql "insert into signals_requested_sets (shard_id, namespace_id, workflow_id, run_id, signal_id)
        select $1, '$id', 'wf', '$id', repeat('s', 240) || n from generate_series(1, 2500) n"
    sql "insert into chasm_node_maps (shard_id, namespace_id, workflow_id, run_id, chasm_path, metadata)
        select $1, '$id', 'wf', '$id', 'node ' || n, '' from generate_series(1, 100) n"
    sql "insert into current_executions (shard_id, namespace_id, workflow_id, run_id, create_request_id, state, status,
        last_write_version) select $1, '$id', 'wf ' || n, '$id', 'request ' || n, 1, 1, 0 from generate_series(1, 100) n"
    sql "insert into current_chasm_executions (shard_id, namespace_id, business_id, archetype_id, run_id, create_request_id,
        state, status, last_write_version) select $1, '$id', 'b', n, '$id', 'request ' || n, 1, 1, 0 from generate_series(1, 100) n"
    sql "insert into task_queues (range_hash, task_queue_id, range_id, data, data_encoding)
        select $1, 'queue ' || n, 1, 'data', 'Proto3' from generate_series(1, 100) n"
    sql "insert into task_queues_v2 (range_hash, task_queue_id, range_id, data, data_encoding)
        select $1, 'queue ' || n, 1, 'data', 'Proto3' from generate_series(1, 100) n"
    sql "insert into task_queue_user_data (namespace_id, task_queue_name, data, data_encoding, version)
        select '$id', 'queue $1 ' || n, 'data', 'Proto3', 1 from generate_series(1, 100) n"
    sql "insert into build_id_to_task_queue (namespace_id, build_id, task_queue_name)
        select '$id', 'build $1 ' || n, 'queue ' || n from generate_series(1, 100) n"
    sql "insert into namespaces (partition_id, id, name, notification_version, data, data_encoding, is_global)
        select $1, ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'ns $1 ' || n, 1, 'data', 'Proto3', false
        from generate_series(1, 100) n"
}
tables='timer_info_maps signals_requested_sets chasm_node_maps current_executions current_chasm_executions task_queues
    task_queues_v2 task_queue_user_data build_id_to_task_queue namespaces'
# Of the columns that were there from the start.
sums() {
    for table in $tables; do
        sql "select '$table', count(*), md5(string_agg(r, ' ' order by r)) from
            (select (to_jsonb(t) - array(select attname::text from pg_attribute where attrelid = '$table'::regclass
            and attname like '%\_full'))::text as r from $table t) as rows"
    done
}
for part in 1 2; do fill $part; done
before=$(sums)
contains_rows() { case $before in *"$1"*) ;; *) echo "$1 is not in $before"; exit 1 ;; esac; }
contains_rows 'timer_info_maps|5000|'

# The new server refuses it, and says what to do.
must_fail "$dsql" schema verify
says 'missing column timer_info_maps.timer_id_full'
[ "$(grep -c '^missing column' "$work/out")" = 11 ]
! grep -qE '^(differs|missing column .* instead)|does not touch' "$work/out" || { cat "$work/out"; exit 1; }
run "$programs/store_schema" 'missing column namespaces.name_full'

# Killed after each column in turn; the next one is added by the next run.
columns() {
    sql "select count(*) from pg_attribute a, pg_class c where c.oid = attrelid and relnamespace = 'public'::regnamespace
        and attname like '%\_full' and not attisdropped"
}
take_columns_away() {
    sql "select format('alter table %I drop column %I', relname, attname) from pg_attribute a, pg_class c where c.oid = attrelid
        and relnamespace = 'public'::regnamespace and attname like '%\_full' and not attisdropped" >"$work/alter"
    while read -r alter; do sql "$alter"; done <"$work/alter"
}
killed=0 between=0 rounds=0
while :; do
    mkfifo "$work/pipe"
    stdbuf -oL "$dsql" schema apply >"$work/pipe" 2>"$work/killed.err" &
    pid=$!
    added=''
    while read -r line; do
        case $line in *' added column '*) added=yes; break ;; esac
    done <"$work/pipe"
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    rm "$work/pipe"
    if [ -z "$added" ]; then
        [ $between = 0 ] || break
        # Whoever kills was late, and the first run had added all columns: once more.
        [ $((rounds += 1)) -le 50 ] || { echo "never killed between two columns"; cat "$work/killed.err"; exit 1; }
        take_columns_away
        continue
    fi
    killed=$((killed + 1))
    [ "$(columns)" = 11 ] || between=$((between + 1))
    sql "insert into timer_info_maps (shard_id, namespace_id, workflow_id, run_id, timer_id, data) values
        (9, '$id', 'wf', '$id', 'meanwhile $killed', '')" # an older server
    sql "delete from timer_info_maps where shard_id = 9"
done
run "$dsql" schema apply
says ': 0 created, '
[ "$(columns)" = 11 ]
run "$dsql" schema verify
run "$dsql" schema verify --deep
[ "$(sums)" = "$before" ] || { echo "$before"; sums; exit 1; }
echo "an older schema: $killed runs killed, every row there"

# All columns in one run; then the store on what it made.
for table in $tables; do
    for column in $(sql "select attname from pg_attribute where attrelid = '$table'::regclass and attname like '%\_full'"); do
        sql "alter table $table drop column $column"
    done
done
[ "$(columns)" = 0 ]
run "$dsql" schema apply
says ', 11 columns added'
says 'added column build_id_to_task_queue.build_id_full'
[ "$(sums)" = "$before" ]
for table in $tables; do
    while [ "$(sql "select count(*) from $table")" != 0 ]; do
        sql "delete from $table where ctid in (select ctid from $table limit 2500)"
    done
done
"$programs/store_ids"
"$programs/store_schema" complete
run "$dsql" schema verify --deep
SH
mkdir "$scratch/work"
programs=$BUILD_DIR/tests DSQL_LOG_LEVEL=error work=$scratch/work expect 0 "$dsql" local exec -- bash "$scratch/inside.sh"
contains "$out" 'every row there'
contains "$out" 'ids: 10 lengths, three ways'
printf '%s\n' "$out"

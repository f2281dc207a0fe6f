#!/bin/bash
# `dsql schema`: apply, verify, version, drop, against `dsql local`. Kills and slow builds: schema_kill.sh.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

cat >"$scratch/inside.sh" <<'SH'
. "$SOURCE_DIR/tests/integ/store/inside.bash"

# Nothing there.
must_fail "$dsql" schema version
says 'cluster  (none), visibility (none)'
must_fail "$dsql" schema verify
says 'missing table shards'
says 'missing index shards_fence'

# All of it, and again.
run "$dsql" schema apply
says 'schema version 1.19, visibility 1.0: 63 created, 0 already there'
says 'created index shards_fence'
run "$dsql" schema apply
says 'schema version 1.19, visibility 1.0: 0 created, 63 already there'
run "$dsql" schema verify
says 'schema version 1.19, visibility 1.0: complete'
run "$dsql" schema version --json
says '{"cluster": "1.19", "program": "1.19", "visibility": {"cluster": "1.0", "program": "1.0"}}'
[ "$(sql "select count(*) from pg_tables where schemaname = 'public'")" = 46 ]
[ "$(sql 'select count(*) from schema_update_history')" = 1 ]
[ "$(sql 'select * from namespace_metadata')" = '54321|1' ]

# What verify sees, and what apply mends.
sql 'drop index cm_idx_lasthb'
sql 'alter table queue rename column message_encoding to other'
sql 'drop table tasks'
sql 'create table tasks (range_hash bigint, task_queue_id text, task_id integer not null, data bytea not null,
    data_encoding varchar(16) not null, primary key (task_id, range_hash, task_queue_id))'
must_fail "$dsql" schema verify
says 'missing index cm_idx_lasthb'
says 'missing column queue.message_encoding'
says 'differs column tasks.task_id: integer NOT NULL instead of bigint NOT NULL'
says 'differs primary key of tasks: task_id, range_hash, task_queue_id'
must_fail "$dsql" schema verify --json
python3 -c 'import json, sys; d = json.load(open(sys.argv[1]))
assert not d["ok"] and len(d["problems"]) == 4 and d["mendable"] == 1 and d["other_shape"] == 3, d' "$work/out"
# What has another shape is not taken for what is meant: apply lists it and changes nothing, not even what it could mend.
must_fail "$dsql" schema apply
says 'missing column queue.message_encoding'
says 'differs column tasks.task_id: integer NOT NULL instead of bigint NOT NULL'
says '3 things in the cluster have another shape than the schema'
says 'nothing was changed'
says "'dsql schema drop'"
! grep -qE 'created|already there' "$work/out" || { cat "$work/out"; exit 1; }
must_fail "$dsql" schema verify
says 'missing index cm_idx_lasthb'
says '1 problems that '"'dsql schema apply'"' mends'
says '3 problems that it does not touch'
# So with a table as the Go plugin makes it, in a cluster without a version.
sql 'drop table tasks'
sql 'create table tasks (range_hash bigint not null, task_queue_id uuid not null, task_id bigint not null, data bytea not null,
    data_encoding varchar(16) not null, primary key (range_hash, task_queue_id, task_id))'
sql 'delete from schema_version'
must_fail "$dsql" schema apply
says 'differs column tasks.task_queue_id: uuid NOT NULL instead of text NOT NULL'
[ -z "$(sql 'select curr_version from schema_version')" ]
sql 'drop table tasks'
sql 'drop table queue'
run "$dsql" schema apply --json
python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert d["created"] == 3 and d["existed"] == 60, d' "$work/out"
run "$dsql" schema verify

# A newer one is left alone.
sql "update schema_version set curr_version = '1.20'"
must_fail "$dsql" schema apply
says 'the cluster has store schema version 1.20, this program knows 1.19'
must_fail "$dsql" schema verify
sql "update schema_version set curr_version = '1.9'"
run "$dsql" schema apply
[ "$(sql 'select curr_version from schema_version')" = 1.19 ]

# Visibility has a version of its own, and partial indexes have a shape of their own.
sql "update visibility_schema_version set curr_version = '1.1'"
must_fail "$dsql" schema apply
says 'the cluster has visibility schema version 1.1, this program knows 1.0'
sql 'delete from visibility_schema_version'
sql 'drop index visibility_by_parent'
sql 'create index async visibility_by_parent on executions_visibility (namespace_id, parent_workflow_id, close_inv, start_inv, run_id)'
must_fail "$dsql" schema apply
says 'differs index visibility_by_parent: namespace_id, parent_workflow_id, close_inv, start_inv, run_id'
sql 'drop index visibility_by_parent'
run "$dsql" schema apply
says 'created index visibility_by_parent'
[ "$(sql 'select curr_version from visibility_schema_version')" = 1.0 ]
run "$dsql" schema verify

# Large values and their parts.
run "$dsql" schema verify --deep
says 'schema version 1.19, visibility 1.0: complete, and so is every large value'
stub="decode('00000000000000000000000000000007' || '00000000001b7740', 'hex')"
sql "insert into shards values (1, 1, $stub, '+:Proto3')"
must_fail "$dsql" schema verify --deep
says 'incomplete large values in shards: 1'
run "$dsql" schema verify # does not look
sql "insert into large_values values ('00000000-0000-0000-0000-000000000007', 0, ''), ('00000000-0000-0000-0000-000000000007', 1, '')"
run "$dsql" schema verify --deep
sql 'delete from large_values where part = 0'
must_fail "$dsql" schema verify --deep --json
python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); assert not d["ok"] and d["large_values"] == 1, d' "$work/out"
sql 'delete from shards'
must_fail "$dsql" schema verify --deep
says 'orphaned parts in large_values'
sql 'delete from large_values'
run "$dsql" schema verify --deep

# Away with it; not by accident.
must_fail "$dsql" schema drop
says 'say --yes'
run "$dsql" schema drop --yes
says '46 tables dropped'
[ "$(sql "select count(*) from pg_tables where schemaname = 'public'")" = 0 ]

# Two at once.
"$dsql" schema drop --yes >"$work/out"
"$dsql" schema apply >"$work/one" 2>&1 & one=$!
"$dsql" schema apply >"$work/two" 2>&1 & two=$!
wait $one || { cat "$work/one"; exit 1; }
wait $two || { cat "$work/two"; exit 1; }
run "$dsql" schema verify
SH
mkdir "$scratch/work"
work=$scratch/work expect 0 "$dsql" local exec -- bash "$scratch/inside.sh"

# One message, whole, and no log beside it.
nowhere=(env -u DSQL_ENDPOINT -u PGHOST -u PGHOSTADDR -u PGSERVICE -u AWS_ACCESS_KEY_ID HOME="$scratch")
expect 2 "${nowhere[@]}" "$dsql" schema verify
[ "${err%%$'\n'*}" = 'dsql: which cluster?' ] || fail "$err"
contains "$err" 'give --endpoint or set DSQL_ENDPOINT'
expect 1 "${nowhere[@]}" PGHOST=localhost PGPORT=1 "$dsql" schema version
contains "$err" 'port 1 failed: Connection refused'
contains "$err" 'say where to connect'
expect 1 "${nowhere[@]}" "$dsql" schema apply --endpoint abc.dsql.us-east-1.on.aws
contains "$err" 'dsql: no AWS credentials'
case $err in *event=* | *\?*) fail "no message for people: $err" ;; esac

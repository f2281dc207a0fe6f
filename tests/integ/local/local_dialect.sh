#!/bin/bash
# What PostgreSQL would answer otherwise than the service, seen by psql: each statement with the service's answer,
# as it was recorded: what psql -At prints, or the error's code and text.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
start_local --port 0

asked=0
says() { # says STATEMENT ANSWER
    local answer
    answer=$({ in_env psql -X -v VERBOSITY=verbose -Atc "$1" 2>&1 || true; } |
        sed -nE '/^(LINE|LOCATION|HINT|CONTEXT|NOTICE|DETAIL|[A-Z]+ NAME:)|^ +\^$/!{s/^ERROR:  //;p}')
    [ "$answer" = "$2" ] || fail "$1
answers
$answer
and not
$2"
    asked=$((asked + 1))
}

# Who it says it is.
says 'show server_version' 16.15
says 'show server_version_num' 160015
says 'select version()' 'PostgreSQL 16'
says "select current_setting('server_version'), current_setting('server_version_num')" '16.15|160015'
says "select setting from pg_settings where name = 'server_version'" 16.15
says 'select sys.dsql_major_version()' 1
says 'show max_connections' 20

# Each session has an id of its own, and keeps it whatever it resets.
says 'select length(sys.current_session_id())' 26
ids=$(in_env psql -XAtq -c 'select sys.current_session_id()' -c 'reset all' -c 'select sys.current_session_id()' -c '\c' \
    -c 'select sys.current_session_id()')
[ "$(printf '%s\n' "$ids" | sort -u | wc -l)" = 2 ] || fail "ids: $ids"
[ "$(printf '%s\n' "$ids" | sed -n 1p)" = "$(printf '%s\n' "$ids" | sed -n 2p)" ] || fail "ids: $ids"

# Keys, text search, types in expressions.
says 'create table k (id int primary key, other int, a text)' 'CREATE TABLE'
says 'alter table k drop column id' '0A000: cannot drop primary key column id'
says 'alter table k drop column if exists id cascade' '0A000: cannot drop primary key column id'
says 'alter table k drop column other' 'ALTER TABLE'
says 'alter table k drop column nothing' '42703: column "nothing" of relation "k" does not exist'
says 'insert into k values (1), (1)' '23505: duplicate key value violates unique constraint "k_pkey"'
for call in "to_tsvector('x')" "to_tsvector('english', 'x')" "to_tsquery('english', 'x')" "'english'::regconfig" \
    "websearch_to_tsquery('x')" "phraseto_tsquery('english', 'x')"; do
    says "select $call" '42704: text search configuration "english" does not exist'
done
says 'select line(point(0, 0), point(1, 1))' '0A000: datatype line not supported'
says 'create sequence s as decimal cache 1' '22023: sequence type must be bigint'

says 'create table i (id bigint generated always as identity (cache 2) primary key)' \
    '22023: CACHE (2) must be greater than or equal to 65536 or equal to 1'
says 'select circle(point(0, 0), 1)' '0A000: datatype circle not supported'
says "create type e as enum ('a')" '0A000: unsupported statement: CreateEnum'
says 'create table w (id int primary key) with (fillfactor = 70)' '0A000: WITH clause not supported for CREATE TABLE'

says 'alter table k drop constraint k_pkey' '0A000: unsupported ALTER TABLE DROP CONSTRAINT statement'
says 'alter table k drop constraint nothing' '42704: constraint "nothing" of relation "k" does not exist'
says "select pg_get_constraintdef(oid) from pg_constraint where conname = 'k_pkey'" 'PRIMARY KEY (id) INCLUDE (a)'
says 'create table u (id int primary key, b bytea, j jsonb, i interval, t timetz, n numeric, m decimal(4,1), unique (n))' \
    'CREATE TABLE'
for column in 'b bytea' 'j jsonb' 'i interval' 't time with time zone'; do
    says "create index async on u (${column%% *})" "0A000: datatype ${column#* } is not supported in a key"
done
says "create index async on u ((j -> 'a'))" '0A000: datatype jsonb is not supported in a key'
says "create index async on u ((nothing ->> 'a'))" '42703: column "nothing" does not exist'
[[ $(in_env psql -XAtqc "create index async ua on u ((j ->> 'a'), id)") =~ ^[a-z2-7]{26}$ ]] || fail 'an expression of text'
says 'alter table u add column p dec' 'ALTER TABLE'
says 'insert into u (id, n, m, p) values (1, 1.23456789, 1.25, 2)' 'INSERT 0 1'
says 'select n, m, p, n::numeric * 1.00000001 from u' '1.234568|1.3|2.000000|1.23456801234568'
says "select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'u'::regclass and attname = 'n'" \
    'numeric(18,6)'
says "insert into u (id, j) values (2, to_jsonb(repeat('a', 200 << 20)))" 'INSERT 0 1'
says 'drop table u' 'DROP TABLE'

# One text search configuration, and nothing to make others of; no extensions to be had.
says "select to_tsvector('simple', 'The Fat Rats') @@ to_tsquery('simple', 'fat'), (select string_agg(tmplname, ' '
    order by tmplname) from pg_ts_template), (select string_agg(cfgname, '') from pg_ts_config)" 't|ispell simple synonym thesaurus|simple'
says 'select count(*) from pg_available_extensions' 0
says 'select count(*) from pg_available_extension_versions' 0

# Settings, where a statement does not show them.
says "select set_config('my' || '.own', 'x', true)" '0A000: setting configuration parameter "my.own" not supported'
says "create function f() returns text language sql as \$\$ select set_config('work_mem', '1MB', false) \$\$" 'CREATE FUNCTION'
says 'select f()' '0A000: setting configuration parameter "work_mem" not supported'
says "select set_config('ro' || 'le', 'admin', false)" '0A000: setting configuration parameter "role" not supported'
says "select set_config('search_' || 'path', 'public', false)" public
says 'drop function f()' 'DROP FUNCTION'

# What EXPLAIN says of the price.
explained() { # explained OPTIONS STATEMENT PATTERN COUNT
    local lines
    lines=$(in_env psql -XAtc "explain $1 $2" | grep -cE "$3" || true)
    [ "$lines" = "$4" ] || fail "explain $1 $2: $lines lines like $3"
}
explained '(analyze, verbose)' 'select * from k' '^Query Identifier: [a-z2-7]{13}$' 1
explained '(analyze, verbose)' 'select * from k' '^Statement DPU Estimate:$|^  (Compute|Read|Total): [0-9.]+ DPU|^  Write: 0.00000 DPU$' 5
explained 'analyze verbose' 'insert into k values (7, 7), (8, 8)' '^  Write: 0.01250 DPU \(Transaction minimum: 0.05000\)$' 1
explained 'analyze verbose' "select e'\nPlanning Time: 1'" '^(Query Identifier|Planning Time|Statement DPU)' 4
explained '(analyze, verbose, summary off)' 'select 1' '^(Query Identifier|Statement DPU)' 2
explained 'analyze' 'select 1' DPU 0
explained 'verbose' 'select 1' DPU 0

# Indexes: their access method, and a primary key that carries all other columns.
says 'create table x (id int, org int, "a b" int, c text, d text, primary key (org, id), unique (c))' 'CREATE TABLE'
says 'alter table x drop column d' 'ALTER TABLE'
says "select indexdef from pg_indexes where tablename = 'x' order by 1" \
    'CREATE UNIQUE INDEX x_c_key ON public.x USING btree_index (c)
CREATE UNIQUE INDEX x_pkey ON public.x USING btree_index (org, id) INCLUDE ("a b", c)'
says "select pg_get_indexdef('x_pkey'::regclass, 0, true), pg_get_indexdef('x_pkey'::regclass, 2, true)" \
    'CREATE UNIQUE INDEX x_pkey ON x USING btree_index (org, id) INCLUDE ("a b", c)|id'
says 'select pg_get_indexdef(1), pg_get_indexdef(null)' '|'
says "select amtype from pg_am where amname = 'btree_index'" i
job=$(in_env psql -XAtqc 'create unique index async xa on x using btree_index ("a b")')
says "call sys.wait_for_job('$job')" t
says 'begin; alter table x add constraint xu unique using index xa; rollback' 'BEGIN
ALTER TABLE
ROLLBACK'
says 'alter table x add constraint xu unique using index xa' 'ALTER TABLE'
says "select amname, count(*) from pg_class c join pg_am a on a.oid = relam
    where relname in ('x_pkey', 'x_c_key', 'xu') group by 1" 'btree_index|3'
says 'create table y (like x including all)' 'CREATE TABLE'
says "select pg_get_indexdef('y_pkey'::regclass)" \
    'CREATE UNIQUE INDEX y_pkey ON public.y USING btree_index (org, id) INCLUDE ("a b", c)'
says 'drop table y' 'DROP TABLE'
says 'drop table x' 'DROP TABLE'

says "select pg_get_constraintdef(0), sys.uuid_to_base32_str('00010203-0405-0607-0809-0a0b0c0d0e0f'),
    sys.base32_str_to_uuid('aaaqeayeaudaocajbifqydiob4')" \
    '|aaaqeayeaudaocajbifqydiob4|00010203-0405-0607-0809-0a0b0c0d0e0f'
says "select sys.base32_str_to_uuid('aaaqeayeaudaocajbifqydiobb')" '22P02: Unable to convert text to UUID'
says "select amname from pg_am where amtype = 't' order by 1" 'btree_table
heap'
says 'drop function sys.cluster_size()' '42501: must be owner of function sys.cluster_size'

# What drivers and tools send, and what does nothing.
says 'set session characteristics as transaction isolation level repeatable read' SET
says 'set session authorization default' SET
says 'create table c (id int primary key, k int references k (id))' 'CREATE TABLE'
says 'alter table c disable trigger all' 'ALTER TABLE'
says 'insert into c values (1, 77)' '23503: insert or update on table "c" violates foreign key constraint "c_k_fkey"'
says 'drop trigger if exists g on c' 'DROP TRIGGER'

says 'alter table k alter a set storage main' 'ALTER TABLE'
says "select attstorage from pg_attribute where attrelid = 'k'::regclass and attname = 'a'" m
says 'alter table k alter column a set storage default' 'ALTER TABLE'
says "select attstorage from pg_attribute where attrelid = 'k'::regclass and attname = 'a'" x
says 'alter table k alter column nothing set storage Default' '42703: column "nothing" of relation "k" does not exist'

# Jobs.
says 'create index async public.x on k (a)' '42601: syntax error at or near "."'
says "select sys.wait_for_job('a' || 'b')" '42809: sys.wait_for_job(text) is a procedure'
says "call sys.wait_for_job('aaaaaaaaaaaaaaaaaaaaaaaaae')" '22023: job aaaaaaaaaaaaaaaaaaaaaaaaae does not exist'
job=$(in_env psql -XAtqc 'create index async ka on k (a)')
[[ $job =~ ^[a-z2-7]{25}[aeimquy4]$ ]] || fail "job: $job"
says "call sys.wait_for_job('$job')" t
says "select status, job_type, object_name is null, details is null, object_id = 'ka'::regclass,
    update_time = date_trunc('second', update_time) from sys.jobs where job_id = '$job'" 'completed|INDEX_BUILD|t|t|t|t'
says 'drop table c' 'DROP TABLE'
says "select status, count(*) from sys.jobs where job_type = 'DROP' group by 1" 'completed|4'

says 'analyze k' ANALYZE
says 'analyze k (a), k' ANALYZE
says "select status, job_type, object_id = 'k'::regclass, count(*) from sys.jobs where job_type = 'ANALYZE' group by 1, 2, 3" \
    'completed|ANALYZE|t|3'

# While an index is built: its name, qualified, and no time of the last change.
in_env "$dsql" local fault index-delay=1h
job=$(in_env psql -XAtqc 'create index async slow on k (a)')
says "select status, object_name, update_time is null, object_id = 'slow'::regclass from sys.jobs where job_id = '$job'" \
    'submitted|public.slow|t|t'
in_env "$dsql" local fault index-delay=0s
says "call sys.wait_for_job('$job')" t
says "select status, object_name is null, update_time is null from sys.jobs where job_id = '$job'" 'completed|t|f'

# Nothing of the endpoint's own is in sight: what pg_dump would take for the client's.
says "select proname from pg_proc where pronamespace = 'sys'::regnamespace order by 1" 'base32_str_to_uuid
base_type_oid
cluster_size
cluster_size_limit
current_session_id
dsql_major_version
supported_datatypes
uuid_to_base32_str
wait_for_job'
says "select count(*) from pg_event_trigger t where not exists (select from pg_depend d where d.objid = t.oid
    and d.deptype = 'e')" 0
says "select relname from pg_class c where relnamespace = 'sys'::regnamespace and relkind in ('r', 'S')
    and not exists (select from pg_depend d where d.objid = c.oid and d.deptype = 'e')" ''
stop_local
echo "$asked statements answer as on the service"

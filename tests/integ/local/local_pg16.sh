#!/bin/bash
# What PostgreSQL 16 understands and has, and the 15 behind `dsql local` does not: in both protocols, and in what stays in
# the catalogue.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
start_local --port 0
in_env python3 "$SOURCE_DIR/tests/integ/local/local_pg16.py" || fail "a statement"

says() { # says STATEMENTS ANSWER
    local answer
    answer=$(in_env psql -XAtq -c "$1" 2>&1 || true)
    [ "$answer" = "$2" ] || fail "$1
answers
$answer
and not
$2"
}

# Statistics get the name that PostgreSQL 16 chooses.
says 'create table t (id int primary key, a int, b int, doc text check (doc is json object))' ''
says 'create statistics on a, b from t' ''
says 'create statistics (ndistinct) on a, b from t' ''
says 'create statistics on lower(doc), a from t' ''
says 'select stxname from pg_statistic_ext order by 1' 't_a_b_stat
t_a_b_stat1
t_expr_a_stat'

# NULL passes a constraint, what is no object does not.
says "insert into t values (0x1, 1_0, 2, '{}'), (2, 1, 2, null)" ''
says "insert into t values (3, 1, 2, '[]')" 'ERROR:  new row for relation "t" violates check constraint "t_doc_check"
DETAIL:  Failing row contains (3, 1, 2, []).'

# Views keep what PostgreSQL 15 was told.
says 'create view v as select 0x10 as n, x from (select id as x from t) where x < 1_000' ''
says 'select n, x from v order by x' '16|1
16|2'
says "begin; prepare p as select 0x10 + \$1::int; execute p(1_0); commit" 26

# The columns have the names that they have with 16.
names=$(in_env psql -XA -c "select 0x1, '1' is json, json_array(1), json_object('a': 1), json_array(1 returning jsonb),
    system_user, any_value(1)" | head -1)
[ "$names" = '?column?|?column?|json_array|json_object|json_array|system_user|any_value' ] || fail "names: $names"

says 'create role r' ''
says 'create role s' ''
says 'grant r to s with inherit true, set option' ''
says "select admin_option from pg_auth_members where roleid = 'r'::regrole and member = 's'::regrole" f
says 'grant r to s with admin true, inherit true' ''
says "select admin_option from pg_auth_members where roleid = 'r'::regrole and member = 's'::regrole" t
# What psql 16 asks of the catalogue (\\drg, \\l, \\dO).
says "select pg_catalog.concat_ws(', ', case when pam.admin_option then 'ADMIN' end, case when pam.inherit_option then
    'INHERIT' end, case when pam.set_option then 'SET' end) from pg_catalog.pg_auth_members pam
    where pam.roleid = 'r'::regrole" 'ADMIN, INHERIT, SET'
says 'alter role s noinherit' ''
says "select inherit_option, set_option from pg_auth_members where roleid = 'r'::regrole" 'f|t'
says "select d.datname, d.daticurules as \"ICU Rules\" from pg_catalog.pg_database d where datname = 'postgres'" 'postgres|'
says "select c.collicurules is null from pg_catalog.pg_collation c where c.collname = 'C'" t
names=$(in_env psql -XA -c 'select m.set_option, daticurules from pg_auth_members m, pg_database' | head -1)
[ "$names" = 'set_option|daticurules' ] || fail "names: $names"
job=$(in_env psql -XAtqc 'create index async it on t ((a + 0x1))')
says "call sys.wait_for_job('$job')" t
says "select pg_get_indexdef('it'::regclass)" 'CREATE INDEX it ON public.t USING btree_index (((a + 1)))'
stop_local

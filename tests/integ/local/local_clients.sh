#!/bin/bash
# Stock clients that know nothing of the endpoint: psql, libpq's pipeline mode, a driver from npm, and who
# may log in as whom.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export dsql client=$BUILD_DIR/tests/local_client NODE_PATH=$SOURCE_DIR/.tools/node_modules

cat >"$scratch/pg.js" <<'JS'
// TLS with verification, prepared statements by name, a transaction, an error, a pool.
const { Client, Pool } = require('pg');
const fs = require('fs');
const assert = require('assert');
const env = process.env;
const options = {
    host: env.PGHOST, port: +env.PGPORT, user: env.PGUSER, password: env.PGPASSWORD, database: env.PGDATABASE,
    ssl: { ca: fs.readFileSync(env.PGSSLROOTCERT), servername: env.PGHOST },
};
(async () => {
    const client = new Client(options);
    await client.connect();
    await client.query('create table js (id int primary key, v jsonb)');
    for (let i = 0; i < 5; i++)
        await client.query({ name: 'put', text: 'insert into js values ($1, $2)', values: [i, { n: i }] });
    const read = { name: 'get', text: 'select v from js where id = $1', values: [3] };
    assert.deepStrictEqual((await client.query(read)).rows, [{ v: { n: 3 } }]);
    assert.deepStrictEqual((await client.query(read)).rows, [{ v: { n: 3 } }]);
    await client.query('begin');
    await client.query('delete from js where id = $1', [1]);
    await assert.rejects(client.query('savepoint s'), { code: '0A000' });
    await assert.rejects(client.query('select 1'), { code: '25P02' });
    await client.query('rollback');
    await assert.rejects(client.query('truncate js'), { code: '0A000', message: 'unsupported statement: Truncate' });
    assert.strictEqual((await client.query('select count(*) from js')).rows[0].count, '5');
    await client.end();
    const pool = new Pool({ ...options, max: 8 });
    const sums = await Promise.all(Array.from({ length: 40 }, (_, i) => pool.query('select $1::int + 1 as n', [i])));
    assert.deepStrictEqual(sums.map((r) => r.rows[0].n), Array.from({ length: 40 }, (_, i) => i + 1));
    await pool.end();
    console.log('npm pg works');
})().catch((e) => { console.error(e); process.exit(1); });
JS

cat >"$scratch/clients.sh" <<'SH'
set -eu
psql -qX <<'SQL'
create table a (id int primary key, name varchar(20) not null, unique (name));
create index async if not exists a_name on a (name, id) \gset
comment on table a is 'for \d';
create view av as select name from a;
\copy a from program 'seq 1 2000 | sed "s/.*/&\\tn&/"'
SQL
psql -AtX -c 'select count(*) from a' -c '\copy (select * from a where id <= 2) to stdout'
psql -X -c '\d' -c '\d a' -c '\d+ av' -c '\dt' -c '\di' -c '\dn' -c '\df sys.*'
psql -AtX -v ON_ERROR_STOP=1 <<'SQL'
begin;
update a set name = 'x' where id = 1;
rollback;
begin;
update a set name = 'y' where id = 2;
commit;
select string_agg(name, ',' order by id) from a where id <= 2;
prepare two(int) as select name from a where id = $1;
execute two(2);
SQL
true
SH
cat >"$scratch/roles.sh" <<'SH'
as() { # as ROLE: with a token for that role
    DSQL_USER=$1 PGUSER=$1 PGPASSWORD=$(DSQL_USER=$1 "$dsql" token) psql -AtX -c 'select current_user' 2>&1
}
code() { # code ROLE: the SQLSTATE with which it is refused
    PGUSER=$1 PGPASSWORD=$(DSQL_USER=$1 "$dsql" token) node -e '
        const c = new (require("pg").Client)({ ssl: { ca: require("fs").readFileSync(process.env.PGSSLROOTCERT) } });
        c.connect().then(() => c.end(), (e) => console.log(process.env.PGUSER + " " + e.code));'
}
psql -qX -c 'create role app login' -c 'create role deaf'
as app
psql -qX -c "aws iam grant app to 'arn:aws:iam::123456789012:role/other'"
as app
psql -qX -c "aws iam grant app to '$DSQL_LOCAL_ARN'" -c "aws iam grant deaf to '$DSQL_LOCAL_ARN'"
as app
as app
as deaf
as nobody
code deaf
code nobody
psql -qX -c "aws iam revoke app from '$DSQL_LOCAL_ARN'"
as app
SH
cat >"$scratch/all.sh" <<'SH'
echo "== psql"
bash "$1/clients.sh" 2>&1
echo "== pipeline"
"$client" pipeline 2>&1 && echo ok
echo "== share"
"$client" share 150 2>&1 && echo ok
"$dsql" local status | grep '^backends'
echo "== npm"
node "$1/pg.js" 2>&1
echo "== roles"
bash "$1/roles.sh"
echo "== token"
# It is checked at connect only. On a slow day it is too old before that.
for _ in $(seq 30); do
    PGPASSWORD=$("$dsql" token --admin --expires 2) psql -AtX -c 'select 1' -c 'select pg_sleep(3)' -c 'select 2' && break
done
echo "== cancel"
# A request to cancel is taken and ignored.
"$client" cancel 2>&1 && echo slept
"$dsql" local status | grep cancels
echo "== large"
# One message above 10 MiB: the connection ends without a word; one below passes.
for mib in 9 11; do
    { printf "select length('"; head -c $((mib << 20)) /dev/zero | tr '\0' x; echo "');"; } >"$1/large.sql"
    psql -AtX -f "$1/large.sql" 2>&1 | cut -c1-60
done
SH
expect 0 "$dsql" local exec --arn arn:aws:iam::123456789012:user/me -- bash "$scratch/all.sh" "$scratch"
part() { printf '%s\n' "$out" | awk -v "name=== $1" '$0 == name {on = 1; next} /^== / {on = 0} on'; }
for line in 2000 '1	n1' 'public | a ' 'Indexes:' '"a_pkey" PRIMARY KEY, ' '"a_name"' 'View definition' 'n1,y' wait_for_job; do
    contains "$(part psql)" "$line"
done
case $(part psql) in *ERROR*) fail "psql: $(part psql)" ;; esac
[ "$(part pipeline)" = ok ] || fail "pipeline: $(part pipeline)"
contains "$(part share)" ok
# 150 clients, at most 64 sessions at PostgreSQL at once.
eval "$(part share | grep '=')"
# shellcheck disable=SC2154 # eval set them
if [ "$backends" -gt 64 ] || [ "$backends_taken" = 0 ]; then fail "share: $(part share)"; fi
[ "$(part npm)" = 'npm pg works' ] || fail "npm: $(part npm)"
denied='HINT:  User: arn:aws:iam::123456789012:user/me is not authorized to access this resource'
[ "$(part roles | grep -cF "$denied")" = 3 ] || fail "roles: $(part roles)"
[ "$(part roles | grep -c '^app$')" = 2 ] || fail "roles: $(part roles)"
contains "$(part roles)" 'role "deaf" is not permitted to log in'
contains "$(part roles)" 'role "nobody" does not exist'
contains "$(part roles)" 'deaf 08P01'
contains "$(part roles)" 'nobody 08P01'
[ "$(part token)" = "$(printf '1\n\n2')" ] || fail "a connection ended with its token: $(part token)"
contains "$(part cancel)" slept
contains "$(part cancel)" cancels_ignored=1
contains "$(part large)" $((9 << 20))
contains "$(part large)" 'error: connection to s'

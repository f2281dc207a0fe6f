#!/bin/bash
# The files of deploy/ hold: settings, task definitions and policies fit the program (deploy_files.py), compose
# and systemd take theirs, Terraform's are well formed, and the SQL makes a role that is let in and can do no more
# than it should.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
deploy=$SOURCE_DIR/deploy
expect 0 python3 "$SOURCE_DIR/tests/integ/operation/deploy_files.py" "$SOURCE_DIR" "$dsql"
expect 0 docker-compose -f "$deploy/compose/compose.yaml" config
expect 0 docker-compose -f "$deploy/compose/compose.yaml" --profile cluster config

# The programs are not installed here; everything else about the units is looked at.
if command -v systemd-analyze >/dev/null; then
    mkdir "$scratch/units"
    cp "$deploy/systemd/dsql-proxy.socket" "$scratch/units/"
    for unit in dsql-local.service dsql-proxy.service temporal-dsql@.service; do
        sed 's|^ExecStart=/usr/bin/[a-z-]*|ExecStart=/bin/true|' "$deploy/systemd/$unit" >"$scratch/units/$unit"
        expect 0 systemd-analyze verify --man=no "$scratch/units/$unit"
        [ -z "$out$err" ] || fail "$unit: $out $err"
        # Of 100, where 0 is a service that can do nothing at all.
        expect 0 systemd-analyze security --offline=true --threshold=15 --no-pager "$scratch/units/$unit"
    done
fi
if command -v terraform >/dev/null; then
    expect 0 env TF_CLI_CONFIG_FILE=/dev/null CHECKPOINT_DISABLE=1 terraform fmt -check -diff "$deploy/terraform"
fi

cat >"$scratch/role" <<'SH'
set -eu
psql -qX -c 'create table theirs (id int primary key)'
sed "s|ROLE_ARN|$DSQL_LOCAL_ARN|" "$1/temporal/role.sql" | psql -qX -v ON_ERROR_STOP=1
export DSQL_USER=temporal PGUSER=temporal
PGPASSWORD=$("$dsql" token)
export PGPASSWORD
psql -qXAt -v ON_ERROR_STOP=1 -c 'insert into theirs values (7)' -c 'update theirs set id = 8' -c 'select id from theirs'
psql -qX -c 'drop table theirs' -c 'create table of_my_own (id int primary key)' 2>&1 || :
SH
expect 0 "$dsql" local exec -- sh "$scratch/role" "$deploy"
contains "$out" 'must be owner of table theirs'
contains "$out" 'permission denied for schema public'
[ "${out%%$'\n'*}" = 8 ] || fail "the role's rows: $out"

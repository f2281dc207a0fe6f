#!/bin/bash
# Clients of other languages through `dsql proxy` to `dsql local`, as they are: each with transactions, prepared
# statements, settings, errors, and COPY where it has it, on fewer connections than they want. The programs are in
# clients/. What this machine lacks is skipped by name; with LOCAL_CLIENTS=all that is a failure
# (scripts/local-clients installs what they need).
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"
programs=$SOURCE_DIR/tests/integ/proxy/clients
tools=$SOURCE_DIR/.tools
python=${PROXY_CLIENTS_PYTHON:-/usr/bin/python3} # another one may have newer modules
export NODE_PATH=$tools/node_modules
java_path=/usr/share/java/HikariCP.jar:/usr/share/java/postgresql.jar:/usr/share/java/slf4j-api.jar
export PGUSER=admin PGDATABASE=postgres

skip() {
    [ "${LOCAL_CLIENTS:-}" != all ] || fail "$1: $2"
    echo "skipped: $1 ($2)"
}
try() { # try NAME COMMAND...: its last word is ok
    local name=$1
    shift
    expect 0 through "$@"
    [ "${out##*$'\n'}" = ok ] || fail "$name: $out $err"
    echo "ok: $name"
}
python_client() { # python_client MODULE PROGRAM
    if "$python" -c "import $1" 2>/dev/null; then
        try "$1" "$python" "$programs/$2"
    else
        skip "$1" 'no such module'
    fi
}

start_proxy --connections=3
psql_t -c 'create table visits (id text primary key, who text, n int)'
python_client psycopg psycopg_client.py
python_client asyncpg asyncpg_client.py
python_client sqlalchemy sqlalchemy_client.py
python_client django django_client.py
if [ -d "$tools/node_modules/pg" ]; then try 'node pg' node "$programs/node_pg.js"; else skip 'node pg' 'not installed'; fi

if [ -e "$tools/clients/go/go.mod" ] && command -v go >/dev/null; then
    mkdir "$scratch/go"
    cp "$tools/clients/go/go.mod" "$tools/clients/go/go.sum" "$programs/pgx.go" "$scratch/go/"
    (cd "$scratch/go" && GOFLAGS=-mod=mod go build -o pgx pgx.go) || fail 'pgx.go does not build'
    try pgx "$scratch/go/pgx"
else
    skip pgx 'scripts/local-clients has not been run'
fi
if [ -e /usr/share/java/HikariCP.jar ] && [ -e /usr/share/java/postgresql.jar ] && command -v javac >/dev/null; then
    env -u JAVA_TOOL_OPTIONS javac -cp "$java_path" -d "$scratch" "$programs/Hikari.java" || fail 'Hikari.java does not build'
    try 'pgjdbc with HikariCP' env -u JAVA_TOOL_OPTIONS java -cp "$java_path:$scratch" Hikari
else
    skip 'pgjdbc with HikariCP' 'scripts/local-clients has not been run'
fi

# pg_dump, whose opening statements the service refuses; one that is older than the server ends at its version.
pg_dump=${PG_DUMP:-pg_dump}
if [ "$("$pg_dump" --version | sed 's/.* \([0-9]*\)\..*/\1/')" -ge 16 ]; then
    expect 0 through "$pg_dump" --table=visits
    contains "$out" 'CREATE TABLE public.visits'
    contains "$out" 'psycopg copied'
    echo 'ok: pg_dump'
else
    echo 'skipped: pg_dump (older than the server)'
fi
stop_proxy
stop_local

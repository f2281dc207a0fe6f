#!/bin/bash
# The clients of docs/local.md, taken out of the page, each with the environment of `dsql local env` alone: at
# localhost, and in a namespace of its own whose /etc/hosts has the line that the endpoint printed, at its other name.
# What this machine lacks is skipped by name; with LOCAL_CLIENTS=all that is a failure.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
page=$SOURCE_DIR/docs/local.md
clients=$SOURCE_DIR/.tools/clients
export NODE_PATH=$SOURCE_DIR/.tools/node_modules:$clients/node/node_modules
java_path=/usr/share/java/HikariCP.jar:/usr/share/java/postgresql.jar:/usr/share/java/slf4j-api.jar
mkdir "$scratch/c"
skipped=''
skip() {
    [ "${LOCAL_CLIENTS:-}" != all ] || fail "$1: $2"
    echo "skipped: $1 ($2)"
    skipped="$skipped $1"
}

# snippet HEADING: the program below it.
snippet() {
    awk -v "heading=### $1" '$0 == heading {on = 1; next} on && /^```/ {if (inside) exit; inside = 1; next}
        /^#/ {if (on && !inside) exit} on && inside' "$page"
}

start_local --port 0
host=$(sed -n 's/^ *127\.0\.0\.1 //p' "$scratch/local.out")
[[ $host =~ ^[a-z0-9]{26}\.dsql\.us-east-1\.on\.aws$ ]] || fail "the line for the hosts file: $(cat "$scratch/local.out")"
cp /etc/hosts "$scratch/hosts"
printf '\n127.0.0.1 %s\n' "$host" >>"$scratch/hosts"
named() { # named COMMAND...: where the machine knows the endpoint's own name
    unshare -rm bash -c 'mount --bind "$0" /etc/hosts && exec "$@"' "$scratch/hosts" "$@"
}
can_name=yes
named true 2>/dev/null || can_name=''
cat >"$scratch/run.sh" <<'SH'
eval "$("$dsql" local env --data "$DATA")"
echo "at $PGHOST" >&2
exec "$@"
SH

# run NAME COMMAND...: at both names, or with LOCALHOST=no at its own alone.
run() {
    local name=$1 where
    shift
    for where in localhost "$host"; do
        if [ "$where" = localhost ] && [ "${LOCALHOST:-}" = no ]; then continue; fi
        if [ "$where" = localhost ]; then
            expect 0 env DATA="$scratch/data" bash "$scratch/run.sh" "$@"
        elif [ -z "$can_name" ]; then
            skip "$name at $host" "no namespace with a hosts file of its own can be made here"
            continue
        else
            expect 0 named env DATA="$scratch/data" bash "$scratch/run.sh" "$@"
        fi
        [ "$out" = 'PostgreSQL 16' ] || fail "$name at $where: $out $err"
        contains "$err" "at $where"
        echo "ok: $name at $where"
    done
}

ran=0
# client HEADING FILE: its program as $program; false if the page has none.
client() {
    program=$scratch/c/$2
    snippet "$1" >"$program"
    [ -s "$program" ] || fail "docs/local.md has no client '$1'"
    ran=$((ran + 1))
}

client psql psql.sh
run psql bash "$program"

client 'C, libpq' libpq.c
"${CC:-cc}" "$program" -I"$(pg_config --includedir)" -lpq -o "$scratch/c/libpq"
run libpq "$scratch/c/libpq"

for module in psycopg psycopg2 sqlalchemy asyncpg; do
    client "Python, $module" $module-client.py
    if /usr/bin/python3 -c "import $module" 2>/dev/null; then
        run $module /usr/bin/python3 "$program"
    else
        skip $module "no python3-$module"
    fi
done

client 'Node.js, pg' pg.js
if command -v node >/dev/null && node -e 'require("pg")' 2>/dev/null; then run pg node "$program"; else skip pg 'no npm pg'; fi
client 'Node.js, postgres.js' postgres.js
if command -v node >/dev/null && node -e 'require("postgres")' 2>/dev/null; then
    run postgres.js node "$program"
else
    skip postgres.js 'make local-clients'
fi

client 'Go, pgx' main.go
if command -v go >/dev/null && [ -e "$clients/go/installed" ]; then
    mkdir "$scratch/go"
    cp "$clients/go/go.mod" "$clients/go/go.sum" "$program" "$scratch/go/"
    (cd "$scratch/go" && GOFLAGS=-mod=mod GOPROXY=off go build -o "$scratch/c/pgx" .)
    run pgx "$scratch/c/pgx"
else
    skip pgx 'make local-clients'
fi

client 'Rust, tokio-postgres' main.rs
if command -v cargo >/dev/null && [ -e "$clients/rust/installed" ]; then
    mkdir -p "$scratch/rust/src"
    cp "$clients/rust/Cargo.toml" "$clients/rust/Cargo.lock" "$scratch/rust/"
    cp "$program" "$scratch/rust/src/"
    cp -r "$clients/rust/target" "$scratch/rust/target"
    cargo build -q --offline --manifest-path "$scratch/rust/Cargo.toml"
    run tokio-postgres "$scratch/rust/target/debug/clients"
else
    skip tokio-postgres 'make local-clients'
fi

client 'Ruby, pg' ruby.rb
if command -v ruby >/dev/null && ruby -e 'require "pg"' 2>/dev/null; then run ruby ruby "$program"; else skip ruby 'no ruby-pg'; fi

client 'PHP, PDO' pdo.php
if command -v php >/dev/null && php -m | grep -q pdo_pgsql; then run php php "$program"; else skip php 'no php-pgsql'; fi

client 'Java, pgjdbc and HikariCP' Client.java
if command -v javac >/dev/null && [ -e /usr/share/java/HikariCP.jar ] && [ -e /usr/share/java/postgresql.jar ]; then
    javac -cp "$java_path" -d "$scratch/c" "$program"
    LOCALHOST=no run pgjdbc java -cp "$java_path:$scratch/c" Client
else
    skip pgjdbc 'make local-clients'
fi

# No client of the page is left out here.
[ "$ran" = "$(sed -n '/^## Clients/,/^## What/p' "$page" | grep -c '^### ')" ] || fail "the page has other clients than these $ran"

# Whoever talks to somebody else meanwhile trusts what it trusted: the bundle and the JVM's store have the system's
# authorities and ours.
if [ -r /etc/ssl/certs/ca-certificates.crt ]; then
    system=$(grep -c BEGIN /etc/ssl/certs/ca-certificates.crt)
    [ "$(in_env bash -c 'grep -c BEGIN "$SSL_CERT_FILE"')" = $((system + 1)) ] || fail "SSL_CERT_FILE"
    in_env bash -c 'openssl pkcs12 -in "$DSQL_LOCAL_TRUST_STORE" -passin pass:changeit -nokeys' >"$scratch/store"
    [ "$(grep -c BEGIN "$scratch/store")" = $((system + 1)) ] || fail "the JVM's trust store"
    [ "$(grep -c '^ *2\.16\.840\.1\.113894\.746875\.1\.1: ' "$scratch/store")" = $((system + 1)) ] ||
        fail "entries that Java does not trust: $(head -5 "$scratch/store")"
fi

# The name stays with the folder, in every restart; one for one run has always the same.
stop_local
start_local --port 0
contains "$(cat "$scratch/local.out")" "127.0.0.1 $host"
stop_local
for _ in 1 2; do
    expect 0 "$dsql" local exec -- sh -c 'echo "$CLUSTER_ENDPOINT"'
    [ "$out" = dsqllocaldsqllocaldsqlloca.dsql.us-east-1.on.aws ] || fail "$out"
done
[ -z "$skipped" ] || echo "skipped in all:$skipped"

#!/bin/bash
# One-activity workflows on this store and on Temporal's own postgres12_pgx plugin: the same PostgreSQL, the
# same machine, one after the other, without and with 1 ms for each round trip. COUNT workflows (200), AT at
# once (10). The own plugin talks to PostgreSQL directly, without TLS and without the endpoint's checks.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
count=${COUNT:-200} at=${AT:-10}
stock_schema=$(cd "$root/integrations/temporal" && "${GO:-go}" list -m -f '{{.Dir}}' go.temporal.io/server)/schema/postgresql/v12/temporal/schema.sql

start_cluster --port 0
socket=$(sed -n 5p "$scratch/data/pg/postmaster.pid")
super() { env -u PGSSLMODE -u PGSSLROOTCERT -u PGPASSWORD -u PGHOSTADDR psql -Xq -h "$socket" -p "$(sed -n 4p "$scratch/data/pg/postmaster.pid")" -U dsql_super "$@"; }
super -d postgres -c 'create database stock'
super -d postgres -c "alter database stock set default_transaction_isolation = 'read committed'" \
    -c 'alter database stock set default_table_access_method = heap'
super -d stock -f "$stock_schema" >/dev/null
super -d stock -c 'alter table cluster_membership alter rpc_port type int' # the stock one holds no port above 32767
super -d stock >/dev/null -c "create table schema_version (version_partition int, db_name varchar(255), creation_time timestamp,
    curr_version varchar(64), min_compatible_version varchar(64), primary key (version_partition, db_name))" \
    -c "insert into schema_version values (0, 'stock', now(), '1.19', '1.0')"

stock_config() { # stock_config PORT: the embedded configuration with another store
    local ports
    read -ra ports < <(python3 -c 'import socket
s = [socket.socket() for _ in range(8)]
[x.bind(("127.0.0.1", 0)) for x in s]
print(*[x.getsockname()[1] for x in s])')
    python3 - "$root/integrations/temporal/temporal-dsql-server/embedded.yaml" "$1" "${ports[@]}" <<'PYTHON'
import re, sys
text = open(sys.argv[1]).read()
for i, port in enumerate(sys.argv[3:]):
    text = text.replace("{{index .Ports %d}}" % i, port)
text = re.sub(r"\{\{- if \.Visibility\}\}.*?\{\{- else\}\}\n(.*?)\{\{- end\}\}\n", r"\1", text, flags=re.S)
text = text.replace('"{{if .Visibility}}{{.Visibility}}{{else}}visibility{{end}}"', "visibility")
text = text.replace("{{.LogLevel}}", "error").replace("{{.Shards}}", "4")
text = text.replace("      customDatastore:\n        name: dsql\n", """      sql:
        pluginName: postgres12_pgx
        databaseName: stock
        connectAddr: 127.0.0.1:%s
        connectProtocol: tcp
        user: dsql_super
        maxConns: 100
        maxIdleConns: 100
""" % sys.argv[2])
print(text)
PYTHON
}

measure() { # measure NAME: on server a
    "$check" --address "$address_a" --kind activity --count 20 --at "$at" >/dev/null
    echo "$1: $("$check" --address "$address_a" --kind activity --count "$count" --at "$at" --limit 600s)"
    kill_server "$pid_a" TERM
}

for delay in 0ms 1ms; do
    "$dsql" local fault message-latency=$delay >/dev/null
    start_server a --port 0
    measure "this store, $delay"
    "$dsql" local fault clear >/dev/null
    : >"$scratch/port"
    "$root/build/temporal/temporal-delay" "$socket/.s.PGSQL.$(sed -n 4p "$scratch/data/pg/postmaster.pid")" $delay >"$scratch/port" &
    servers="$servers $!"
    for _ in $(seq 100); do
        [ ! -s "$scratch/port" ] || break
        sleep 0.1
    done
    stock_config "$(cat "$scratch/port")" >"$scratch/stock.yaml"
    start_server a --config "$scratch/stock.yaml"
    measure "postgres12_pgx, $delay"
done

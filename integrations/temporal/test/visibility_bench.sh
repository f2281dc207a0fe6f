#!/bin/bash
# What Temporal's visibility takes on this store and on Temporal's own postgres12_pgx, each with COUNT runs (50000): the
# same machine, the same build of PostgreSQL with the same settings, in turns. Writes, the first page of six typical
# lists, page 100, and counts by status; medians of ROUNDS (21). A million runs take more than an hour one by one, and
# minutes with --bulk.
#
# Between this store and PostgreSQL there are TLS and the endpoint, a process that passes on. Where pgbouncer is
# installed, the own plugin is asked by two ways, too: a plain socket, and TLS to a pgbouncer in session mode.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/stock.bash
. "$(dirname "$0")/stock.bash"
export DSQL_POOL_MAX_OPEN=20 DSQL_RESERVOIR_ENABLED=true
start_cluster --port 0
start_stock_postgres
make_stock_visibility
if bouncer=$(PATH=$PATH:/usr/sbin command -v pgbouncer); then
    mkdir "$scratch/bouncer"
    openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout "$scratch/bouncer/key" \
        -out "$scratch/bouncer/certificate" 2>/dev/null
    bouncer_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    cat >"$scratch/bouncer/ini" <<INI
[databases]
visibility = host=$scratch/stock port=5432 user=stock
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $bouncer_port
unix_socket_dir =
auth_type = any
pool_mode = session
default_pool_size = 30
client_tls_sslmode = require
client_tls_key_file = $scratch/bouncer/key
client_tls_cert_file = $scratch/bouncer/certificate
ignore_startup_parameters = extra_float_digits
INI
    [ "${#stock_user[@]}" = 0 ] || chown -R postgres "$scratch/bouncer"
    "${stock_user[@]}" "$bouncer" -q "$scratch/bouncer/ini" >"$scratch/bouncer.log" 2>&1 &
    bouncer_process=$!
    trap 'kill "$bouncer_process"; kill -INT "$stock_postgres"; wait "$bouncer_process" "$stock_postgres" 2>/dev/null; cleanup' EXIT
    set -- --also "tls:$bouncer_port:$scratch/bouncer/certificate" "$@"
fi
"$root/build/temporal/temporal-visibility" bench --reference "$scratch/stock" --subject "${SUBJECT:-dsql}" --runs "${COUNT:-50000}" \
    --rounds "${ROUNDS:-21}" --seed "${SEED:-1}" "$@"

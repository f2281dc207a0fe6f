#!/bin/bash
# `dsql proxy` beside PgBouncer in transaction mode, both before one plain PostgreSQL with TLS to it and 20 connections,
# one thread each: `pgbench -S` in turns with 1, 50 and 1,000 clients, what a transaction costs the pooler in CPU, the
# latency that it adds, memory for an idle client, fairness, and how many connections a restart of the application opens.
# The floor is a relay that only moves bytes (relay_bench.c): what any pooler of one thread costs.
# PostgreSQL lets everybody in; the token that the proxy sends as password is not asked for.
#     proxy.sh BUILD_DIR [TRANSACTIONS [ROUNDS]]
set -euo pipefail
dsql=$1/dsql
idle_bench=$1/bench/proxy_bench
relay=$1/bench/relay_bench
transactions=${2:-20000} # of a turn; logins of the clients are counted as the pooler's CPU
rounds=${3:-5}
bin=/usr/lib/postgresql/15/bin
if [ ! -x /usr/sbin/pgbouncer ]; then
    echo 'proxy: not measured, there is no /usr/sbin/pgbouncer to compare it with (Debian: apt-get install pgbouncer)'
    exit 0
fi
ulimit -n "$(ulimit -Hn)"
scratch=$(mktemp -d)
chmod 755 "$scratch"
pids=()
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done; wait; rm -rf "$scratch"' EXIT

as_server=() # PostgreSQL and PgBouncer refuse to run as root
[ "$(id -u)" != 0 ] || as_server=(setpriv --reuid=postgres --regid=postgres --clear-groups)
mkdir "$scratch/pg"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost -keyout "$scratch/pg/key.pem" -out "$scratch/pg/cert.pem" 2>/dev/null
chmod 600 "$scratch/pg/key.pem"
[ "$(id -u)" != 0 ] || chown -R postgres "$scratch/pg"
base=$((20000 + RANDOM % 12000))
server_port=$base proxy_port=$((base + 1)) bouncer_port=$((base + 2)) floor_port=$((base + 3))
"${as_server[@]}" $bin/initdb -D "$scratch/pg/data" -U admin --auth=trust --locale=C --encoding=UTF8 --no-sync >/dev/null
"${as_server[@]}" $bin/postgres -D "$scratch/pg/data" -h 127.0.0.1 -p "$server_port" -k "$scratch/pg" -c ssl=on \
    -c ssl_cert_file="$scratch/pg/cert.pem" -c ssl_key_file="$scratch/pg/key.pem" -c fsync=off \
    -c shared_buffers=128MB -c 'default_transaction_isolation=repeatable read' >"$scratch/pg.log" 2>&1 &
pids+=($!)
export PGUSER=admin PGDATABASE=postgres PGSSLMODE=disable PGHOST=127.0.0.1
until psql -p "$server_port" -qc 'select 1' >/dev/null 2>&1; do sleep 0.1; done
pgbench -p "$server_port" -i -q -s 1 >/dev/null 2>&1

DSQL_ENDPOINT=localhost:$server_port DSQL_HOSTADDR=127.0.0.1 DSQL_CA_FILE=$scratch/pg/cert.pem DSQL_REGION=us-east-1 \
    AWS_ACCESS_KEY_ID=bench AWS_SECRET_ACCESS_KEY=bench AWS_EC2_METADATA_DISABLED=true \
    DSQL_RESERVOIR_ENABLED=true DSQL_STAGGERED_STARTUP=false DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=false \
    "$dsql" proxy --user=admin --port="$proxy_port" --connections=20 --clients=20000 >"$scratch/proxy.log" 2>&1 &
proxy_pid=$!
cat >"$scratch/bouncer.ini" <<INI
[databases]
postgres = host=127.0.0.1 port=$server_port user=admin dbname=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $bouncer_port
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
min_pool_size = 20
max_client_conn = 15000
server_tls_sslmode = require
ignore_startup_parameters = extra_float_digits
log_connections = 0
log_disconnections = 0
INI
"${as_server[@]}" /usr/sbin/pgbouncer -q "$scratch/bouncer.ini" >"$scratch/bouncer.log" 2>&1 &
bouncer_pid=$!
"$relay" pooler "$floor_port" "$server_port" admin 20 &
floor_pid=$!
pids+=("$proxy_pid" "$bouncer_pid" "$floor_pid")
declare -A port=([proxy]=$proxy_port [pgbouncer]=$bouncer_port [floor]=$floor_port)
declare -A pid=([proxy]=$proxy_pid [pgbouncer]=$bouncer_pid [floor]=$floor_pid)
for who in proxy pgbouncer floor; do
    until psql -p "${port[$who]}" -qc 'select 1' >/dev/null 2>&1; do
        kill -0 "${pid[$who]}" || { cat "$scratch/$who.log" "$scratch/bouncer.log"; exit 1; }
        sleep 0.1
    done
done

declare -A idle # first, while the memory of neither has holes
for who in proxy pgbouncer; do
    idle[$who]=$("$idle_bench" "${port[$who]}" admin 10000 "${pid[$who]}")
done

median() { sort -n | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'; }
ratio() { awk "BEGIN {printf \"%.2f\", $1 / $2}"; }
ticks() { awk '{sub(/.*\) /, ""); print $12 + $13}' "/proc/$1/stat"; } # user and system time
turn() { # turn WHO CLIENTS PROTOCOL: transactions a second, and microseconds of the pooler's CPU for each
    local before after out count
    before=$(ticks "${pid[$1]}")
    out=$(pgbench -p "${port[$1]}" -n -S -M "$3" -c "$2" -j 1 -t $((transactions / $2)) 2>/dev/null)
    after=$(ticks "${pid[$1]}")
    count=$(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' <<<"$out")
    sed -n 's/^tps = \([0-9]*\).*/\1/p' <<<"$out" >>"$scratch/$1.tps"
    awk "BEGIN {print ($after - $before) * 1e6 / $(getconf CLK_TCK) / $count}" >>"$scratch/$1.cpu"
}
echo "proxy: pgbench -S on 20 connections with TLS, medians of $rounds rounds of $transactions transactions in turns"
# The median of the rounds' ratios, since rounds differ more than poolers. Of CPU the other way round: more is better.
beside_pgbouncer() { # beside_pgbouncer WHO tps|cpu
    local files=("$scratch/$1.$2" "$scratch/pgbouncer.$2")
    [ "$2" = tps ] || files=("$scratch/pgbouncer.$2" "$scratch/$1.$2")
    paste "${files[@]}" | awk '{print $1 / $2}' | median
}
declare -A mid # medians over the rounds
printf '%-10s %7s %33s %22s %36s %22s\n' protocol clients 'tps: proxy, pgbouncer, floor' 'beside pgbouncer' \
    'CPU/tx: proxy, pgbouncer, floor' 'beside pgbouncer'
for protocol in simple extended; do
    for clients in 1 50 1000; do
        rm -f "$scratch"/*.tps "$scratch"/*.cpu
        for ((round = 0; round < rounds; round++)); do
            order=(proxy pgbouncer floor)
            [ $((round % 2)) = 0 ] || order=(floor pgbouncer proxy)
            for who in "${order[@]}"; do turn "$who" "$clients" "$protocol"; done
        done
        for what in tps cpu; do
            for who in proxy pgbouncer floor; do mid[$who.$what]=$(median <"$scratch/$who.$what"); done
            for who in proxy floor; do mid[$who.$what.ratio]=$(beside_pgbouncer $who $what); done
        done
        printf '%-10s %7s %11s %10s %10s %9.2fx, %9.2fx %12.1f %10.1f %9.1f us %9.2fx, %9.2fx\n' $protocol $clients \
            "${mid[proxy.tps]}" "${mid[pgbouncer.tps]}" "${mid[floor.tps]}" "${mid[proxy.tps.ratio]}" "${mid[floor.tps.ratio]}" \
            "${mid[proxy.cpu]}" "${mid[pgbouncer.cpu]}" "${mid[floor.cpu]}" "${mid[proxy.cpu.ratio]}" "${mid[floor.cpu.ratio]}"
    done
done

quantiles() { # quantiles PORT CLIENTS SSLMODE: p50 and p99 of the latency in microseconds
    rm -f "$scratch"/latency.*
    (cd "$scratch" && PGSSLMODE=$3 pgbench -p "$1" -n -S -c "$2" -j 1 -t $((transactions / $2)) -l --log-prefix=latency >/dev/null 2>&1)
    cat "$scratch"/latency.* | awk '{print $3}' | sort -n |
        awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)], v[int(NR * 0.99) + 1]}'
}
rm -f "$scratch"/*.p50 "$scratch"/*.fair
for ((round = 0; round < rounds; round++)); do
    read -r p50 _ < <(quantiles "$server_port" 1 require)
    echo "$p50" >>"$scratch/direct.p50"
    for who in proxy pgbouncer floor; do
        read -r p50 _ < <(quantiles "${port[$who]}" 1 disable)
        echo "$p50" >>"$scratch/$who.p50"
        read -r p50 p99 < <(quantiles "${port[$who]}" 500 disable)
        ratio "$p99" "$p50" >>"$scratch/$who.fair"
        echo >>"$scratch/$who.fair"
    done
done
direct=$(median <"$scratch/direct.p50")
sessions() { psql -p "$server_port" -Atc "select sessions from pg_stat_database where datname = 'postgres'"; }
for who in proxy pgbouncer floor; do
    p50=$(median <"$scratch/$who.p50")
    printf '%s: p50 of 1 client %d us, %d us more than straight to the server with TLS; ' $who "$p50" $((p50 - direct))
    printf '500 clients: p99/p50 %s\n' "$(grep . "$scratch/$who.fair" | median)"
done
for who in proxy pgbouncer; do
    # Two starts of an application: what the second one opens. The question itself is a session too.
    pgbench -p "${port[$who]}" -n -S -c 1000 -j 1 -t 1 >/dev/null 2>&1
    before=$(sessions)
    pgbench -p "${port[$who]}" -n -S -c 1000 -j 1 -t 1 >/dev/null 2>&1
    after=$(sessions)
    printf '%s: a restart of 1000 clients opens %d connections; ' $who $((after - before - 1))
    printf '10,000 idle clients: %s bytes each\n' "${idle[$who]}"
done

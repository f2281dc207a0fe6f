#!/bin/bash
# What the front of `dsql local` costs: pgbench through it, beside the same PostgreSQL with the same
# settings reached over TCP with TLS, in turns in one run; the best of the rounds counts. The floor is a relay
# that only moves bytes between TLS and that PostgreSQL's Unix socket (relay_bench.c): what any process in
# between costs.       local_front.sh BUILD_DIR [SECONDS]
set -euo pipefail
dsql=$1/dsql
relay=$1/bench/relay_bench
seconds=${2:-3}
rounds=3
scratch=$(mktemp -d)
chmod 755 "$scratch"
bin=/usr/lib/postgresql/15/bin
server='' floor=''
trap '[ -z "$server" ] || kill -INT "$server"; [ -z "$floor" ] || kill "$floor"; wait; rm -rf "$scratch"' EXIT

as_server=() # PostgreSQL refuses to run as root
[ "$(id -u)" != 0 ] || as_server=(setpriv --reuid=postgres --regid=postgres --clear-groups)

mkdir "$scratch/pg"
[ "$(id -u)" != 0 ] || chown postgres "$scratch/pg"
"${as_server[@]}" $bin/initdb -D "$scratch/pg/data" -U admin --auth=trust --locale=C --encoding=UTF8 --no-sync >/dev/null
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -keyout "$scratch/pg/key.pem" -out "$scratch/pg/cert.pem" 2>/dev/null
[ "$(id -u)" != 0 ] || chown postgres "$scratch/pg/key.pem" "$scratch/pg/cert.pem"
chmod 600 "$scratch/pg/key.pem"
port=$((20000 + RANDOM % 20000))
"${as_server[@]}" $bin/postgres -D "$scratch/pg/data" -h 127.0.0.1 -p $port -k "$scratch/pg" -c ssl=on \
    -c ssl_cert_file="$scratch/pg/cert.pem" -c ssl_key_file="$scratch/pg/key.pem" -c fsync=off \
    -c synchronous_commit=off -c full_page_writes=off -c shared_buffers=128MB \
    -c 'default_transaction_isolation=repeatable read' >"$scratch/pg.log" 2>&1 &
server=$!
"$relay" endpoint $((port + 1)) "$scratch/pg/cert.pem" "$scratch/pg/key.pem" "$scratch/pg/.s.PGSQL.$port" &
floor=$!

cat >"$scratch/select.sql" <<'SQL'
\set id random(1, 100000)
SELECT n FROM b WHERE id = :id;
SQL
cat >"$scratch/update.sql" <<'SQL'
\set id random(1, 100000)
UPDATE b SET n = n + 1 WHERE id = :id;
SQL
cat >"$scratch/run.sh" <<'SH'
set -euo pipefail
scratch=$1 seconds=$2 rounds=$3 port=$4
direct=(env -u PGSSLROOTCERT PGHOST=localhost PGHOSTADDR=127.0.0.1 PGPORT="$port" PGSSLMODE=require PGPASSWORD=)
floor=("${direct[@]}" PGPORT=$((port + 1)))
until "${direct[@]}" psql -qc 'select 1' >/dev/null 2>&1; do sleep 0.1; done
front=()
for through in front direct; do
    declare -n run=$through
    "${run[@]}" psql -qc 'create table b (id int primary key, n int)'
    for i in $(seq 0 49); do # the service takes 3,000 rows at a time
        echo "insert into b select i, 0 from generate_series($((i * 2000 + 1)), $((i * 2000 + 2000))) i;"
    done | "${run[@]}" psql -q
done
declare -A best
for _ in $(seq "$rounds"); do
    for script in select update; do
        for through in front floor direct; do
            declare -n run=$through
            tps=$("${run[@]}" pgbench -n -M prepared -f "$scratch/$script.sql" -c 8 -j 2 -T "$seconds" --max-tries 10 |
                sed -n 's/^tps = \([0-9]*\).*/\1/p')
            [ "$tps" -le "${best[$script.$through]:-0}" ] || best[$script.$through]=$tps
        done
    done
done
echo "local front: pgbench -M prepared, 8 clients, best of $rounds rounds of ${seconds} s"
ratio() { awk "BEGIN {printf \"%.2f\", ${best[$script.$1]} / ${best[$script.$2]}}"; }
printf '%-10s %12s %12s %12s %14s %14s %13s\n' '' 'front tps' 'floor tps' 'direct tps' front/direct floor/direct front/floor
for script in select update; do
    printf '%-10s %12s %12s %12s %13sx %13sx %12sx\n' $script "${best[$script.front]}" "${best[$script.floor]}" \
        "${best[$script.direct]}" "$(ratio front direct)" "$(ratio floor direct)" "$(ratio front floor)"
done
SH
"$dsql" local exec -- bash "$scratch/run.sh" "$scratch" "$seconds" "$rounds" "$port"

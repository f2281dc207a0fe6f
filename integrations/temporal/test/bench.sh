#!/bin/bash
# One-activity workflows on this store and on Temporal's own postgres12_pgx plugin: the same machine, the same
# build of PostgreSQL with the same settings, the same build of the server, in turns; without and with 1 ms for
# each round trip. ROUNDS (5) of COUNT (100) workflows, AT (10) at once, for each; medians. Both servers reach
# their PostgreSQL through the same little proxy, which makes them wait and counts round trips. The own plugin has
# no TLS and no endpoint between it and PostgreSQL.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
rounds=${ROUNDS:-5} count=${COUNT:-100} at=${AT:-10}
export DSQL_POOL_MAX_OPEN=50 DSQL_RESERVOIR_ENABLED=true DSQL_RESERVOIR_EMPTY_WAIT=2s
stock_schema=$(cd "$root/integrations/temporal" && "${GO:-go}" list -m -f '{{.Dir}}' go.temporal.io/server)/schema/postgresql/v12/temporal/schema.sql

# delay NAME TARGET: a proxy, its ports in $port_NAME and $control_NAME.
delay() {
    "$root/build/temporal/temporal-delay" "$2" >"$scratch/ports.$1" &
    for _ in $(seq 100); do
        [ ! -s "$scratch/ports.$1" ] || break
        sleep 0.1
    done
    read -r "port_$1" "control_$1" <"$scratch/ports.$1"
}
# shellcheck disable=SC2034 # by the names of the stores
port_dsql='' port_stock='' control_dsql='' control_stock=''

trips() { # trips STORE DELAY: sets how long a round trip waits, prints how many there were
    local control=control_$1 answer
    exec 3<>"/dev/tcp/127.0.0.1/${!control}"
    echo "$2" >&3
    read -r answer <&3
    exec 3<&- 3>&-
    echo "$answer"
}

# postmaster_of STORE: the process of its PostgreSQL.
postmaster_of() { head -1 "$scratch/$([ "$1" = dsql ] && echo data || echo stock)/pg/postmaster.pid"; }

# The stock plugin's own PostgreSQL, as `dsql local` runs its one but for what only the module there understands.
start_stock_postgres() {
    local as=() bin arguments settings=()
    bin=$(dirname "$(readlink "/proc/$(postmaster_of dsql)/exe")")
    mapfile -d '' -t arguments <"/proc/$(postmaster_of dsql)/cmdline"
    for setting in "${arguments[@]}"; do
        case $setting in
            fsync=* | synchronous_commit=* | full_page_writes=* | max_connections=* | shared_buffers=* | wal_level=* | autovacuum*=*)
                settings+=(-c "$setting") ;;
        esac
    done
    mkdir "$scratch/stock"
    if [ "$(id -u)" = 0 ]; then
        chown postgres "$scratch/stock"
        as=(setpriv --reuid postgres --regid postgres --clear-groups)
    fi
    (cd "$scratch/stock" && "${as[@]}" "$bin/initdb" -D pg -U stock --auth=trust --locale=C --encoding=UTF8 --no-sync >/dev/null)
    (cd "$scratch/stock" && exec "${as[@]}" "$bin/postgres" -D pg -k "$scratch/stock" -p 5432 -c listen_addresses= "${settings[@]}") \
        >"$scratch/stock.log" 2>&1 &
    stock_postgres=$!
    for _ in $(seq 300); do
        ! stock -c 'select' >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    fail "the stock plugin's PostgreSQL does not answer: $(cat "$scratch/stock.log")"
}
stock() { env -i PATH="$PATH" psql -XqAt -v ON_ERROR_STOP=1 -h "$scratch/stock" -p 5432 -U stock -d "${database:-postgres}" "$@"; }
stock_postgres=''
trap '[ -z "$stock_postgres" ] || { kill "$stock_postgres" && wait "$stock_postgres"; } 2>/dev/null; cleanup' EXIT

make_stock_database() {
    stock -c 'create database stock'
    database=stock
    stock -f "$stock_schema" >/dev/null
    stock -c 'alter table cluster_membership alter rpc_port type int' # the stock one holds no port above 32767
    stock -c "create table schema_version (version_partition int, db_name varchar(255), creation_time timestamp,
        curr_version varchar(64), min_compatible_version varchar(64), primary key (version_partition, db_name))" \
        -c "insert into schema_version values (0, 'stock', now(), '1.19', '1.0')"
}

stock_config() { # stock_config PORT: the embedded configuration with another store
    python3 - "$root/integrations/temporal/temporal-dsql-server/embedded.yaml" "$1" <<'PYTHON'
import re, socket, sys
text = open(sys.argv[1]).read()
sockets = {}
def free_port(match):
    if match[1] not in sockets:
        sockets[match[1]] = socket.create_server(("127.0.0.1", 0))
    return str(sockets[match[1]].getsockname()[1])
text = re.sub(r"\{\{\.Ports\.(\w+)\}\}", free_port, text)
text = re.sub(r"\{\{- if \.Visibility\}\}.*?\{\{- else\}\}\n(.*?)\{\{- end\}\}\n", r"\1", text, flags=re.S)
text = text.replace('"{{if .Visibility}}{{.Visibility}}{{else}}visibility{{end}}"', "visibility")
text = text.replace("{{.LogLevel}}", "error").replace("{{.Shards}}", "4")
text = text.replace("      customDatastore:\n        name: dsql\n", """      sql:
        pluginName: postgres12_pgx
        databaseName: stock
        connectAddr: 127.0.0.1:%s
        connectProtocol: tcp
        user: stock
        maxConns: 50
        maxIdleConns: 50
""" % sys.argv[2])
assert "{{" not in text, text
print(text)
PYTHON
}

# ticks FIELDS PID...: what these processes have used, in clock ticks.
ticks() {
    local fields=$1 pid
    shift
    for pid in "$@"; do sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null; done | cut -d' ' -f"$fields" | tr ' ' '\n' | awk '{n += $1} END {print n + 0}'
}
used() { # used STORE: by its server, the endpoint, PostgreSQL
    local pid=pid_$1 postmaster
    postmaster=$(postmaster_of "$1")
    # Of the postmaster also what those of its children used that have ended.
    # shellcheck disable=SC2046 # a list
    echo "$(ticks 12,13 "${!pid}") $(ticks 12,13 "$local_pid") $(($(ticks 12-15 "$postmaster") + $(ticks 12,13 $(pgrep -P "$postmaster"))))"
}

# measure STORE DELAY: one line of figures.
measure() {
    local address=address_$1 before after
    before="$(trips "$1" "$2") $(used "$1")"
    TIMEFORMAT='%U %S'
    { time "$check" --address "${!address}" --kind activity --count "$count" --at "$at" --limit 600s --unaudited >"$scratch/said"; } 2>"$scratch/client" ||
        fail "$1, $2: $(cat "$scratch/said" "$scratch/client")"
    after="$(trips "$1" "$2") $(used "$1")"
    echo "$1 $2 $(sed 's/.* s: \(.*\) a second, p50 \(.*\) ms, p99 \(.*\) ms,.*/\1 \2 \3/' "$scratch/said") $before $after $(cat "$scratch/client")"
}

start_cluster --port 0
delay dsql "127.0.0.1:$PGPORT"
start_stock_postgres
make_stock_database
delay stock "$scratch/stock/.s.PGSQL.5432"
DSQL_ENDPOINT=localhost:$port_dsql start_server dsql --port 0
stock_config "$port_stock" >"$scratch/stock.yaml"
start_server stock --config "$scratch/stock.yaml"
for store in dsql stock; do measure $store 0ms >/dev/null; done # warm
for delay in 0ms 1ms; do
    for _ in $(seq "$rounds"); do
        for store in dsql stock; do measure $store $delay; done
    done
done >"$scratch/figures"

python3 - "$scratch/figures" "$count" "$(getconf CLK_TCK)" <<'PYTHON'
import statistics, sys
count, tick = int(sys.argv[2]), float(sys.argv[3])
runs = {}
for line in open(sys.argv[1]):
    store, delay, *rest = line.split()
    v = [float(x) for x in rest]
    wps, p50, p99, before, after, client = v[0], v[1], v[2], v[3:7], v[7:11], v[11] + v[12]
    used = [(b - a) / tick * 1000 / count for a, b in zip(before[1:], after[1:])]
    runs.setdefault((delay, store), []).append([wps, p50, p99, (after[0] - before[0]) / count, *used, client * 1000 / count])
names = ["workflows a second", "p50, ms", "p99, ms", "round trips a workflow", "CPU ms a workflow: server", "... endpoint",
         "... PostgreSQL", "... client and worker"]
for delay in ("0ms", "1ms"):
    ours, stock = ([statistics.median(c) for c in zip(*runs[delay, s])] for s in ("dsql", "stock"))
    spread = [" (%.4g to %.4g)" % (min(c), max(c)) for c in zip(*[[o[i] / s[i] if s[i] else 0 for i in range(3)]
              for o, s in zip(runs[delay, "dsql"], runs[delay, "stock"])])] + [""] * 5
    print("%s a round trip, medians of %d rounds of %d %27s %14s %8s" % (delay, len(runs[delay, "dsql"]), count, "this store", "postgres12_pgx", "ratio"))
    for name, o, s, sp in zip(names, ours, stock, spread):
        print("    %-66s %10.1f %14.1f %8s%s" % (name, o, s, "%.2f" % (o / s) if s else "", sp))
PYTHON

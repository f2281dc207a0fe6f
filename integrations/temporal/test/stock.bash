#!/bin/bash
# shellcheck disable=SC2034,SC2154 # what is set here is used by those who read this file, and the other way round
# Temporal's own postgres12_pgx plugin on a PostgreSQL of its own, beside this store. After lib.bash, and after
# start_cluster, whose PostgreSQL is the model of the other one.
stock_schema=$(cd "$root/integrations/temporal" && "${GO:-go}" list -m -f '{{.Dir}}' go.temporal.io/server)/schema/postgresql/v12/temporal/schema.sql

# postmaster_of STORE: the process of its PostgreSQL.
postmaster_of() { head -1 "$scratch/$([ "$1" = dsql ] && echo data || echo stock)/pg/postmaster.pid"; }

# The stock plugin's own PostgreSQL, as `dsql local` runs its one but for what only the module there understands.
start_stock_postgres() {
    local arguments
    stock_bin=$(dirname "$(readlink "/proc/$(postmaster_of dsql)/exe")")
    mapfile -d '' -t arguments <"/proc/$(postmaster_of dsql)/cmdline"
    for setting in "${arguments[@]}"; do
        case $setting in
            fsync=* | synchronous_commit=* | full_page_writes=* | max_connections=* | shared_buffers=* | wal_level=* | autovacuum*=*)
                stock_settings+=(-c "$setting") ;;
        esac
    done
    mkdir "$scratch/stock"
    if [ "$(id -u)" = 0 ]; then
        chown postgres "$scratch/stock"
        stock_user=(setpriv --reuid postgres --regid postgres --clear-groups)
    fi
    (cd "$scratch/stock" &&
        "${stock_user[@]}" "$stock_bin/initdb" -D pg -U stock --auth=trust --locale=C --encoding=UTF8 --no-sync >/dev/null)
    run_stock_postgres
}
stock_bin='' stock_settings=() stock_user=()

run_stock_postgres() { # also after it has ended: until it answers, on the socket in $scratch/stock
    (cd "$scratch/stock" &&
        exec "${stock_user[@]}" "$stock_bin/postgres" -D pg -k "$scratch/stock" -p 5432 -c listen_addresses= "${stock_settings[@]}") \
        >"$scratch/stock.log" 2>&1 &
    stock_postgres=$!
    for _ in $(seq 6000); do
        [ "$(stock -c 'select 1' 2>/dev/null)" != 1 ] || return 0
        sleep 0.1
    done
    fail "the stock plugin's PostgreSQL does not answer: $(cat "$scratch/stock.log")"
}
stock() { env -i PATH="$PATH" psql -XqAt -v ON_ERROR_STOP=1 -h "$scratch/stock" -p 5432 -U stock -d "${database:-postgres}" "$@"; }
stock_postgres=''
# SIGINT: with SIGTERM it would wait for its clients, who end after it.
trap '[ -z "$stock_postgres" ] || { kill -INT "$stock_postgres" && wait "$stock_postgres"; } 2>/dev/null; cleanup' EXIT

make_stock_database() { # and the one of visibility
    make_stock_visibility
    stock -c 'create database stock'
    database=stock
    stock -f "$stock_schema" >/dev/null
    stock -c 'alter table cluster_membership alter rpc_port type int' # the stock one holds no port above 32767
    make_stock_version stock 1.19
}

make_stock_visibility() { # in a database of its own
    stock -c 'create database visibility'
    database=visibility stock -f "${stock_schema%/temporal/*}/visibility/schema.sql" >/dev/null
    make_stock_version visibility 1.14
}

make_stock_version() { # make_stock_version DATABASE VERSION
    database=$1 stock -c "create table schema_version (version_partition int, db_name varchar(255), creation_time timestamp,
        curr_version varchar(64), min_compatible_version varchar(64), primary key (version_partition, db_name))" \
        -c "insert into schema_version values (0, '$1', now(), '$2', '1.0')"
}

# stock_config PORT: the embedded configuration with other stores, on this port or, if it is empty, on the socket.
stock_config() {
    PYTHONPATH=$root/integrations/temporal/test python3 - "$root/integrations/temporal/temporal-dsql-server/embedded.yaml" "${1:-5432}" "${1:+127.0.0.1}" "$scratch/stock" <<'PYTHON'
import embedded, re, sys
text = embedded.read(sys.argv[1])
def store(database):
    return """      sql:
        pluginName: postgres12_pgx
        databaseName: %s
        connectAddr: 127.0.0.1:%s
        connectProtocol: tcp
        connectAttributes: {host: "%s"}
        user: stock
        maxConns: 50
        maxIdleConns: 50
""" % (database, sys.argv[2], sys.argv[3] or sys.argv[4])
text = re.sub(r"\{\{- if \.Visibility\}\}.*?\{\{- end\}\}\n", store("visibility"), text, flags=re.S)
text = text.replace("      customDatastore:\n        name: dsql\n", store("stock"))
assert "{{" not in text, text
print(text)
PYTHON
}

# delay NAME TARGET: a proxy, its ports in $port_NAME and $control_NAME.
delay() {
    "$root/build/temporal/temporal-delay" "$2" >"$scratch/ports.$1" &
    for _ in $(seq 6000); do
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

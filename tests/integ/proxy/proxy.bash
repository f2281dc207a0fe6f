# For tests of `dsql proxy`: a `dsql local` behind it, and how it is started, asked and stopped. To be sourced after
# lib.bash, which has $scratch and $dsql.
# shellcheck shell=bash disable=SC2154 # lib.bash sets scratch and dsql
# OC001 is not compared: the same answers have none. A test that wants it says so with $stale.
start_local --port=0 --stale-catalogue="${stale:-0}"
set -a
# shellcheck disable=SC1091
. "$scratch/ready"
set +a
export DSQL_RESERVOIR_ENABLED=true DSQL_STAGGERED_STARTUP=false DSQL_DISTRIBUTED_CONN_LEASE_ENABLED=false

proxy_pid=''
await() { # await COMMAND...: until it succeeds
    for _ in $(seq 1200); do
        ! "$@" || return 0
        sleep 0.1
    done
    fail "$* did not come true"
}
said_ready() { grep -q 'Ctrl-C' "$scratch/proxy.out" || ! kill -0 "$proxy_pid" 2>/dev/null; }
start_proxy() { start_proxy_at 0 "$@"; } # start_proxy OPTIONS...: $PROXY_PORT is where it listens
start_proxy_at() { # start_proxy_at PORT OPTIONS...
    : >"$scratch/proxy.out" # what an earlier one said is not this one's
    "$dsql" proxy --port="$1" "${@:2}" >"$scratch/proxy.out" 2>"$scratch/proxy.err" &
    proxy_pid=$!
    await said_ready
    PROXY_PORT=$(sed -n 's/.*-h [^ ]* -p \([0-9]*\).*/\1/p' "$scratch/proxy.out" | head -1)
    [ -n "$PROXY_PORT" ] || fail "the proxy does not say where it is: $(cat "$scratch/proxy.out" "$scratch/proxy.err")"
    export PROXY_PORT
}
ended_well() { # ended_well PID: waits for it
    local status=0
    wait "$1" || status=$?
    [ "$status" = 0 ] || fail "the proxy ended with $status: $(cat "$scratch/proxy.err")"
}
stop_proxy() {
    kill -TERM "$proxy_pid"
    ended_well "$proxy_pid"
}
# Clients of the proxy know neither token nor TLS.
through() { env -u PGHOSTADDR -u PGPASSWORD -u PGSSLMODE -u PGSSLROOTCERT PGHOST=127.0.0.1 PGPORT="$PROXY_PORT" "$@"; }
psql_t() { through psql -X -A -t -q "$@"; }
same() { [ "$1" = "$2" ] || fail "'$1' is not '$2'"; }

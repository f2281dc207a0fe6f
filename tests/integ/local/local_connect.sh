#!/bin/bash
# Who may connect to `dsql local`, how often, how many and for how long; and who gets a Ctrl-C.
# shellcheck disable=SC2016,SC2015 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

local_exec() { "$dsql" local exec "$@"; }

# Who may connect.
cat >"$scratch/connect.sh" <<'SH'
attempt() { psql -Atc 'select 1' 2>&1; }
PGPASSWORD=nonsense attempt
PGUSER=app attempt
PGSSLMODE=disable attempt
PGSSLMODE=require PGHOST=127.0.0.1 attempt
PGDATABASE=other attempt
PGOPTIONS='-c lock_timeout=5' attempt
PGPASSWORD=$("$1" token --admin --at 20240827T000000Z) attempt
PGPASSWORD=$("$1" token --admin) attempt
printf 'GET / HTTP/1.0\r\n\r\n' >"/dev/tcp/127.0.0.1/$PGPORT"
printf '\377\377\377\377\377\377\377\377' >"/dev/tcp/127.0.0.1/$PGPORT"
attempt
openssl s_client -connect "127.0.0.1:$PGPORT" -servername localhost -alpn postgresql \
    -CAfile "$PGSSLROOTCERT" -verify_return_error </dev/null 2>&1 | grep -E 'ALPN|Verify'
SH
expect 0 local_exec -- bash "$scratch/connect.sh" "$dsql"
for line in 'FATAL:  unable to accept connection, access denied' 'HINT:  Malformed token' \
    'HINT:  Wrong user to action mapping. user: app, action: DbConnectAdmin' \
    'FATAL:  unable to accept connection, SSL is mandatory. AWS Authentication is required.' \
    'FATAL:  unable to accept connection, sni was not received' \
    'FATAL:  database "other" does not exist' \
    'FATAL:  setting configuration parameter "lock_timeout" not supported' 'HINT:  Signature expired' \
    'ALPN protocol: postgresql'; do
    contains "$out" "$line"
done
[ "$(printf '%s\n' "$out" | grep -c '^1$')" = 2 ] || fail "a good token was refused: $out"

# The connection limits.
# However slow this machine is: eight at once, until they were too fast.
expect 0 local_exec --rate 1 --burst 3 -- bash -c 'for round in $(seq 20); do
    for i in 1 2 3 4 5 6 7 8; do psql -Atc "select $i" >"$0.$i" 2>&1 & done # each has its own file: psql writes its lines in pieces
    wait
    cat "$0".?
    ! grep -q exceeded "$0".? || break
done' "$scratch/rate"
contains "$out" 'FATAL:  Unable to accept connection, rate exceeded.'
[ "$(printf '%s\n' "$out" | grep -c '^[1-8]$')" -ge 3 ] || fail "fewer than the burst got in: $out"
expect 0 local_exec --max-connections 1 -- bash -c '
    exec 3> >(psql -Atq >"$0"); echo "select 5;" >&3
    eventually test -s "$0"
    psql -Atc "select 6" 2>&1; exec 3>&-; wait; true' "$scratch/held"
contains "$out" 'FATAL:  Unable to accept connection, too many open connections.'

# An hour in twenty seconds: idle connections go at their age, busy ones with their transaction.
expect 2 local_exec --time-scale 180 -- psql -AtX -c 'select 1' -c 'select pg_sleep(22)' -c 'select 3'
contains "$out" 1
contains "$err" 'connection to server was lost'

# Ctrl-C is for the command.
"$dsql" local exec -- bash -c 'trap "echo caught; exit 9" INT; echo ready >"$0"; while :; do sleep 0.1; done' \
    "$scratch/interruptible" >"$scratch/caught" &
pid=$!
eventually test -s "$scratch/interruptible"
kill -INT $pid "$(pgrep -P $pid bash)"
status=0
wait $pid || status=$?
[ $status = 9 ] && [ "$(cat "$scratch/caught")" = caught ] || fail "Ctrl-C: status $status"

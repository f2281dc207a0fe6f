#!/bin/bash
# Who comes in at `dsql proxy`: passwords (SCRAM) from a users file, TLS with a certificate that is read again, roles by
# user, limits for each user, and clients that are slow, silent or hostile before they have logged in.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"

make_certificate() { # make_certificate FILE NAME
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$2" \
        -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" -keyout "$scratch/key.pem" -out "$scratch/cert.pem" 2>/dev/null
    cat "$scratch/cert.pem" "$scratch/key.pem" >"$1"
}
make_certificate "$scratch/server.pem" first
# The verifier of "pencil", with the salt of RFC 7677.
cat >"$scratch/users" <<'USERS'
; who may come in
"admin" "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
"alice" "wonder ""land"""
"stranger" "nowhere"
USERS

# Nothing listens for other machines without both.
for options in "" "--users=$scratch/users" "--cert=$scratch/server.pem"; do
    # shellcheck disable=SC2086 # none or one
    expect 2 "$dsql" proxy --port=0 --user=admin --listen=0.0.0.0 $options
    contains "$err" 'without a password or without TLS'
    contains "$err" 'give --users and --cert'
done
expect 2 "$dsql" proxy --port=0 --user=admin --map=alice:nobody
contains "$err" 'not served'
printf '"admin" "md5000102030405060708090a0b0c0d0e0f"\n' >"$scratch/md5"
expect 2 "$dsql" proxy --port=0 --user=admin --users="$scratch/md5"
contains "$err" 'line 1: MD5 hashes'

start_proxy --user=admin --map=alice:admin --users="$scratch/users" --cert="$scratch/server.pem" --listen=0.0.0.0 \
    --socket-dir="$scratch" --user-clients=2 --login=2s --connections=4
as() { # as USER PASSWORD COMMAND...
    local user=$1 password=$2
    shift 2
    through env PGUSER="$user" PGPASSWORD="$password" PGDATABASE=postgres "$@"
}
sql='select current_user'
same "$(as admin pencil psql -X -A -t -c "$sql")" admin
same "$(as alice 'wonder "land"' psql -X -A -t -c "$sql")" admin # mapped
same "$(as alice 'wonder "land"' psql -X -A -t -c "$sql" "sslmode=verify-full sslrootcert=$scratch/cert.pem")" admin
same "$(as alice 'wonder "land"' psql -X -A -t -c "select length(repeat('x', 3000000))" "sslmode=require")" 3000000
# Wrong password, no password, a user that does not exist, one that has no role: the first three hear the same.
for who in 'admin wrong' 'nobody pencil'; do
    read -r user password <<<"$who"
    expect 2 as "$user" "$password" psql -X -c "$sql"
    contains "$err" 'FATAL:  password authentication failed'
done
expect 2 as stranger nowhere psql -X -c "$sql"
contains "$err" 'role "stranger" is not served'
# By the Unix socket the proxy's own user needs no password.
same "$(through env PGHOST="$scratch" PGUSER=admin psql -X -A -t -c "$sql")" admin

# Another machine's client needs TLS: the address of this machine that is not loopback stands for one.
address=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m1 '^[0-9.]*$') || address=''
if [ -n "$address" ]; then
    expect 2 as admin pencil psql -X -c "$sql" "host=$address sslmode=disable"
    contains "$err" 'clients of other machines need TLS'
    same "$(as admin pencil psql -X -A -t -c "$sql" "host=$address sslmode=require")" admin
fi

# A limit for each user.
as alice 'wonder "land"' /usr/bin/python3 "$SOURCE_DIR/tests/integ/proxy/proxy_hostile.py" limit 2

# Slow, silent and hostile clients: each is closed in time, memory is bounded, and others come in meanwhile.
expect 0 as alice 'wonder "land"' /usr/bin/python3 "$SOURCE_DIR/tests/integ/proxy/proxy_hostile.py" hostile "$proxy_pid"

# The certificate and the users are read again; what can't be read leaves those in use.
make_certificate "$scratch/server.pem" second
printf '"admin" "other"\n' >"$scratch/users"
kill -HUP "$proxy_pid"
await grep -q proxy.reloaded "$scratch/proxy.err"
same "$(as admin other psql -X -A -t -c "$sql" "sslmode=verify-full sslrootcert=$scratch/cert.pem")" admin
expect 2 as alice 'wonder "land"' psql -X -c "$sql"
printf 'nonsense\n' >"$scratch/users"
kill -HUP "$proxy_pid"
await grep -q proxy.not_reloaded "$scratch/proxy.err"
same "$(as admin other psql -X -A -t -c "$sql")" admin
! grep -q 'wonder\|pencil' "$scratch/proxy.err" || fail 'a password is in the log'
stop_proxy

# Two roles of the database, each with its pool; a third is not served.
psql -X -q -c 'create role reader with login' -c "AWS IAM GRANT reader TO 'arn:aws:iam::000000000000:user/local'"
start_proxy --user=reader,admin --map=bob:reader --connections=4
for pair in reader:reader bob:reader admin:admin; do
    same "$(through env PGUSER="${pair%:*}" psql -X -A -t -c "$sql" postgres)" "${pair#*:}"
done
expect 2 through env PGUSER=other psql -X -c "$sql" postgres
contains "$err" 'role "other" is not served'
stop_proxy
stop_local

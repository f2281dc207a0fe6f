#!/bin/bash
# What `dsql local env` prints is safe to eval, whatever the values are and whoever answers.
# shellcheck disable=SC2016,SC1003 # what stands in single quotes must not happen
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
cd "$scratch"
untouched() { [ -z "$(find "$scratch" -name 'owned*')" ] || fail "a value was run: $(find "$scratch" -name 'owned*')"; }

# Values of a real endpoint: its folder and its keys.
folder="$scratch/a'; touch owned1; '\$(touch owned2)\`touch owned3\` b"
export AWS_ACCESS_KEY_ID=AKIAODD AWS_SESSION_TOKEN="'; touch owned4; #" AWS_SECRET_ACCESS_KEY='"$(touch owned5)'\''\'
secret=$AWS_SECRET_ACCESS_KEY token=$AWS_SESSION_TOKEN
"$dsql" local --port 0 --aws-keys --data "$folder" --ready-file "$scratch/ready" >"$scratch/local.out" 2>"$scratch/local.err" &
local_pid=$!
eventually is_ready || fail "dsql local is not ready"
unset AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN AWS_SECRET_ACCESS_KEY
for shell in sh bash; do
    for from in '"$1" local env --data "$2"' 'cat "$2/env"' 'cat "$3/ready"'; do
        "$shell" -c "eval \"\$($from)\"; printf '%s\n' \"\$PGSSLROOTCERT\" \"\$AWS_SECRET_ACCESS_KEY\" \"\$AWS_SESSION_TOKEN\"; psql -Atc 'select 7'" \
            - "$dsql" "$folder" "$scratch" >"$scratch/said" || fail "$shell, $from"
        [ "$(cat "$scratch/said")" = "$folder/ca.pem
$secret
$token
7" ] || fail "$shell, $from: $(cat "$scratch/said")"
        untouched
    done
done
# The other formats say the same, whoever reads them.
"$dsql" local env --data "$folder" --format json >"$scratch/env.json"
"$dsql" local env --data "$folder" --format dotenv >"$scratch/env.dotenv"
for name in PGSSLROOTCERT AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN CLUSTER_ENDPOINT REGION AWS_DEFAULT_REGION NODE_EXTRA_CA_CERTS \
    SSL_CERT_FILE JAVA_TOOL_OPTIONS CLUSTER_USER; do
    value=$(sh -c '. "$0/env"; printenv "$1"' "$folder" $name) || fail "$name is not set"
    [ "$(jq -r .$name "$scratch/env.json")" = "$value" ] || fail "json: $name is $(jq .$name "$scratch/env.json")"
    [ "$(sh -c '. "$0"; eval "printf %s \"\$$1\""' "$scratch/env.dotenv" $name)" = "$value" ] || fail "dotenv: $name"
    untouched
done
expect 2 "$dsql" local env --data "$folder" --format xml
contains "$err" '--format=xml is none of shell, json and dotenv'
# The line that it prints for people to copy.
line=$(grep -o '^ *\. .*env.*#' "$scratch/local.out" | sed 's/#$//')
[ "$(sh -c "$line"'; psql -Atc "select 8"')" = 8 ] || fail "$line"
untouched
stop_local

# Values that can't stand in a line are refused before anything is started.
expect 2 env AWS_ACCESS_KEY_ID=AKIAODD AWS_SECRET_ACCESS_KEY=$'a\ntouch owned6' "$dsql" local --port 0 --aws-keys
contains "$err" 'has a line break'
expect 2 "$dsql" local --port 0 --data "$scratch/a"$'\n'"touch owned7"
contains "$err" 'may have no colon, comma, double quote or control character'
expect 2 "$dsql" local --port 0 --data "$scratch/a,b"
contains "$err" 'may have no colon, comma, double quote or control character'

# Somebody else answers at the socket.
answer() { # answer TEXT: what eval makes of it, as NAME=value lines
    rm -f "$scratch/control" "$scratch/listens"
    python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print(flush=True)
c, _ = s.accept(); c.makefile().readline(); c.sendall(b"ok\n" + sys.argv[2].encode())' "$scratch/control" "$1" >"$scratch/listens" &
    local server=$!
    eventually test -s "$scratch/listens"
    text=$(DSQL_LOCAL_CONTROL=$scratch/control "$dsql" local env)
    wait $server
    env -i PATH="$PATH" sh -c 'eval "$1"; env' - "$text"
}
said=$(answer $'PGHOST=a\nX;touch owned8=1\n$(touch owned9)=1\nPATH=/nowhere\nLD_PRELOAD=/x.so\ntouch owned10\nDSQL_X\'; touch owned11; \'=1\nPG_`touch owned12`=1\nDSQL_USER=\'; touch owned13; \'\nAWS_REGION=\\\'$(touch owned14)')
untouched
contains "$said" 'PGHOST=a'
contains "$said" "DSQL_USER='; touch owned13; '"
contains "$said" "AWS_REGION=\\'\$(touch owned14)"
case $said in *nowhere* | *LD_PRELOAD* | *X=*) fail "$said" ;; esac
# One that is too long is not printed by half.
said=$(answer "PGHOST=$(head -c 40000 /dev/zero | tr '\0' x)"$'\n')
case $said in *PGHOST*) fail "half a variable" ;; esac

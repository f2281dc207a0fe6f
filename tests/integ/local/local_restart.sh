#!/bin/bash
# `dsql local` in the foreground: its folder, what stays in it over a restart, how it ends, what it says of
# itself meanwhile.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
data=$scratch/data

# Somebody else's folder is left alone, and so is one of another version.
mkdir "$scratch/mine" "$scratch/old"
touch "$scratch/mine/precious" "$scratch/old/lock"
expect 2 "$dsql" local --port 0 --data "$scratch/mine"
contains "$err" 'is not empty and not a folder of dsql local'
[ "$(stat -c %U "$scratch/mine")" = "$(id -un)" ] || fail "the folder changed hands"
echo 1 >"$scratch/old/layout"
expect 2 "$dsql" local --port 0 --data "$scratch/old"
contains "$err" 'was made by another version of dsql (layout 1'
# What can't be is said before anything is started.
if [ "$(id -u)" = 0 ]; then
    mkdir -m 700 "$scratch/closed"
    expect 2 "$dsql" local --port 0 --data "$scratch/closed/data"
    contains "$err" "who can't enter $scratch/closed"
    [ ! -e "$scratch/closed/data" ] || fail "it was started nevertheless"
fi
expect 1 "$dsql" local --port 0 --data "$scratch/new" --ready-file "$scratch/no/ready"
contains "$err" "can't write $scratch/no/ready"
[ ! -e "$scratch/new" ] || fail "it was started nevertheless"
expect 2 "$dsql" local --port 0 --data "$scratch/new" --ready-file "$scratch"
contains "$err" "--ready-file=$scratch is no file"
expect 2 "$dsql" local --port 0 --data "$scratch/new" --data "$scratch/newer"
contains "$err" '--data is given twice'
# A start that fails takes away what it made, and nothing else.
python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(3600)' \
    >"$scratch/taken" &
squatter=$!
eventually test -s "$scratch/taken"
mkdir "$scratch/empty"
taken=$(cat "$scratch/taken")
for folder in "$scratch/new" "$scratch/empty"; do
    expect 1 "$dsql" local --port "$taken" --data "$folder"
    contains "$err" "can't listen on 127.0.0.1:$taken"
done
[ ! -e "$scratch/new" ] || fail "left behind: $(ls -A "$scratch/new")"
[ -d "$scratch/empty" ] || fail "a folder that was there is gone"
[ -z "$(ls -A "$scratch/empty")" ] || fail "left behind: $(ls -A "$scratch/empty")"
expect 2 env -u AWS_ACCESS_KEY_ID "$dsql" local --port 0 --aws-keys
contains "$err" '--aws-keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY must be set'

postgres_runs() { pgrep -f "postgres -D $data/pg" >/dev/null; }

start_local --port 0 --metrics 127.0.0.1:0
cp "$scratch/ready" "$scratch/first"
client_env=$scratch/first
in_env psql -qc 'create table kept (id int primary key)'
in_env psql -qc 'insert into kept values (5)'
expect 2 "$dsql" local --port 0 --data "$data"
contains "$err" 'is in use by another dsql local'
[ "$(stat -c %a "$data/keys" "$data/ca.key" "$data/control" "$data/env" | sort -u)" = 600 ] || fail "others may read the keys"

# What it saw: the same numbers everywhere, and nothing twice.
url=$(sed -n 's/^dsql local: metrics at //p' "$scratch/local.err")
saw() { curl -sf "$url" | sed -n "s/^dsql_local_$1 //p"; }
is_seen() { [ "$(saw "$1")" = "$2" ]; }
eventually is_seen closed_total 2 || true
[ "$(saw admitted_total) $(saw closed_total) $(saw 'refused_total{reason="token"}')" = '2 2 0' ] || fail "metrics: $(curl -s "$url")"
curl -sf "$url" | "$SOURCE_DIR/.tools/promtool" check metrics || fail "promtool finds fault with the metrics"
contains "$("$dsql" local status --data "$data")" 'admitted=2'
[ "$("$dsql" local status --data "$data" --admissions | wc -l)" = 2 ] || fail "admissions"
# Conflicts, one of them as asked, and a change of the schema behind a transaction's back.
"$dsql" local fault --data "$data" conflict-commit=1x >"$scratch/out"
in_env psql -qXc 'update kept set id = 5' 2>"$scratch/err" || true
contains "$(cat "$scratch/err")" '(OC000)'
in_env psql -qXAt >"$scratch/out" 2>"$scratch/err" <<'SQL'
select 1 from kept;
\! psql -qXc 'comment on table kept is null'
select 2 from kept;
SQL
contains "$(cat "$scratch/err")" '(OC001)'
contains "$("$dsql" local status --data "$data" | paste -sd' ')" 'conflicts_oc000=1 conflicts_oc001=1 faults=1'
eventually is_seen conflicts_oc001_total 1 || true
[ "$(saw conflicts_oc000_total) $(saw 'faults_total{fault="conflict-commit"}') $(saw 'faults_total{fault="drop"}')" = '1 1 0' ] ||
    fail "metrics: $(curl -s "$url")"
curl -sf "$url" | "$SOURCE_DIR/.tools/promtool" check metrics || fail "promtool finds fault with the metrics"
port=$(printf '%s' "$url" | sed 's/.*:\([0-9]*\).*/\1/')
expect 1 "$dsql" local exec --metrics "127.0.0.1:$port" -- true
contains "$err" "$port"

# Killed, and again: the data is there, nothing of it is orphaned, and clients go on with what they have.
kill -KILL "$local_pid"
wait "$local_pid" 2>/dev/null || true
postgres_ended() { ! postgres_runs; }
eventually postgres_ended || fail "PostgreSQL outlived its front"
start_local --port 0
grep PGPORT= "$scratch/ready" >>"$client_env" # another may have taken the port
[ "$(in_env psql -Atc 'select id from kept')" = 5 ] || fail "the data, the keys or the authority did not survive"
eval "$("$dsql" local env --data "$data")" # a fresh token
[ "$(psql -Atc 'select id + 1 from kept')" = 6 ] || fail "dsql local env"
stop_local
! postgres_runs || fail "PostgreSQL was left behind"
expect 1 "$dsql" local --port "$taken" --data "$data" # which was there before
[ -e "$data/pg/PG_VERSION" ] || fail "the data went with a start that failed"
kill $squatter
if [ -e "$data/env" ] || [ -e "$data/control" ]; then fail "what names an endpoint that is gone was left behind"; fi
contains "$(cat "$scratch/local.err")" 'accepted=2 admitted=2'

# The line of each minute, if there is something to tell: of its own clock, so an hour takes seconds.
start_local --port 0 --time-scale 600
! grep -q event=local.seen "$scratch/local.err" || fail "a line about nothing: $(cat "$scratch/local.err")"
expect 0 bash -c '. "$0"; psql -Atc "select 8"' "$scratch/ready"
eventually grep -q 'event=local.seen .*admitted=1 closed=1 .*statements=1 ' "$scratch/local.err" || true
kill -0 "$local_pid" || fail "it ended"
contains "$(grep event=local.seen "$scratch/local.err")" 'admitted=1 closed=1 expired=0 statements=1 '
stop_local

# Keys of the caller, with a session token that must be right; they stay.
AWS_ACCESS_KEY_ID=AKIAMINE AWS_SECRET_ACCESS_KEY=mine AWS_SESSION_TOKEN='t/o+k=' start_local --port 0 --aws-keys
start=$scratch/ready
expect 0 bash -c '. "$0"; [ "$AWS_ACCESS_KEY_ID $AWS_SESSION_TOKEN" = "AKIAMINE t/o+k=" ] && psql -Atc "select 7"' "$start"
[ "$out" = 7 ] || fail "$out"
expect 2 bash -c '. "$0"; PGPASSWORD=$(AWS_SESSION_TOKEN=wrong "$1" token --admin) psql -Atc "select 7"' "$start" "$dsql"
contains "$err" 'access denied'
stop_local
grep -q '^access_key_id=AKIAMINE$' "$data/keys" || fail "the keys did not stay"

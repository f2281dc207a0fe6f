#!/bin/bash
# Faults on request: by option and over the control socket, at connect, at statements, at COMMIT.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

# Clear words for what can't be, before anything is started.
expect 2 "$dsql" local exec --fault conflit=1 -- true
contains "$err" "there is no fault conflit; did you mean conflict?"
expect 2 "$dsql" local exec --arn foo -- true
contains "$err" "--arn=foo is no ARN of an IAM user or role"
expect 2 env -u DSQL_LOCAL_CONTROL "$dsql" local fault list
contains "$err" "which dsql local?"
expect 1 "$dsql" local fault --data "$scratch" list
contains "$err" "no dsql local answers at $scratch/control"

cat >"$scratch/faults.sh" <<'SH'
set -u
fault() { "$dsql" local fault "$@"; }
attempt() { psql -AtX -v VERBOSITY=verbose -c 'select 1' 2>&1; }
fault list                                   # of --fault
fault clear
fault list
fault clear now 2>&1
fault deny 2>&1
fault list deny=1 2>&1
for one in full throttle waking deny expire refuse; do
    echo "== $one"
    fault $one=1x
    attempt
    attempt
done
echo "== at COMMIT"
"$client" strikes "$dsql" || echo "strikes failed"
echo "== drop"
exec 3> >(psql -AtXq >"$1.held" 2>&1)
echo 'select 41;' >&3
until [ -s "$1.held" ]; do sleep 0.05; done
fault drop=100%
until [ "$("$dsql" local status | sed -n 's/^open=//p')" = 0 ]; do sleep 0.05; done
echo 'select 42;' >&3
exec 3>&-
wait
cat "$1.held"
echo "== stall"
fault stall=1h
attempt >"$1.stalled" &
sleep 0.5 # in which it would answer, if it did
[ -s "$1.stalled" ] && echo "answered in a stall"
fault stall=0s
wait
cat "$1.stalled"
fault stall=1h
attempt >"$1.stalled" &
fault clear
wait
cat "$1.stalled"
echo "== latency"
fault connect-latency=300ms message-latency=200ms
begin=${EPOCHREALTIME/./}
psql -AtX -c 'select 1' -c 'select 2'
echo "took=$((${EPOCHREALTIME/./} - begin))"
fault clear
echo "== index"
sql() { psql -AtXq -c "$1" 2>&1; }
sql 'create table x (id int primary key, v int)'
fault index-delay=1h
job=$(sql 'create index async x_v on x (v)')
sql 'select status, object_name from sys.jobs'
sql "select indisvalid from pg_index where indexrelid = 'x_v'::regclass"
sql "call sys.wait_for_job('$job')" >"$1.waited" &
fault clear index-delay
wait
cat "$1.waited"
sql "select status from sys.jobs where job_id = '$job'"
sql "select indisvalid from pg_index where indexrelid = 'x_v'::regclass"
fault index-fail=1x
job=$(sql 'create unique index async x_u on x (v)')
sql "call sys.wait_for_job('$job')"
sql "select status, details from sys.jobs where job_id = '$job'"
sql "select indisvalid from pg_index where indexrelid = 'x_u'::regclass"
echo "== lock"
fault no-key-share=1x
sql 'select id from x where id = 1 for key share'
sql 'select id from x where id = 1 for key share'
echo "== seed"
psql -qc 'create table w (id int primary key)'
strikes() {
    fault seed=7 conflict-commit=0.5
    for i in $(seq 20); do echo "insert into w values ($i) on conflict do nothing;"; done | psql -qX 2>&1 | wc -l
    fault clear
}
strikes
strikes
SH
export dsql client=$BUILD_DIR/tests/local_client
expect 0 "$dsql" local exec --fault message-latency=1ms,conflict=0.25 -- bash "$scratch/faults.sh" "$scratch/f"
part() { printf '%s\n' "$out" | awk -v "name=== $1" '$0 == name {on = 1; next} /^== / {on = 0} on'; }
contains "$out" 'message-latency=1ms
conflict=25% struck=0
none'
contains "$out" 'there is no fault now'
contains "$out" 'deny needs a value: deny=...'
contains "$out" "'list' stands alone"
refused() { # refused FAULT WORDS: the first attempt fails so, the second works
    contains "$(part "$1")" "$2"
    [ "$(part "$1" | tail -n 1)" = 1 ] || fail "$1 strikes twice: $(part "$1")"
}
refused full 'FATAL:  Unable to accept connection, too many open connections.'
refused throttle 'FATAL:  Unable to accept connection, rate exceeded.'
refused waking 'FATAL:  unable to accept connection, waking up cluster, please retry later'
refused deny 'HINT:  User: arn:aws:iam::000000000000:user/local is not authorized to perform: dsql:DbConnectAdmin'
refused expire 'HINT:  Signature expired'
refused refuse ' failed: ' # reset or closed: it depends on what psql is about to do
[ -z "$(part 'at COMMIT')" ] || fail "$(part 'at COMMIT') $err"
contains "$(part drop)" 41
case $(part drop) in *42*) fail "a dropped connection answered" ;; esac
[ "$(part stall)" = "$(printf '1\n1')" ] || fail "stall: $(part stall)"
# Startup and password come together or apart, so at least connect + one round trip for each statement.
took=$(part latency | sed -n 's/^took=//p')
[ "$took" -ge 700000 ] || fail "300 ms + 2 x 200 ms took $took us"
[ "$(part index)" = 'submitted|public.x_v
f
t
completed
t
f
failed|found duplicate key(s) while validating index uniqueness
f' ] || fail "index: $(part index)"
[ "$(part lock)" = 'ERROR:  locking clauses other than FOR UPDATE are not supported' ] || fail "lock: $(part lock)"
if [ "$(part seed | sort -u | wc -l)" != 1 ] || [ "$(part seed | head -n 1)" = 0 ]; then
    fail "the same seed strikes otherwise: $(part seed)"
fi

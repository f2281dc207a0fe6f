#!/bin/bash
# `dsql schema apply` that is killed, meets an index that takes long to build, or one whose build fails: the
# next run goes on and ends in the same place. KILL_EVERY: after how many more steps each run is killed.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"

cat >"$scratch/inside.sh" <<'SH'
. "$SOURCE_DIR/tests/integ/store/inside.bash"
fault() { "$dsql" local fault "$@"; }
start_apply() { # start_apply FILE: in the background, as $pid; its lines go to FILE
    : >"$1"
    stdbuf -oL "$dsql" schema apply >"$1" 2>&1 &
    pid=$!
}
until_says() { # until_says FILE TEXT: while $pid lives
    until grep -qF -- "$2" "$1"; do
        kill -0 $pid 2>/dev/null || grep -qF -- "$2" "$1" || { echo "ended without '$2':"; cat "$1"; exit 1; }
        sleep 0.05
    done
}
kill_apply() {
    kill -KILL $pid
    wait $pid 2>/dev/null || true
}

# Killed after each step in turn.
for after in $(seq 1 "$KILL_EVERY" 63); do
    "$dsql" schema drop --yes >"$work/out"
    mkfifo "$work/pipe"
    stdbuf -oL "$dsql" schema apply >"$work/pipe" 2>"$work/killed.err" &
    pid=$!
    n=0
    while read -r _; do
        n=$((n + 1))
        [ $n -lt "$after" ] || break
    done <"$work/pipe"
    kill -KILL $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    rm "$work/pipe"
    run "$dsql" schema apply
    run "$dsql" schema verify
done
[ "$(sql 'select count(*) from schema_update_history')" = 1 ]
echo "killed after each $KILL_EVERY. step"

# Killed while an index is being built: the next run waits for the same build.
"$dsql" schema drop --yes >"$work/out"
fault index-delay=1h
start_apply "$work/first"
until_says "$work/first" 'waiting index '
kill_apply
index=$(sed -n 's/.*waiting index \([a-z_]*\): submitted, [0-9]* s so far.*/\1/p' "$work/first" | head -n 1)
[ -n "$index" ] || { cat "$work/first"; exit 1; }
[ "$(sql "select status from sys.jobs where status <> 'completed'")" = submitted ]
must_fail "$dsql" schema verify
says "invalid index $index: 'dsql schema apply' rebuilds it"
start_apply "$work/second"
until_says "$work/second" "waiting index $index: submitted"
[ "$(sql "select count(*) from sys.jobs where status = 'submitted'")" = 1 ]
fault clear index-delay
wait $pid || { cat "$work/second"; exit 1; }
grep -qF "exists index $index" "$work/second"
grep -qF 'schema version 1.19, visibility 1.0: ' "$work/second"
run "$dsql" schema verify
echo "killed while $index was being built: waited for the same build"

# A build that fails is said, seen by verify, and done anew.
sql "drop index $index"
fault index-fail=1x
must_fail "$dsql" schema apply
says "the index $index could not be built: found duplicate key(s) while validating index uniqueness"
says 'run the command again: it builds the index anew'
must_fail "$dsql" schema verify
says "invalid index $index"
run "$dsql" schema apply
says "rebuilt index $index"
run "$dsql" schema verify
echo "a failed build is done anew"

# The same when nobody was there to see it fail; two runs meet it at once.
sql "drop index $index"
fault index-delay=1h index-fail=1x
start_apply "$work/first"
until_says "$work/first" "waiting index $index"
kill_apply
start_apply "$work/first"
one=$pid
until_says "$work/first" "waiting index $index"
start_apply "$work/second"
until_says "$work/second" "waiting index $index"
fault clear
wait $one || { cat "$work/first"; exit 1; }
wait $pid || { cat "$work/second"; exit 1; }
cat "$work/first" "$work/second" >"$work/out"
says "rebuilt index $index"
run "$dsql" schema verify
[ "$(sql 'select count(*) from schema_update_history')" = 1 ]
echo "a build that failed while nobody looked is done anew, once"
SH
mkdir "$scratch/work"
work=$scratch/work KILL_EVERY=${KILL_EVERY:-15} expect 0 "$dsql" local exec -- bash "$scratch/inside.sh"
printf '%s\n' "$out"

#!/bin/bash
# kill -9 of the program, of PostgreSQL and of the endpoint in the middle of transactions and of scripts: what was
# committed is there after the restart, and nothing is there in part.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
data=$scratch/data
acked=$scratch/acked refused=$scratch/refused
writer=$BUILD_DIR/tests/store_writer
: >"$acked"
: >"$refused"
next=1

begin() {
    start_local --port 0
    # shellcheck disable=SC1091 # written by dsql local
    . "$scratch/ready"
}

# Starts the writer and waits until so many workflows are there.
write_some() {
    : >"$scratch/round"
    "$writer" "$next" >"$scratch/round" 2>"$scratch/writer.err" &
    writer_pid=$!
    for _ in $(seq 12000); do
        [ "$(wc -l <"$scratch/round")" -ge "$1" ] && return
        kill -0 $writer_pid 2>/dev/null || fail "the writer ended: $(cat "$scratch/writer.err")"
        sleep 0.05
    done
    fail "the writer does not get on: $(cat "$scratch/writer.err")"
}

# The writer is gone: its lines are promises.
account() {
    wait $writer_pid 2>/dev/null || true
    writer_pid=''
    grep -v '^-' "$scratch/round" >>"$acked" || true
    sed -n 's/^-//p' "$scratch/round" >>"$refused"
    next=$((next + 1000000))
}

check() {
    psql -XAtq -c 'select task_id from transfer_tasks order by 1' >"$scratch/there"
    sort "$scratch/there" >"$scratch/there.sorted"
    sort "$acked" | comm -23 - "$scratch/there.sorted" >"$scratch/lost"
    [ ! -s "$scratch/lost" ] || fail "$1: committed and lost: $(head -5 "$scratch/lost" | tr '\n' ' ')"
    sort "$refused" | comm -12 - "$scratch/there.sorted" >"$scratch/denied"
    [ ! -s "$scratch/denied" ] || fail "$1: called not applied, and there: $(tr '\n' ' ' <"$scratch/denied")"
    partial=$(psql -XAtq -c "select count(*) from (select task_id from transfer_tasks) t
        full join (select node_id from history_node) n on n.node_id = t.task_id
        full join (select next_event_id from executions) e on e.next_event_id = t.task_id
        full join (select last_write_version from current_executions) c on c.last_write_version = t.task_id
        where t.task_id is null or n.node_id is null or e.next_event_id is null or c.last_write_version is null")
    [ "$partial" = 0 ] || fail "$1: $partial workflows are there in part"
    echo "$1: $(wc -l <"$acked") acknowledged, $(wc -l <"$refused") refused, $(wc -l <"$scratch/there") there, none in part"
}

begin
"$dsql" schema apply >/dev/null
for round in 1 2 3 4; do
    write_some $((20 * round))
    kill -KILL $writer_pid
    account
    check "kill -9 of the program, round $round"
done
# The writer finds out by itself that the server is gone, and says of its last workflow whether it is there.
is_gone() { ! kill -0 "$1" 2>/dev/null; }
outlive() {
    eventually is_gone $writer_pid || true
    kill -KILL $writer_pid 2>/dev/null && fail "the writer does not notice that the server is gone"
    account
    wait "$local_pid" 2>/dev/null || true
}
for round in 1 2; do
    write_some 50
    kill -KILL "$(head -1 "$data/pg/postmaster.pid")"
    outlive
    begin
    check "kill -9 of PostgreSQL, round $round"
done
for round in 1 2; do
    write_some 50
    postmaster=$(head -1 "$data/pg/postmaster.pid")
    kill -KILL "$local_pid"
    outlive
    eventually is_gone "$postmaster" # when its endpoint has gone
    begin
    check "kill -9 of the endpoint, round $round"
done
stop_local

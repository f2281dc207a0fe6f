#!/bin/bash
# What no transaction takes, for each caller: a workflow task ends its workflow with a reason, an API call is an invalid
# argument, tasks of the timer queue go to the dead letters; nothing is repeated for ever, and no shard is acquired anew.
# What is left can be terminated and deleted, and then its tables are empty.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
refused=$root/build/temporal/temporal-refused
until_is() { # until_is VALUE SQL
    for _ in $(seq 6000); do
        [ "$(ask "$2")" != "$1" ] || return 0
        sleep 0.1
    done
    fail "'$2' is $(ask "$2"), not $1"
}
unchanged() { # unchanged RANGES: a shard that was lost is acquired anew
    [ "$1" = "$(ranges)" ] || fail "shards were acquired anew: before $(echo "$1" | xargs), afterwards $(ranges | xargs)"
}
refusals() { grep -hc 'it would be refused each time' "$scratch/a.$starts.log" || true; }

start_cluster --port 0
start_server a --port 0
owned 4
before=$(ranges)
"$refused" --address "$address_a" task
"$refused" --address "$address_a" --in 30s call
# Of any number of timers Temporal keeps one task at a time, so timers need no packs.
tasks=$(ask 'select count(*) from timer_tasks')
[ "$tasks" -lt 50 ] || fail "3,400 timers have $tasks tasks"
unchanged "$before"

# The server is away while the timers fire: the task that finds them has 3,400 rows to delete.
kill_server "$pid_a" TERM
until_is t "select now() > max(visibility_timestamp) at time zone 'UTC' + interval '1 s' from timer_tasks where visibility_timestamp < now() at time zone 'UTC' + interval '1 min'"
start_server a --port 0
owned 4 "$before"
until_is t 'select count(*) > 0 from queue_messages'
before=$(ranges) seen=
until [ "$seen" = "$(refusals)" ]; do
    seen=$(refusals)
    sleep 5 # in which what is repeated comes again
done
until_is 3400 'select count(*) from timer_info_maps'
unchanged "$before"
"$refused" --address "$address_a" end
until_is 0 'select count(*) from timer_info_maps'
until_is 0 "select count(*) from executions where workflow_id = 'refused-timers'"
unchanged "$before"
kill_server "$pid_a" TERM
echo "refused: every caller was told, and $(ask 'select count(*) from queue_messages') tasks are dead letters"

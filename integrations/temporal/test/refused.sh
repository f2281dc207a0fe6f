#!/bin/bash
# What no transaction takes, for each caller: a workflow task ends its workflow with a reason, an API call is an invalid
# argument; no shard is acquired anew. What is left can be terminated and deleted, and then the tables are empty.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
refused=$root/build/temporal/temporal-refused
ranges() { ask 'select shard_id, range_id from shards order by shard_id'; }
until_is() { # until_is VALUE SQL
    for _ in $(seq 1200); do
        [ "$(ask "$2")" != "$1" ] || return 0
        sleep 0.1
    done
    fail "'$2' is $(ask "$2"), not $1"
}

start_cluster --port 0
start_server a --port 0
until_is 4 'select count(*) from shards'
before=$(ranges)
"$refused" --address "$address_a" task
"$refused" --address "$address_a" --in 1h call
"$refused" --address "$address_a" end
until_is 0 "select count(*) from timer_info_maps"
[ "$before" = "$(ranges)" ] || fail "shards were acquired anew: before $(echo "$before" | xargs), afterwards $(ranges | xargs)"
! grep -h 'shard status unknown' "$scratch"/a.*.log || fail 'a shard was lost'
kill_server "$pid_a" TERM
echo "refused: every caller was told"

#!/bin/bash
# The fences of the store: with FOR KEY SHARE, with FOR UPDATE, and with the one that it finds by itself: on a
# cluster of today, on one that refuses FOR KEY SHARE, and on one without the index that makes it a fence.
# shellcheck disable=SC2016 # programs for other shells stand in single quotes
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export programs=$BUILD_DIR/tests DSQL_LOG_LEVEL=error

expect 0 "$dsql" local exec -- bash -c '
    set -e
    "$dsql" schema apply >/dev/null
    "$programs/store_fence"
    echo "== today"
    "$programs/store_fence" probe
    "$dsql" local fault no-key-share=100%
    echo "== refused"
    "$programs/store_fence" probe
    "$dsql" local fault list
    "$dsql" local fault clear
    psql -qc "drop index shards_fence"
    echo "== no index"
    "$programs/store_fence" probe'
part() { printf '%s\n' "$out" | awk -v "name=== $1" '$0 == name {on = 1; next} /^== / {on = 0} on'; }
contains "$out" 'stale owner refused 25 times of 25: FOR KEY SHARE
stale owner refused 25 times of 25: FOR UPDATE
a plain SELECT lets the stale owner commit'
contains "$(part today)" 'stale owner refused 25 times of 25: FOR KEY SHARE, found'
contains "$(part today)" 'the second gets OK'
for part in refused 'no index'; do
    contains "$(part "$part")" 'stale owner refused 25 times of 25: FOR UPDATE, found'
    contains "$(part "$part")" 'the second gets CONFLICT'
done
# It asked once, and never again.
contains "$(part refused)" 'no-key-share=100% struck=1'
printf '%s\n' "$out"

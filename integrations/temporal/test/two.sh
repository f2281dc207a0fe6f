#!/bin/bash
# Two servers share the shards on one endpoint. One is paused until the other has acquired its shards, and
# resumed in the middle of its work; later it is killed. No event is lost or doubled: the stale owner loses.
# COUNT workflows (70) in each round, PAUSES (1) pauses.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
count=${COUNT:-70} pauses=${PAUSES:-1}
start_cluster --port 0
start_server a --port 0 --shards 32
start_server b --port 0 --shards 32

# b stands still until a has taken every shard that it takes, seen by the range ids.
pause() { # pause N D: when so much of the workflows was started
    local before now taken=0 quiet=0
    reached "$@" || return 0
    before=$(ranges)
    kill -STOP "$pid_b"
    for _ in $(seq 6000); do
        sleep 0.2
        now=$(diff <(echo "$before") <(ranges) | grep -c '^>' || true)
        if [ "$now" = "$taken" ]; then quiet=$((quiet + 1)); else taken=$now quiet=0; fi
        [ "$taken" = 0 ] || [ $quiet -lt 15 ] || break
    done
    kill -CONT "$pid_b"
    echo "one of two servers stood still while the other took $taken of its 32 shards"
    [ "$taken" -gt 0 ] || fail "no shard changed hands"
}

pause_often() {
    for n in $(seq "$pauses"); do pause "$n" $((pauses + 1)); done
}

kill_b() {
    reached 1 2 || return 0
    kill_server "$pid_b" KILL
}

workflows 'two servers' "$count" true
workflows 'two servers, one paused and resumed' "$count" pause_often
workflows 'two servers, one killed -9' "$count" kill_b
for round in $rounds_of; do # once more, when the stale owner has done what it can
    "$check" --audit --address "$address_a" --prefix "${round%:*}" --count "${round#*:}" --limit 300s >/dev/null
done
kill_server "$pid_a" TERM

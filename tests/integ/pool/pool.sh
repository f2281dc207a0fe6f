#!/bin/bash
# The pool against the local endpoint: short lives, mass drop, token expiry, stall, refusals of each kind,
# a server that is killed and comes back.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
export DSQL=$dsql
driver=$BUILD_DIR/tests/pool_driver

# An hour is half a minute for the endpoint: it would close what the pool keeps for too long.
expect 0 "$dsql" local exec --time-scale 120 -- "$driver" lifetimes
expect 0 "$dsql" local exec -- "$driver" tokens drop stall expired_once untrusted descriptors standard grows
for name in tokens drop stall expired_once untrusted descriptors standard grows; do contains "$out" "ok $name"; done
contains "$err" 'event=pool.denied'
contains "$err" 'class=tls'
contains "$err" 'class=resources'
contains "$err" 'event=pool.staggered'

# Refusals: few attempts, one line for many failures, and the line says what to do.
expect 0 "$dsql" local exec -- "$driver" storm denied wrong_clock
for name in storm denied wrong_clock; do contains "$out" "ok $name"; done
for text in 'class=throttled' 'class=denied' 'class=token_expired' "set this machine's clock" 'DSQL_CONNECTION_RATE_LIMIT'; do
    contains "$err" "$text"
done
grep -E 'attempts' <<<"$out"

# A server that is killed, and another on the same port with the same keys.
export AWS_ACCESS_KEY_ID=AKIALOCALRESTART AWS_SECRET_ACCESS_KEY=restart-secret
chmod 755 "$scratch"
is_serving() {
    kill -0 "$server" 2>/dev/null || return 0
    [ -s "$scratch/env" ]
}
serve() { # serve PORT: fails if another program has the port
    rm -f "$scratch/env"
    "$dsql" local --data "$scratch/data" --aws-keys --port "$1" --ready-file "$scratch/env" >/dev/null 2>"$scratch/local.err" &
    server=$!
    eventually is_serving || fail "the endpoint does not start"
    [ ! -s "$scratch/env" ] || return 0
    grep -q "can't listen" "$scratch/local.err" || fail "the endpoint ended: $(cat "$scratch/local.err")"
    return 1
}
end() { # end PID
    kill "$1" 2>/dev/null || true
    wait "$1" || true
}
says() { # says LINE, or has ended
    grep -qx "$1" "$scratch/restart" || ! kill -0 "$client" 2>/dev/null
}
wait_for() { # wait_for LINE
    eventually says "$1" || true
    grep -qx "$1" "$scratch/restart" || fail "never '$1': $(cat "$scratch/restart" "$scratch/restart.err")"
}
trap 'kill ${server:-} ${client:-} 2>/dev/null || true; wait; rm -rf "$scratch"' EXIT
# Nobody keeps the port free while no server has it: if another program takes it, all of it is done again.
for try in 1 2 3 4 5; do
    serve 0
    # shellcheck disable=SC1091
    . "$scratch/env"
    "$driver" restart >"$scratch/restart" 2>"$scratch/restart.err" &
    client=$!
    wait_for up
    end $server
    wait_for down
    ! serve "$PGPORT" || break
    echo "port $PGPORT was taken, try $try"
    end $client
done
wait_for 'up again'
wait "$client"
contains "$(cat "$scratch/restart.err")" 'event=pool.recovered'
end "$server"
server=

#!/bin/bash
# Tests wait for conditions, with patience, and the check finds those that do not.
# shellcheck disable=SC2016 # lines of other scripts
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
cd "$SOURCE_DIR"
tests/patience.py || fail "a test depends on the speed of the machine"

check() { # check LINE...
    printf '%s\n' '#!/bin/bash' "$@" >"$scratch/x.sh"
    said=$("$SOURCE_DIR/tests/patience.py" "$scratch/x.sh")
}
wrong() { # wrong WHAT LINE...
    ! check "${@:2}" || fail "a test may say ${*:2}"
    contains "$said" "x.sh:2: $1"
}
wrong 'gives up after 30 s' 'for _ in $(seq 300); do [ ! -s x ] || break; sleep 0.1; done'
wrong 'gives up after 59 s' 'for ((i = 0; i < 295; i++)); do' '    if seen; then break; fi' '    sleep 0.2' 'done'
wrong 'is ended after 30 s' 'expect 0 timeout 30 program'
wrong 'is ended after 59 s' 'timeout -s INT 59 program'
wrong 'has 40 s' '[ $SECONDS -lt 40 ] || fail late'
wrong 'has 10 s' 'process.wait(timeout=10)'
wrong 'sleeps: ' 'sleep 2'

right() { check "$@" || fail "a test may not say $*: $said"; }
right 'for _ in $(seq 600); do [ ! -s x ] || break; sleep 0.1; done'
right 'for i in $(seq 20); do make "$i"; done'
right 'until seen; do' '    sleep 0.1' 'done'
right 'sleep 2 # in which it would answer, if it did'
right 'timeout 900 program'
right '# timeout 5 program'

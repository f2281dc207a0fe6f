# What the scripts share that budget_leases.sh and budget_switches.sh run inside `dsql local exec`.
# shellcheck shell=bash disable=SC2154 # dsql is in the environment
set -euo pipefail
member= # the process id of the program under test
items() { python3 "$SOURCE_DIR/tests/integ/budget/lease_items.py" "$@"; }
fail() { echo "FAILED: $*" >&2; kill -9 "$member" 2>/dev/null; exit 1; }
seen() { "$dsql" local status | awk -v name="$1" -F'[ =:]+' '$1 == name {print $2}'; }
until_is() { # until_is WANTED COMMAND...
    local got=
    for _ in $(seq 6000); do
        got=$("${@:2}")
        [ "$got" != "$1" ] || return 0
        sleep 0.2
    done
    fail "'${*:2}' says $got, not $1"
}
start() { # start NAME=VALUE...: the program, with more settings
    env "$@" "$BUILD_DIR/tests/budget_member" >"$scratch/member" 2>"$scratch/member.err" &
    member=$!
}

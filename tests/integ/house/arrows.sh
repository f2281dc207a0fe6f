#!/bin/bash
# The include arrows hold, and the check finds a wrong one.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
"$SOURCE_DIR/scripts/arrows" || fail "a wrong include"

wrong() { # wrong FILE INCLUDE MESSAGE
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/$(dirname "$1")"
    printf '#include "dsql/err.h"\n  # include  "%s"\n' "$2" >"$scratch/tree/$1"
    status=0
    said=$("$SOURCE_DIR/scripts/arrows" "$scratch/tree") || status=$?
    [ $status != 0 ] || fail "$1 may include $2"
    contains "$said" "$1:2: $3"
}
wrong src/base/x.c config/config.h 'base may not see config'
wrong src/core/x.h metrics/metrics.h 'core may not see metrics'
wrong src/config/x.c metrics/metrics.h 'config may not see metrics'
wrong src/sim/x.c pool/pool.h 'sim may not see pool'
wrong src/local/x.c pool/pool.h 'local may not see pool'
wrong src/local/x.h budget/budget.h 'local may not see budget'
wrong src/local/x.c sim/sim.h 'local may not see sim'
wrong src/local/rules/x.c local/front/front.h 'local/rules may not see local/front'
wrong src/local/process/x.h local/fault/fault.h 'local/process may not see local/fault'
wrong src/net/x.c budget/budget.h 'net may not see budget'
wrong src/net/x.c local/front/front.h 'net may not see local'
wrong src/proxy/x.c local/front/front.h 'proxy may not see local'
wrong src/proxy/x.c tx/tx.h 'proxy may not see tx'
wrong src/pool/x.c cli/command.h 'pool may not see cli'
wrong src/misc/x.c base/defs.h 'the folder src/misc has no tier'

right() { # right FILE INCLUDE
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/$(dirname "$1")"
    printf '#include "%s"\n' "$2" >"$scratch/tree/$1"
    "$SOURCE_DIR/scripts/arrows" "$scratch/tree" || fail "$1 may not include $2"
}
right src/local/x.c pgwire/frame.h
right src/local/front/x.c local/rules/sql_stmt.h
right src/local/x.c aws/token.h
right src/local/x.c core/bucket.h
right src/local/x.c net/loop.h
right src/net/x.c pgwire/frame.h
right src/proxy/x.c net/loop.h
right src/proxy/x.c pool/pool.h
right src/sim/x.c core/bucket.h
right src/cli/x.c local/front/front.h

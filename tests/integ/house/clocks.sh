#!/bin/bash
# Time is passed in, and the check finds who asks the machine's clock or waits by it.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
"$SOURCE_DIR/scripts/clocks" || fail "somebody asks the machine's clock"

check() { # check FILE LINE
    rm -rf "$scratch/tree"
    mkdir -p "$scratch/tree/$(dirname "$1")"
    printf 'int x;\n%s\n' "$2" >"$scratch/tree/$1"
    said=$("$SOURCE_DIR/scripts/clocks" "$scratch/tree")
}
wrong() {
    ! check "$1" "$2" || fail "$1 may say $2"
    contains "$said" "$1:2:"
}
wrong src/pool/x.c '    now = dsql_clock_mono(&dsql_clock_system);'
wrong src/tx/x.c '    clock_gettime(CLOCK_MONOTONIC, &now);'
wrong src/temporal/x.h '    time_t now = time(NULL);'
wrong src/budget/x.c '    pthread_cond_timedwait(&cond, &lock, &until);'
wrong src/pool/x.c '    n = epoll_wait(fd, events, 8, wait_ms);'
wrong src/tx/x.c '    n = poll(fds, 2, 100);'
wrong src/aws/x.c '    nanosleep(&pause, NULL);'
wrong src/local/x.c '        usleep(10);'
wrong src/core/x.c '    sleep(1);'

right() { check "$1" "$2" || fail "$1 may not say $2"; }
right src/base/x.c '    clock_gettime(CLOCK_MONOTONIC, &now);'
right src/cli/x.c '    options.clock = &dsql_clock_system;'
right src/pool/x.c '    n = epoll_wait(fd, events, 8, 0);'
right src/tx/x.c '    n = dsql_clock_poll(clock, fds, 2, until);'
right src/tx/x.c '/* poll() would round. */'

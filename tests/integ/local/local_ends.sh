#!/bin/bash
# Whichever way `dsql local` ends a connection, its client reads to the end of it, and is not reset.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
start_local --port 0
in_env python3 "$SOURCE_DIR/tests/integ/local/local_ends.py" || fail "a connection is reset"
stop_local

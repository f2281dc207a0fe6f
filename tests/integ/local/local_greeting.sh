#!/bin/bash
# The greeting of `dsql local` reports the values in force for the session, as PostgreSQL's does.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
start_local --port 0
in_env python3 "$SOURCE_DIR/tests/integ/local/local_greeting.py" || fail "the greeting"
stop_local

#!/bin/bash
# Sequences that were written by hand, through the proxy with one server connection and straight to `dsql local`.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"

start_proxy --connections=1
expect 0 python3 "$SOURCE_DIR/tests/integ/proxy/proxy_cases.py"
contains "$out" ' 0 differ'
stop_proxy
stop_local

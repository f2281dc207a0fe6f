#!/bin/bash
# `dsql proxy` when the catalogue changes (OC001) under connections that clients with different settings share: nothing of a
# client's runs before its own settings are in place, and no client hears of it when they have to be put in place again.
# shellcheck disable=SC2034 # for proxy.bash
stale=100%
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"

start_proxy --connections=1 --retry-conflicts=2
expect 0 /usr/bin/python3 "$SOURCE_DIR/tests/integ/proxy/proxy_stale.py"
contains "$out" 'every statement ran once'
expect 1 grep -h 'proxy.lost' "$scratch/proxy.err"
stop_proxy
start_proxy --connections=1
expect 0 /usr/bin/python3 "$SOURCE_DIR/tests/integ/proxy/proxy_stale.py"
contains "$out" 'every statement ran once'
stop_proxy
stop_local

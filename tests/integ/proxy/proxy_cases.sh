#!/bin/bash
# Sequences that were written by hand, through the proxy with one server connection and straight to `dsql local`; and once
# more with a network in between that cuts what it carries where it likes.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"

cases() {
    start_proxy --connections=1
    expect 0 python3 "$SOURCE_DIR/tests/integ/proxy/proxy_cases.py"
    contains "$out" ' 0 differ'
    stop_proxy
}
cases

python3 "$SOURCE_DIR/tests/integ/proxy/chop.py" "$PGPORT" >"$scratch/chop" &
chop=$!
await [ -s "$scratch/chop" ]
DSQL_ENDPOINT=${DSQL_ENDPOINT%:*}:$(<"$scratch/chop")
export DSQL_ENDPOINT
cases
start_proxy --connections=1
long() { python3 -c "print('select repeat(md5(\'$1\'), 2000); select 1;' * 100)" | through env PGOPTIONS="-c timezone=$1" psql -XAtq | md5sum; }
long UTC >"$scratch/one" &
one=$!
long Asia/Tokyo >"$scratch/other"
wait "$one"
python3 -c "import hashlib
for name in 'UTC', 'Asia/Tokyo':
    print(hashlib.md5((hashlib.md5(name.encode()).hexdigest() * 2000 + '\n1\n').encode() * 100).hexdigest())" >"$scratch/right"
same "$(cut -d' ' -f1 "$scratch/one" "$scratch/other")" "$(cat "$scratch/right")"
stop_proxy
kill "$chop"
stop_local

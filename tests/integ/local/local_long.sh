#!/bin/bash
# Long query strings: a thread of their own reads them and the front judges them in portions. They are answered as short
# ones are, the known ones too; others are answered meanwhile; a client may go at any time.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
start_local --port 0
in_env python3 "$SOURCE_DIR/tests/integ/local/local_long.py" || fail "long texts"
expect 0 in_env psql -XAtc 'select 1'
# The endpoint ends while a text is read.
in_env python3 - <<'PY' &
import ctypes, ctypes.util
pq = ctypes.CDLL(ctypes.util.find_library("pq"))
pq.PQconnectdb.restype = ctypes.c_void_p
pq.PQexec.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
pq.PQexec(pq.PQconnectdb(b""), b"select 1 where 1 in (" + b",".join(b"%d" % i for i in range(300000)) + b")")
PY
client=$!
stop_local
wait $client || true

#!/bin/bash
# How long a client of `dsql local` waits for another's long statement: pgbench asks `select 1` again and again with one
# client, alone (quiet) and while another client sends a long text. All in one run: on a busy machine the worst of the quiet
# row is the machine's own.       local_wait.sh BUILD_DIR [SECONDS]
set -euo pipefail
dsql=$1/dsql
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/texts"
python3 - "$scratch/texts" <<'PY'
import sys
texts = {
    "insert_3mb": "insert into s values " + ",".join(f"({i}, '{'x' * 1000}')" for i in range(2900)),
    "in_list_3mb": "select count(*) from s where id in (" + ",".join(str(i) for i in range(430000)) + ")",
    "selects_1mb": "select 1;" * 116000,
    "inserts_1mb": "".join(f"insert into s values ({i}, 'a row');" for i in range(10000, 12900)) + "select 1;" * 100000,
}
for name, text in texts.items():
    open(f"{sys.argv[1]}/{name}", "w").write(text)
PY
cat >"$scratch/run.sh" <<'SH'
set -euo pipefail
cd "$1"
seconds=$2
echo 'select 1' >one.sql
psql -qc 'create table s (id int primary key, t text)'
printf '%-12s %10s %10s %10s\n' '' 'asked' 'p99.9 ms' 'worst ms'
for text in quiet texts/*; do
    rm -f log.*
    pgbench -n -f one.sql -c 1 -T "$seconds" -l --log-prefix=log >pgbench.out 2>&1 &
    bench=$!
    sent=0
    if [ "$text" != quiet ]; then
        # Through libpq's own call: psql would send statement by statement.
        python3 send.py "$text" $bench >sent.out
        sent=$(cat sent.out)
    fi
    wait $bench
    cat log.* | awk '{print $3}' | sort -n >latencies
    awk -v name="$(basename "$text")" -v sent="$sent" '{ms[NR] = $1 / 1000}
        END {printf "%-12s %10d %10.1f %10.1f   (sent %d times)\n", name, NR, ms[int(NR * 0.999)], ms[NR], sent}' latencies
done
SH
cat >"$scratch/send.py" <<'PY'
# Sends a text as one Query, again and again while pgbench runs.
import ctypes
import ctypes.util
import os
import sys

pq = ctypes.CDLL(ctypes.util.find_library("pq"))
for name in ("PQconnectdb", "PQexec"):
    getattr(pq, name).restype = ctypes.c_void_p
pq.PQexec.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
pq.PQclear.argtypes = [ctypes.c_void_p]
conn = pq.PQconnectdb(b"")
text = open(sys.argv[1], "rb").read()
count = 0
while os.path.exists(f"/proc/{sys.argv[2]}") and open(f"/proc/{sys.argv[2]}/stat").read().split()[2] != "Z":
    # A text that was read once is known: each one is another.
    writes = text.startswith(b"insert")
    pq.PQclear(pq.PQexec(conn, b"begin" if writes else b""))
    pq.PQclear(pq.PQexec(conn, b"/* %d */" % count + text))
    pq.PQclear(pq.PQexec(conn, b"rollback" if writes else b""))
    count += 1
print(count)
PY
"$dsql" local exec -- bash "$scratch/run.sh" "$scratch" "${2:-3}"

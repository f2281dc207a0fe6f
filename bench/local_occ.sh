#!/bin/bash
# What conflicts at COMMIT cost. The same updates through the same front, to a table of ours and to one of
# PostgreSQL's own heap, in turns in one run; the best of the rounds counts. Then 16 clients on one row:
# each statement has fifteen others in its way.       local_occ.sh BUILD_DIR [SECONDS]
# shellcheck disable=SC2016 # programs for another shell stand in single quotes
set -euo pipefail
build=$1
seconds=${2:-3}
rounds=3
scratch=$(mktemp -d)
chmod 755 "$scratch" # PostgreSQL's own user must be able to get there
pid=''
trap '[ -z "$pid" ] || kill "$pid"; wait; rm -rf "$scratch"' EXIT

start() {
    rm -f "$scratch/ready"
    "$build/dsql" local --port 0 --data "$scratch/data" --ready-file "$scratch/ready" >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    until [ -e "$scratch/ready" ]; do
        kill -0 $pid 2>/dev/null || { cat "$scratch/err" >&2; exit 1; }
        sleep 0.1
    done
}
in_env() { bash -c 'source "$0"; "$@"' "$scratch/ready" "$@"; }
# No client makes a table of the heap: that takes PostgreSQL's single-user mode, with the arguments it ran with.
single() {
    local args as=() postmaster program uid
    postmaster=$(head -1 "$scratch/data/pg/postmaster.pid")
    mapfile -d '' -t args <"/proc/$postmaster/cmdline"
    program=$(readlink "/proc/$postmaster/exe")
    uid=$(stat -c %u "/proc/$postmaster")
    kill $pid
    wait $pid
    [ "$(id -u)" != 0 ] || as=(setpriv --reuid "$uid" --clear-groups)
    "${as[@]}" "$program" --single "${args[@]:1}" postgres >"$scratch/single" 2>&1
    start
}

start
in_env psql -qXc 'create table ours (id int primary key, n int)'
for i in $(seq 0 19); do
    echo "insert into ours select i, 0 from generate_series($((i * 2000 + 1)), $((i * 2000 + 2000))) i;"
done | in_env psql -qX
single <<'SQL'
create table heap (id int primary key, n int) using heap
insert into heap select * from ours
grant all on heap to admin
vacuum analyze
SQL

declare -A best
for _ in $(seq $rounds); do
    for table in ours heap; do
        for kind in select update; do
            {
                echo '\set id random(1, 40000)'
                case $kind in
                    select) echo "select n from $table where id = :id;" ;;
                    update) echo "update $table set n = n + 1 where id = :id;" ;;
                esac
            } >"$scratch/$kind.sql"
            tps=$(in_env pgbench -n -M prepared -f "$scratch/$kind.sql" -c 8 -j 2 -T "$seconds" --max-tries 10 |
                sed -n 's/^tps = \([0-9]*\).*/\1/p')
            [ "$tps" -le "${best[$kind.$table]:-0}" ] || best[$kind.$table]=$tps
        done
    done
done
echo "conflicts at COMMIT: pgbench -M prepared, 8 clients on 40,000 rows, best of $rounds rounds of ${seconds} s"
printf '%-10s %14s %14s %8s\n' '' 'ours tps' 'heap tps' ratio
for kind in select update; do
    printf '%-10s %14s %14s %7sx\n' $kind "${best[$kind.ours]}" "${best[$kind.heap]}" \
        "$(awk "BEGIN {printf \"%.2f\", ${best[$kind.ours]} / ${best[$kind.heap]}}")"
done
# In a folder made for the run, as the tests do: nothing waits for the disk.
"$build/dsql" local exec -- bash -c '"$0" make; "$0" hot 16 "$1"; "$0" hot 1 "$1"; "$0" way 15 "$1"' "$build/tests/occ_storm" "$seconds"

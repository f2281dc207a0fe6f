#!/bin/bash
# What Temporal allows, on this store: payloads of up to 2 MB wherever one can be, thousands of things in one workflow
# task, thousands of signals, a history of 50 MB, the end of such workflows, and what is refused. Shards keep their
# owners meanwhile. Then all runs are terminated and deleted: nothing is left of them. ROUNDS (plain) of: plain; conflicts,
# 40001 at 5 % of commits; closes, connections closed at 4 % of commits, half of them after the commit was applied.
# CASES (all) is a regular expression of the names, MANY (2000) how many things, SIGNALS (10000) how many signals, LIMIT
# (15m) the time for each case. With STOCK=yes the same on Temporal's own postgres12_pgx, beside it. Prints a table, with
# --json its rows.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/stock.bash
. "$(dirname "$0")/stock.bash"
rounds_wanted=${ROUNDS:-plain} failed=() lossy=""
# A run's retention ends soon, and the queues delete soon what they have done: the tables are empty within minutes.
settings=(system.namespaceMinRetentionLocal=1s history.retentionTimerJitterDuration=1s
    history.{transfer,timer,visibility,outbound,archival}ProcessorUpdateAckInterval=5s)

# What the server has for itself, and keeps. Every other table is about runs. Of tasks, matching keeps what it handed out
# since it last deleted some, until there are new ones, on every store; temporal-large waits until all are handed out.
declare -A kept=(
    [cluster_membership]='processes' [cluster_metadata_info]='the cluster' [namespaces]='namespaces'
    [namespace_metadata]='their version' [nexus_endpoints_partition_status]='the version of Nexus endpoints'
    [queue_metadata]='queues of the cluster' [queues]='queues of the cluster' [schema_update_history]='the schema'
    [schema_version]='the schema' [shards]='shards' [task_queue_user_data]='task queues' [task_queues]='task queues'
    [task_queues_v2]='task queues' [tasks]='handed out' [tasks_v2]='handed out'
    [visibility_schema_history]='the schema' [visibility_schema_version]='the schema'
)
# Rows of a table that do not count: visibility keeps a mark of each deleted run for a day.
declare -A counted=([executions_visibility]='where deleted_until is null')

cases() { # cases NAME ADDRESS OPTIONS...: one JSON object for each case in $scratch/NAME.cases
    local name=$1 address=$2 status=0
    shift 2
    "$root/build/temporal/temporal-large" --address "$address" --prefix "$name" --retention 2m --cases "${CASES:-.}" \
        --many "${MANY:-2000}" --signals "${SIGNALS:-10000}" --limit "${LIMIT:-15m}" --delete --json "$@" \
        2>"$scratch/$name.said" | tee "$scratch/$name.cases" | progress "$name" || status=1
    [ $status = 0 ] || failed+=("$name: $(tail -3 "$scratch/$name.said")")
}
progress() { # what the cases say, to standard error while they run
    python3 -c '
import json, sys
for line in sys.stdin:
    o = json.loads(line)
    print("%s %s: %s (%.1f s): %s" % (" " if o["passed"] else "!", sys.argv[1], o["case"], o["seconds"], o["ended"]), file=sys.stderr)' "$1"
}

fault() { "$dsql" local fault --data "$scratch/data" "$@"; }
sum_of_ranges() { ask 'select sum(range_id) from shards'; }
struck() { fault list | sed -n "s/^close-.* struck=\([0-9]*\).*/\1/p" | awk '{n += $1} END {print n + 0}'; }

# Shards keep their owners. Where commits are lost, the server may take a shard again once for each.
unknown() { cat "$scratch"/a.*.log | grep -c 'shard status unknown' || true; } # a shard that is acquired says it, too
plain() {
    local before unknown
    before=$(ranges) unknown=$(unknown)
    cases plain "$address_a"
    [ "$before" = "$(ranges)" ] || failed+=("shards were acquired anew: before $(echo "$before" | xargs), afterwards $(ranges | xargs)")
    unknown=$(($(unknown) - unknown))
    [ $unknown = 0 ] || failed+=("$unknown times 'shard status unknown'")
}
conflicts() {
    local before
    before=$(ranges)
    fault conflict-commit=5% seed=1 >/dev/null
    cases conflicts "$address_a"
    fault clear >/dev/null
    [ "$before" = "$(ranges)" ] || failed+=("shards were acquired anew by conflicts: before $(echo "$before" | xargs), afterwards $(ranges | xargs)")
}
closes() {
    local before after lost
    before=$(sum_of_ranges) lost=$(struck) lossy=yes
    fault close-commit=2% close-applied=2% seed=2 >/dev/null
    cases closes "$address_a" --task 15s --lossy
    lost=$(($(struck) - lost))
    fault clear >/dev/null
    after=$(sum_of_ranges)
    echo "closes: connections closed at $lost commits, shards acquired anew $((after - before)) times"
    [ "$lost" -gt 0 ] || failed+=("no connection was closed at COMMIT")
    [ $((after - before)) -le "$lost" ] || failed+=("shards were acquired anew $((after - before)) times, for $lost lost commits")
}

# Tables with rows of runs, and how many.
left() {
    local table query=''
    while read -r table; do
        [ -n "${kept[$table]:-}" ] ||
            query+="${query:+ union all }select '$table' as name, count(*) as n from $table ${counted[$table]:-}"
    done < <(ask "select tablename from pg_tables where schemaname = 'public'")
    ask "select name || ': ' || n from ($query) as t where n > 0"
}
# settled: waits until the tables are empty, or nothing has changed in ten minutes' worth of looks; tables with rows in $rest.
settled() {
    local before='' same=0
    while [ $same -lt 600 ]; do
        rest=$(left)
        [ -n "$rest" ] || break
        if [ "$rest" = "$before" ]; then same=$((same + 1)); else same=0 before=$rest; fi
        [ -z "${lossy:-}" ] || [ $same -lt 60 ] || ! only_history "$rest" || break
        sleep 1
    done
}
only_history() { ! echo "$1" | grep -qv '^history_'; }
trees() { ask 'select tree_id, branch_id from history_tree order by 1, 2'; }

# forks: where commits are lost, so is now and then that of a reset. The history of the new run, which is made before, is
# left then, on every store, until Temporal's scanner finds that no run has it. The scanner runs in the worker service,
# whose own workflows are in the tables afterwards.
forks() {
    local before gone
    before=$(trees)
    start_server scan --port 0 --dynamic-config-value=worker.historyScannerDataMinAge=1ms
    # shellcheck disable=SC2154 # set by start_server
    "$root/build/temporal/temporal-large" --address "$address_scan" --scan 2>"$scratch/scan.said" || failed+=("$(cat "$scratch/scan.said")")
    # shellcheck disable=SC2154 # set by start_server
    kill_server "$pid_scan" TERM
    gone=$(comm -23 <(echo "$before") <(trees) | grep -c . || true)
    echo "branches that resets left whose commits were lost: $(echo "$before" | grep -c .), deleted by Temporal's scanner: $gone"
    [ "$gone" = "$(echo "$before" | grep -c .)" ] || failed+=("Temporal's scanner left branches that no run has: $before")
}

empty() {
    local rest=''
    settled
    kill_server "$pid_a" TERM
    if [ -n "$rest" ] && [ -n "${lossy:-}" ] && only_history "$rest"; then forks
    elif [ -n "$rest" ]; then failed+=("after all runs were deleted, tables have rows: $(echo "$rest" | xargs)"); fi
    "$dsql" schema verify --deep >"$scratch/deep" 2>&1 || failed+=("$(cat "$scratch/deep")")
}

start_cluster --port 0
start_server a --port 0 --services frontend,history,matching "${settings[@]/#/--dynamic-config-value=}"
owned 4
for round in $rounds_wanted; do "$round"; done
empty
if [ "${STOCK:-}" = yes ]; then
    start_stock_postgres
    make_stock_database
    stock_config '' >"$scratch/stock.yaml"
    start_server stock --config "$scratch/stock.yaml" --services frontend,history,matching "${settings[@]/#/--dynamic-config-value=}"
    # shellcheck disable=SC2154 # set by start_server
    cases stock "$address_stock" --stock
    # shellcheck disable=SC2154 # set by start_server
    kill_server "$pid_stock" TERM
fi

columns=()
for name in $rounds_wanted ${STOCK:+stock}; do columns+=("$scratch/$name.cases"); done
python3 - "${1:-}" "${columns[@]}" <<'PYTHON'
import json, os, sys
titles = {"plain": "this store", "conflicts": "40001 at 5 %", "closes": "closed at 4 %", "stock": "postgres12_pgx"}
columns = [titles[os.path.basename(f)[:-len(".cases")]] for f in sys.argv[2:]]
rows = {}
for column, file in zip(columns, sys.argv[2:]):
    for line in open(file):
        of = json.loads(line)
        rows.setdefault(of.pop("case"), {})[column] = of
if sys.argv[1] == "--json":
    print(json.dumps(rows, indent=1))
else:
    def cell(of):
        if of is None:
            return ""
        alone = " (no answer longer than %.2f s)" % of["refusal"] if "refusal" in of else ""
        return "%s, %.1f s%s" % (of["ended"] if of["passed"] else "FAILED: " + of["ended"], of["seconds"], alone)
    table = [["case"] + columns] + [[case] + [cell(of.get(c)) for c in columns] for case, of in rows.items()]
    width = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        print(" | ".join(text.ljust(w) for text, w in zip(row, width)).rstrip())
PYTHON
[ ${#failed[@]} = 0 ] || fail "$(printf '%s\n' "${failed[@]}")"

#!/bin/bash
# Visibility written to two stores at once, as when it is moved: on the cluster first and on Temporal's own SQL store
# (postgres12_pgx) second, then the other way round. Workflows run, change their search attributes and are deleted while
# commits on the cluster fail and the server is killed; both stores have the same runs at the end, and reads can be
# turned to the second one. COUNT workflows (21, of which seven are deleted) in each direction. With OPENSEARCH=HOST:PORT,
# of a domain without TLS and without anything in it, that one takes the place of the SQL store.
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/stock.bash
. "$(dirname "$0")/stock.bash"
# shellcheck source=integrations/temporal/test/seen.bash
. "$(dirname "$0")/seen.bash"
count=${COUNT:-21}
check_options=(--attributes)
start_cluster --port 0
index=temporal_visibility_v1
search() { # search METHOD PATH [DATA]: of OpenSearch
    curl -sS --noproxy '*' --max-time 60 --fail-with-body -X "$1" -H 'Content-Type: application/json' "http://$OPENSEARCH/$2" "${@:3}"
}
make_index() {
    local fields kind n
    search PUT $index >/dev/null
    # The names that attributes have on the cluster: the template has none of them.
    fields=''
    for kind in Keyword:keyword KeywordList:keyword Int:long Text:text; do
        for n in 01 02 03 04 05 06 07 08 09 10; do fields+=",\"${kind%:*}$n\":{\"type\":\"${kind#*:}\"}"; done
    done
    search PUT $index/_mapping -d "{\"properties\":{${fields#,}}}" >/dev/null
}
if [ -n "${OPENSEARCH:-}" ]; then
    templates=${stock_schema%/postgresql/*}/elasticsearch/visibility
    search PUT _cluster/settings -d "@$templates/cluster_settings_v7.json" >/dev/null
    search PUT _template/temporal_visibility_v1_template -d "@$(find "$templates/versioned" -name index_template_v7.json | sort -V | tail -1)" >/dev/null
    make_index
else
    start_stock_postgres
    make_stock_visibility
fi

# dual_config FIRST SECOND: the embedded configuration with both stores of visibility.
dual_config() {
    PYTHONPATH=$root/integrations/temporal/test python3 - "$root/integrations/temporal/temporal-dsql-server/embedded.yaml" "$scratch/stock" "$1" "$2" "${OPENSEARCH:-}" <<'PYTHON'
import embedded, re, sys
text = embedded.read(sys.argv[1])
text = re.sub(r"\{\{- if \.Visibility\}\}.*?\{\{- else\}\}\n(.*?)\{\{- end\}\}\n", r"\1", text, flags=re.S)
text = text.replace("  visibilityStore: visibility\n", "  visibilityStore: %s\n  secondaryVisibilityStore: %s\n" % tuple(sys.argv[3:5]))
stock = """      elasticsearch:
        version: v7
        url: {scheme: http, host: "%s"}
        indices: {visibility: temporal_visibility_v1}
""" % sys.argv[5] if sys.argv[5] else """      sql:
        pluginName: postgres12_pgx
        databaseName: visibility
        connectAddr: 127.0.0.1:5432
        connectProtocol: tcp
        connectAttributes: {host: "%s"}
        user: stock
        maxConns: 20
        maxIdleConns: 20
""" % sys.argv[2]
text = text.replace("    visibility:\n", "    stock:\n" + stock + "    visibility:\n", 1)
assert "{{" not in text, text
print(text)
PYTHON
}

fault() { "$dsql" local fault --data "$scratch/data" "$@" >/dev/null; }
writing() { # writing FIRST SECOND [VALUE...]: a server that writes both, and its options for when it is killed
    dual_config "$1" "$2" >"$scratch/dual.yaml"
    options=(--config "$scratch/dual.yaml" --dynamic-config-value 'system.secondaryVisibilityWritingMode="dual"')
    for value in "${@:3}"; do options+=(--dynamic-config-value "$value"); done
    start_server a "${options[@]}"
}
options=()
restart() {
    reached 1 2 || return 0
    kill_server "$pid_a" KILL
    start_server a "${options[@]}"
}

# Both stores in the same words: run, workflow, status, length, start, and the values of the workflows' own attributes.
words='
import datetime, json, sys
statuses = {1: "Running", 2: "Completed", 3: "Failed", 4: "Canceled", 5: "Terminated", 6: "ContinuedAsNew", 7: "TimedOut"}
def say(run, workflow, status, length, start, attributes):
    own = sorted(json.dumps(v) for k, v in attributes.items() if k.rstrip("0123456789") in ("Keyword", "Int", "KeywordList", "Text") or k.startswith("Check"))
    print(run, workflow, statuses.get(status, status), length, start, *own)
'
on_tables() { # of a SELECT of these columns, as JSON arrays
    python3 -c "$words
for line in sys.stdin:
    run, workflow, status, length, start, attributes = json.loads(line)
    say(run.strip(), workflow, status, length, start, attributes or {})" | sort
}
on_cluster() {
    ask "select jsonb_build_array(v.run_id, v.workflow_id, v.status, coalesce(v.history_length, 0), -v.start_inv, v.search_attributes) $seen" | on_tables
}
on_stock() {
    local namespace
    namespace=$(ask "select id::text from namespaces where name = 'default'")
    if [ -z "${OPENSEARCH:-}" ]; then
        database=visibility stock -c "select jsonb_build_array(run_id, workflow_id, status, coalesce(history_length, 0),
            (extract(epoch from start_time) * 1000000)::bigint, search_attributes) from executions_visibility where namespace_id = '$namespace'" | on_tables
        return
    fi
    search POST $index/_refresh >/dev/null
    search POST $index/_search -d '{"size": 10000, "query": {"term": {"NamespaceId": "'"$namespace"'"}}}' | python3 -c "$words
for hit in json.load(sys.stdin)['hits']['hits']:
    of = hit['_source']
    start, _, fraction = of['StartTime'].rstrip('Z').partition('.')
    seconds = int(datetime.datetime.fromisoformat(start + '+00:00').timestamp())
    say(of['RunId'], of['WorkflowId'], of['ExecutionStatus'], of.get('HistoryLength', 0), seconds * 1000000 + int(fraction.ljust(6, '0')[:6] or 0), of)" | sort
}
same() {
    local difference=''
    for _ in $(seq "$patience"); do
        difference=$(diff <(on_cluster) <(on_stock)) || true
        [ -n "$difference" ] || break
        sleep 1
    done
    [ -z "$difference" ] || fail "the stores differ: $(head -c 2000 <<<"$difference")"
    echo "$1: both stores have the same $(on_stock | wc -l) runs"
}

for order in 'visibility stock' 'stock visibility'; do
    read -r first second <<<"$order"
    writing "$first" "$second"
    fault conflict-commit=5% close-commit=2% close-applied=2% seed=5
    workflows "first $first, second $second" "$count" restart
    fault clear
    same "first $first, second $second"
    "$check" --delete --address "$address_a" --prefix "$prefix" --count 7 --limit 600s >"$scratch/deleted" 2>&1 || fail "$(tail -3 "$scratch/deleted")"
    same "after seven were deleted"
    kill_server "$pid_a" TERM
done
# Reads turn to the second store, which alone still has what is taken from the first one here.
if [ -n "${OPENSEARCH:-}" ]; then
    search DELETE $index >/dev/null
    make_index
else
    database=visibility stock -c 'delete from executions_visibility'
fi
writing stock visibility system.enableReadFromSecondaryVisibility=true
compare_visibility
kill_server "$pid_a" TERM
agreed=$("$dsql" visibility repair) || fail "visibility: $agreed"
echo "dual: $agreed"

#!/bin/bash
# shellcheck disable=SC2154 # set by lib.bash
# Visibility held against the executions themselves, in other ways than `dsql visibility check` goes: the store's tables by
# SQL, and what the server answers. After lib.bash, with server a up and all workflows of 'default' over, which were run
# with --attributes.

patience=300
default="namespace_id = (select id from namespaces where name = 'default')"
default_text="namespace_id = (select id::text from namespaces where name = 'default')"
seen="from executions_visibility v where v.$default_text and v.deleted_until is null"

none_of() { # none_of WHAT SQL: a number that must be 0. Visibility follows behind, by at most $patience seconds.
    local found
    for _ in $(seq "$patience"); do
        found=$(ask "$2")
        [ "$found" != 0 ] || return 0
        sleep 1
    done
    fail "$1: $found"
}

# counts_of_server: what it says by status, as "Completed 12 ContinuedAsNew 3", from the counters.
counts_of_server() {
    local http
    http=$(cat "$scratch"/a.*.log | sed -n 's/^Temporal is at .*, HTTP at //p' | tail -1)
    curl -sS --max-time 60 -G --data-urlencode 'query=GROUP BY ExecutionStatus' "http://$http/api/v1/namespaces/default/workflow-count" |
        python3 -c '
import base64, json, sys
said = json.load(sys.stdin)
groups = {g["groupValues"][0]["data"]: int(g["count"]) for g in said.get("groups", [])}
names = {n if n.isalpha() else json.loads(base64.b64decode(n)): c for n, c in groups.items()}
assert sum(names.values()) == int(said.get("count", 0)), said
print(" ".join(f"{n} {c}" for n, c in sorted(names.items()) if c))'
}

# compare_visibility: rows, postings and counters agree with the executions. Every current run has completed, every other
# one has continued as new.
compare_visibility() {
    local wanted said
    none_of 'runs that the store has and visibility has not' "select count(*) from executions e where e.$default
        and not exists (select 1 $seen and v.run_id = e.run_id::text)"
    none_of 'runs that visibility has and the store has not' "select count(*) $seen
        and not exists (select 1 from executions e where e.$default and e.run_id::text = v.run_id)"
    none_of 'runs with another status' "select count(*) $seen and v.status is distinct from coalesce(
        (select c.status from current_executions c where c.$default and c.run_id::text = v.run_id), 6)"
    none_of 'postings of runs that are not there' "select count(*) from visibility_postings p where not exists (select 1
        from executions_visibility v where v.namespace_id = p.namespace_id and v.run_id = p.run_id and v.deleted_until is null
            and v.close_inv = p.close_inv and v.start_inv = p.start_inv)"
    # A posting of a word that the run no longer has, and values without one: lists have two here, texts two words.
    none_of 'postings of values that the run has not' "select count(*) $seen and exists (select 1 from visibility_postings p
        where p.namespace_id = v.namespace_id and p.run_id = v.run_id and p.value in ('started', 'begun', 'done')
            and position(p.value in v.search_attributes::text) = 0)"
    none_of 'runs that lack postings' "select count(*) $seen and position('checked' in v.search_attributes::text) > 0
        and (select count(*) from visibility_postings p where p.namespace_id = v.namespace_id and p.run_id = v.run_id
            and p.attribute ~ '^(Keyword|Int|KeywordList|Text)[0-9]+$') <> 6"
    wanted=$(ask "select 'Completed ' || current || case when others > 0 then ' ContinuedAsNew ' || others else '' end
        from (select count(*) as current, (select count(*) from executions e where e.$default) - count(*) as others
            from current_executions c where c.$default) as n")
    said=$(counts_of_server)
    [ "$said" = "$wanted" ] || fail "the server counts $said; there are $wanted"
    echo "visibility has the runs of the store and no other, with their status and their postings, and counts $said"
}

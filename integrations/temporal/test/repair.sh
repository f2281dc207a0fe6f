#!/bin/bash
# Postings and counters that are damaged while a server runs are seen, by `dsql visibility check` and by a comparison with
# the executions that knows nothing of it, and `dsql visibility repair` mends them. Rows that were lost or changed are seen
# by the comparison. COUNT workflows (7).
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
# shellcheck source=integrations/temporal/test/seen.bash
. "$(dirname "$0")/seen.bash"
check_options=(--attributes)
start_cluster --port 0
start_server a --port 0
workflows 'nothing fails' "${COUNT:-7}" true
compare_visibility

run="(select min(v.run_id) $seen and position('checked' in v.search_attributes::text) > 0)"
damaged() { # damaged WHAT TEXT SQL: afterwards the comparison says TEXT
    ask "$3" >/dev/null
    if (patience=1 compare_visibility) >"$scratch/compared" 2>&1; then fail "$1: the comparison finds nothing"; fi
    grep -q "$2" "$scratch/compared" || fail "$1: the comparison finds $(cat "$scratch/compared")"
}
mended() { # mended WHAT
    expect 1 "$dsql" visibility check
    expect 0 "$dsql" visibility repair
    expect 0 "$dsql" visibility check
    compare_visibility >/dev/null
    echo "repair: $1: seen and mended"
}

damaged 'a lost posting' 'runs that lack postings' "delete from visibility_postings where run_id = $run and value = 'checked'"
mended 'a lost posting'
damaged 'a posting of an older value' 'values that the run has not' "insert into visibility_postings
    select namespace_id, run_id, attribute, 'begun', bucket, close_inv, start_inv from visibility_postings where run_id = $run and value = 'checked'"
mended 'a posting of an older value'
damaged 'a posting without a run' 'runs that are not there' "insert into visibility_postings
    select namespace_id, 'none', attribute, value, bucket, close_inv, start_inv from visibility_postings where run_id = $run and value = 'checked'"
mended 'a posting without a run'
damaged 'a counter that was added twice' 'the server counts' "insert into visibility_counts
    select namespace_id, division, status, count_keyword, gen_random_uuid(), 1 from visibility_counts
    where $default_text and status = 2 limit 1"
mended 'a counter that was added twice'
damaged 'lost counters' 'the server counts' "delete from visibility_counts where $default_text and status = 2"
mended 'lost counters'
damaged 'another status' 'another status' "update executions_visibility set status = 1 where run_id = $run"
ask "update executions_visibility set status = 2 where run_id = $run"
compare_visibility >/dev/null
damaged 'a lost row' 'visibility has not' "delete from executions_visibility where run_id = $run"
kill_server "$pid_a" TERM
echo 'repair: what was damaged is seen, and mended where the rows say how'

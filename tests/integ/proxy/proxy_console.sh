#!/bin/bash
# The virtual database of `dsql proxy`: SHOW with PgBouncer's columns, PAUSE, RESUME, RELOAD; and its own metrics.
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
# shellcheck source=tests/integ/proxy/proxy.bash
. "$SOURCE_DIR/tests/integ/proxy/proxy.bash"
start_proxy --user=admin --connections=2 --address=127.0.0.1:0
console() { through psql -X -A -F ' ' "$@" dsql; }
header() { console -c "$1" | head -1; }

same "$(header 'SHOW POOLS;')" 'database user cl_active cl_waiting cl_active_cancel_req cl_waiting_cancel_req sv_active sv_active_cancel sv_being_canceled sv_idle sv_used sv_tested sv_login maxwait maxwait_us pool_mode'
same "$(header 'show stats')" 'database total_xact_count total_query_count total_received total_sent total_xact_time total_query_time total_wait_time avg_xact_count avg_query_count avg_recv avg_sent avg_xact_time avg_query_time avg_wait_time'
# pgbouncer_exporter asks for this one, too.
same "$(header 'show stats_totals')" 'database xact_count query_count bytes_received bytes_sent xact_time query_time wait_time'
same "$(header 'show stats_averages')" 'database xact_count query_count bytes_received bytes_sent xact_time query_time wait_time'
same "$(header 'show databases')" 'name host port database force_user pool_size min_pool_size reserve_pool pool_mode max_connections current_connections paused disabled'
same "$(header 'show lists')" 'list items'
same "$(header 'show config')" 'key value default changeable'
same "$(header 'show users')" 'name pool_mode'
contains "$(console -c 'show version')" 'dsql proxy'
contains "$(console -c 'show help')" 'SHOW POOLS'
contains "$(console -t -c 'show clients')" 'C admin dsql active 127.0.0.1'
expect 0 console -c ';' # what lib/pq sends to see whether it is alive
expect 1 console -c 'show nonsense'
contains "$err" 'there is no such SHOW'
expect 1 console -c 'select 1'
contains "$err" 'no such command'
# By PgBouncer's name too, as its exporters connect.
contains "$(through psql -X -A -t -c 'show lists' pgbouncer)" 'used_clients|1'

# What is lent is shown, with its client.
coproc session { through psql -X -A -t -q 2>&1; }
exec {to_session}>&"${session[1]}" {from_session}<&"${session[0]}"
say() { printf '%s\n' "$1" >&"$to_session"; }
hear() { IFS= read -r -t 600 line <&"$from_session" || fail 'psql says nothing'; contains "$line" "$1"; }
say 'begin; select 41 + 1;'
hear 42
contains "$(console -t -c 'show servers')" 'S admin postgres active'
same "$(console -t -c 'show pools' | cut -d ' ' -f 7)" 1

# PAUSE is answered when nothing is lent any more; who wants a connection waits for RESUME.
console -c pause >"$scratch/pause" 2>&1 &
pause=$!
paused() { [ "$(console -t -c 'show databases' | cut -d ' ' -f 12)" = "$1" ]; }
await paused 1
kill -0 "$pause" || fail 'PAUSE was answered while a transaction was open'
# When its client came and when its transaction began; what is prepared.
moment='[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} UTC'
console -t -F, -c 'show servers' | grep -qE "^S,.*,$moment,$moment,0,0,0,.*,0$" || fail "$(console -c 'show servers')"
console -t -F, -c 'show clients' | grep -qE "^C,admin,postgres,active,.*,$moment,$moment,0,0,0,.*,psql,0$" || fail "$(console -c 'show clients')"
console -t -F, -c 'show clients' | grep -qE "^C,admin,dsql,active,.*,$moment,,0,0,0," || fail "$(console -c 'show clients')"
say 'commit; select 43;'
wait "$pause" || fail "PAUSE: $(cat "$scratch/pause")"
contains "$(cat "$scratch/pause")" PAUSE
waiting() { [ "$(console -t -c 'show pools' | cut -d ' ' -f 4)" = "$1" ]; }
await waiting 1
contains "$(console -c resume)" RESUME
hear 43
contains "$(console -c reload)" RELOAD
# Transactions take longer than their queries.
measured() {
    local stats
    IFS=, read -r -a stats < <(console -t -F, -c 'show stats')
    [ "${stats[6]}" -gt 0 ] && [ "${stats[5]}" -ge "${stats[6]}" ]
}
await measured

# Its own figures, and whether it is ready.
url=$(sed -n 's/^metrics: \(.*\)metrics$/\1/p' "$scratch/proxy.out")
figures() { curl -sf "${url}metrics" >"$scratch/metrics" && grep -q '^dsql_proxy_transactions_total{.*} [1-9]' "$scratch/metrics"; }
await figures
for name in clients statements_total received_bytes_total sent_bytes_total accepted_total; do
    grep -q "^dsql_proxy_$name{.*} [1-9]" "$scratch/metrics" || fail "no $name: $(grep proxy "$scratch/metrics")"
done
contains "$(curl -s "${url}readyz")" ready
exec {to_session}>&-
stop_proxy
stop_local

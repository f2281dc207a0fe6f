#!/bin/bash
# What an operator sees of the server: a real Prometheus scrapes it while 5 % of its commits meet a conflict, while
# another owner takes its shards, and while nothing can be committed at all. Every persistence operation is there
# under Temporal's name; the alerts fire, in Prometheus's own rule tester, from the series that were recorded, and
# those of the quiet time before fire none; every panel of the dashboard that is about such a server has data.
# COUNT workflows (35). With PICTURE=FILE.png what the panels showed is drawn (Chromium).
# shellcheck source=integrations/temporal/test/lib.bash
. "$(dirname "$0")/lib.bash"
here=$root/integrations/temporal/test
target=127.$((RANDOM % 200 + 20)).$((RANDOM % 250 + 1)).$((RANDOM % 250 + 1)):9464 # so that its port is free
export DSQL_METRICS_ADDRESS=$target DSQL_POOL_MAX_OPEN=20 DSQL_ALERT_THRESHOLD_CONFLICTS_PER_MINUTE=1
fault() { "$dsql" local fault --data "$scratch/data" "$@" >/dev/null; }
scrape() { curl -sS --noproxy '*' --max-time 60 "http://$target/metrics"; }
look() { python3 "$here/metrics.py" "$@"; }

wait_for() { # wait_for PATTERN: a line of /metrics
    for _ in $(seq 6000); do
        scrape >"$scratch/scraped"
        ! grep -qE "$1" "$scratch/scraped" || return 0
        sleep 0.1
    done
    fail "/metrics never has $1"
}

start_prometheus() { # it does not say which port it was given: one that was free a moment ago, and another if it is taken
    sed -e "s|127.0.0.1:9464|$target|; s|_interval: 15s|_interval: 1s|" "$root/deploy/prometheus/prometheus.yml" >"$scratch/prometheus.yml"
    cp "$root/deploy/prometheus/dsql-alerts.yml" "$scratch"
    for _ in 1 2 3 4 5; do
        prometheus=127.0.0.1:$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
        "$root/.tools/prometheus" --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" \
            --web.listen-address="$prometheus" >"$scratch/prometheus.log" 2>&1 &
        for _ in $(seq 6000); do
            ! curl -s --noproxy '*' "http://$prometheus/-/ready" | grep -q Ready || return 0
            kill -0 $! 2>/dev/null || break
            sleep 0.1
        done
    done
    fail "Prometheus does not come up: $(tail -3 "$scratch/prometheus.log")"
}

start_cluster --port 0
start_server a --port 0
wait_for 'dsql_pool_open\{.*\} 20$'
start_prometheus
workflows 'while nothing fails' 7 true
look scraped "http://$prometheus"
calm=$(date +%s)

# As often as it takes until three operations have met a conflict: which ones do is chance.
have_met() { # have_met COUNT METRIC: so many of Temporal's operations; those of visibility do not count
    scrape >"$scratch/scraped"
    [ "$(look met "$scratch/scraped" "$2")" -ge "$1" ]
}
until_met() { # until_met METRIC
    for _ in $(seq 6000); do
        ! have_met 1 "$1" || return 0
        sleep 0.1
    done
    fail "no operation of Temporal's ever has $1"
}
fault conflict-commit=5% seed=1
for _ in 1 2 3 4 5 6; do
    workflows '40001 at 5 % of commits' "${COUNT:-35}" true
    ! have_met 3 dsql_tx_conflicts_total || break
done

# Another owner has all shards and task queues, until an operation has met it.
overtake() {
    for table in shards task_queues task_queues_v2; do ask "update $table set range_id = range_id + $1"; done
}
meet_another_owner() {
    until_met dsql_condition_failed_total
    overtake -1000
}
fault clear
overtake 1000
workflows 'while another owner is met' 7 meet_another_owner

# Nothing can be committed, until an operation has given up.
give_up() {
    until_met dsql_tx_exhausted_total
    fault clear
}
fault conflict-commit=100%
workflows 'while nothing is committed' 7 give_up

scrape >"$scratch/metrics"
look operations "$scratch/metrics" "$root/integrations/temporal/dsql"
look scraped "http://$prometheus"
look record "http://$prometheus" "$scratch/dsql-alerts.yml" "$calm" >"$scratch/recorded.yml"
"$root/.tools/promtool" test rules "$scratch/recorded.yml" >"$scratch/out" 2>&1 || fail "the alerts: $(head -c 2000 "$scratch/out")"

# What else the dashboard shows: lost connections and commits, callers that wait for a connection, and connects that
# fail. Some connections stay then: after a refused login the pool does not ask again for half a minute.
fault close-applied=3x connect-latency=1s
fault drop=100%
workflows 'while connections are lost' 7 true
fault clear
for refused in refuse:network throttle:throttled deny:denied; do
    fault "${refused%:*}=1x"
    fault drop=10%
    wait_for "^dsql_connect_failures_total\\{.*class=\"${refused#*:}\"\\} [1-9]"
done
look dashboard "http://$prometheus" "$root/deploy/grafana/dsql.json"
if [ -n "${PICTURE:-}" ]; then
    look picture "http://$prometheus" "$root/deploy/grafana/dsql.json" $SECONDS >"$scratch/picture.html"
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1300,3160 --screenshot="$PICTURE" \
        "file://$scratch/picture.html" >"$scratch/out" 2>&1 || fail "no picture: $(tail -3 "$scratch/out")"
fi
kill_server "$pid_a" TERM
echo "metrics: every operation has its name, the alerts fire from what was recorded, the panels have data"

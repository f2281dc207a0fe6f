# Produces a symptom of docs/operations.md and looks at what the page says about it: the metric moves, the
# log has the line, the command answers so. Everything is read from the page. Sourced by symptoms_*.sh,
# which then runs inside `dsql local exec`.
# shellcheck shell=bash disable=SC2016 # backticks are what the page has
if [ "${1:-}" != inside ]; then
    exec "$BUILD_DIR/dsql" local exec -- bash "$0" inside
fi
# shellcheck source=tests/integ/lib.bash
. "$SOURCE_DIR/tests/integ/lib.bash"
PATH=$BUILD_DIR:$BUILD_DIR/tests:$PATH
export DSQL_LOG_LEVEL=debug
process=
stop_process() {
    [ -z "$process" ] || { kill -9 "$process" && wait "$process"; } 2>/dev/null || true
    process=
}
trap 'stop_process; cleanup' EXIT

# The words in backticks of one cell, one in a line: cell ROW
cell() {
    printf '%s\n' "$section" | sed -n "s/^| $1 | \(.*\) |\$/\1/p" | grep -o '`[^`]*`' | tr -d '`' | sed 's/\\|/|/g' || true
}
read_page() { # read_page NAME
    section=$(awk -v "heading=### $1" '$0 == heading {on = 1; next} /^##/ {on = 0} on' "$SOURCE_DIR/docs/operations.md")
    metric=$(cell metric | head -n 1)
    direction=rises
    ! grep -q '^| metric | `[^`]*` falls' <<<"$section" || direction=falls
    log=$(cell log | head -n 1)
    ! grep -q '^| log | none' <<<"$section" || log=
    command=$(cell command | head -n 1)
    says=$(cell command | sed -n 2p)
    if [ -z "$metric" ] || [ -z "$command" ] || [ -z "$says" ]; then
        fail "docs/operations.md: $1 has no metric, no command or no answer"
    fi
}

# The sum of all series that the page's metric, with or without labels, stands for.
metric_now() {
    local text=$scratch/metrics
    if [ -n "$url" ]; then curl -fs --noproxy '*' "${url}metrics" >"$text.new" && mv "$text.new" "$text"; fi
    [ -e "$text" ] || return 1
    awk -v "metric=$metric" 'BEGIN {
            name = metric
            sub(/\{.*/, "", name)
            sub(/^[^{]*\{?/, "", metric)
            sub(/\}$/, "", metric)
            count = split(metric, labels, ",")
        }
        index($0, name "{") == 1 {
            for (i = 1; i <= count; i++)
                if (!index($0, labels[i])) next
            total += $NF
        }
        END {printf "%d\n", total}' "$text"
}
moved() {
    local now
    now=$(metric_now) || return 1
    if [ "$direction" = rises ]; then [ "$now" -gt "$before" ]; else [ "$now" -lt "$before" ]; fi
}
logged() { # every word of the page in one line
    local word lines
    lines=$(cat "$scratch/log")
    for word in $log; do lines=$(grep -F -- " $word" <<<"$lines") || return 1; done
}
wait_for() { # wait_for WHAT COMMAND...
    local what=$1
    shift
    for _ in $(seq 6000); do
        "$@" && return
        kill -0 "$process" 2>/dev/null || fail "$name: the process ended before $what: $(cat "$scratch/up" "$scratch/log")"
        sleep 0.1
    done
    fail "$name: waited in vain for $what: $(tail -n 200 "$scratch/metrics" "$scratch/log" "$scratch/answer" 2>&1)"
}

# Starts what is observed: `dsql up` with these options, until it has worked for a second.
start_up() { # start_up [NAME=VALUE...] OPTION...
    local variables=()
    while [[ ${1:-} == [A-Z]*=* ]]; do variables+=("$1") && shift; done
    env "${variables[@]}" dsql up --seconds 0 --address 127.0.0.1:0 "$@" >"$scratch/up" 2>"$scratch/log" &
    process=$!
    wait_for 'the status page' grep -q '^status page' "$scratch/up"
    url=$(sed -n 's/^status page: \([^ ]*\).*/\1/p' "$scratch/up")
    [ -n "${starts_ill:-}" ] || wait_for 'its first second' grep -q '^ *[1-9][0-9]* s ' "$scratch/up"
}
# A program that writes its metrics into a file again and again; see symptom_driver.c.
start_driver() { # start_driver OPERATION
    url=
    rm -f "$scratch/metrics"
    symptom_driver "$scratch/metrics" "$1" >"$scratch/up" 2>"$scratch/log" &
    process=$!
    wait_for 'its metrics' test -e "$scratch/metrics"
}

# begin NAME: reads the page, and starts `dsql up` as the page says. Then come the faults.
begin() {
    name=$1
    read_page "$name"
    local up
    up=$(cell 'to see it' | grep 'dsql up' || true)
    # shellcheck disable=SC2086 # words of a command
    start_up ${up/dsql up/}
    [ "$direction" = rises ] || wait_for "a $metric that can fall" has_room
    before=$(metric_now)
}
has_room() { [ "$(metric_now)" -gt 0 ]; }
strike() {
    cell 'to see it' | grep '^dsql local fault ' >"$scratch/faults" || fail "$name: no fault on the page"
    while read -r fault; do $fault; done <"$scratch/faults"
}
# What the page says somebody would type, here. A program without pages has its metrics in a file.
answers() {
    bash -c "${command//http:\/\/127.0.0.1:9464\//${url:-file://$scratch/}}" >"$scratch/answer" 2>&1 || true
    grep -qF -- "$says" "$scratch/answer"
}
# On a machine that is well, none of these symptoms' commands may say what the page says: a text that is printed in
# any case tells nobody anything.
healthy() { # healthy NAME...
    start_up --connections 16 --threads 1
    for name; do
        read_page "$name"
        ! answers || fail "$name: '$command' says '$says' where nothing is wrong: $(cat "$scratch/answer")"
    done
    stop_process
}
check() {
    wait_for "$metric, which $direction" moved
    [ -z "$log" ] || wait_for "'$log' in the log" logged
    wait_for "'$says' from '$command'" answers
    stop_process
    dsql local fault clear
    echo "seen: $name: $metric $direction${log:+; $log}; $command: $says"
}
see() { # see NAME...: those that a fault of the endpoint makes
    local each
    for each; do
        begin "$each"
        strike
        check
    done
}

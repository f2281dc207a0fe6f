#!/bin/bash
# Deliberate changes of the keeper's policy, one at a time, in a copy of the tree that is built apart: each
# has to be caught by the keeper's unit tests, its property tests, or by random worlds of the simulator. Which of them
# the replay of a recorded pool finds is shown too: it finds those that matter in what that pool went through.
#     keeper_mutants.sh [NAME...]
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/mutants.bash
. tests/mutants.bash
below=src/core/
export PROP_SEED=${PROP_SEED:-1}
worlds=${MUTANT_WORLDS:-100}

# name | file | what is replaced | by what
mutants='
waiting-ignored|keeper_pace.c|fresh(&k->slots) + k->waiting|fresh(\&k->slots) + 0 * k->waiting
start-at-once|keeper_pace.c|dsql_mono_before(k->now, k->start_at)|(k->start_at.ns < 0)
start-not-random|keeper.c|dsql_rng_between(&k->rng, 0, config->start_delay_ns)|config->start_delay_ns
no-backoff|keeper_pace.c|dsql_refill_wait_ns(&k->refill, k->now) > 0|dsql_refill_wait_ns(\&k->refill, k->now) < 0
one-slot-too-many|keeper_pace.c|held(&k->slots) < k->granted|held(\&k->slots) <= k->granted
inflight-no-limit|keeper_pace.c|k->slots.opening >= dsql_keeper_inflight(k)|k->slots.opening > 8 * dsql_keeper_inflight(k)
inflight-half|keeper_pace.c|(int64_t)(2 \* k->rate|(int64_t)(1 * k->rate
handshake-not-smoothed|keeper_pace.c|(took_ns - k->handshake_ns) / 8|(took_ns - k->handshake_ns)
warmup-all-at-once|keeper_pace.c|return k->slots.opening > 0;|return k->slots.opening > 8;
warmup-backoff-ignored|keeper.c|config->tick_ns > 0 ? &warmup : NULL|config->tick_ns > DSQL_H ? \&warmup : NULL
warmup-never-ends|keeper_pace.c|k->warmup_left - 1;|k->warmup_left;
warmup-timeout-ignored|keeper_pace.c|return k->warmup_left > 0 ? k->config.warmup_timeout_ns|return k->warmup_left > 99 ? k->config.warmup_timeout_ns
ticks-unlimited|keeper_pace.c|return k->tick_left == 0;|return k->tick_left > 99;
no-time-out|slots.c|dsql_slots_give_up(s, .which);|slot->event.ns += DSQL_H, dsql_heap_update(\&s->events, node); continue;
permit-waits-for-ever|keeper_pace.c|bool too_long = !dsql_mono_before(k->now, deadline)|bool too_long = dsql_mono_before(deadline, k->permit_since)
permit-backoff-flat|keeper_pace.c|dsql_backoff_ns(&backoff, k->permit_failures,|dsql_backoff_ns(\&backoff, 1,
permit-failure-unreported|keeper.c|k->reports .= REPORT_PERMIT|k->reports \&= ~(unsigned)REPORT_PERMIT
permit-hoarded|keeper_pace.c|PERMIT_KEEP_NS  *DSQL_S|PERMIT_KEEP_NS DSQL_H
permit-used-twice|keeper_pace.c|^    k->permit_in_hand = false;|    k->permit_in_hand = k->slots.opening > 2;
permit-before-room|keeper.c|if (!dsql_pace_has_room(k) \&\& k->room == DSQL_SLOT_NONE) {|if (k->permit_in_hand \&\& !dsql_pace_has_room(k) \&\& k->room == DSQL_SLOT_NONE) {
expired-on-scan-misnamed|keeper.c|: DSQL_DISCARD_EXPIRED_ON_SCAN|: DSQL_DISCARD_EXPIRING_SOON_ON_SCAN
expiring-soon-misnamed|keeper.c|? DSQL_DISCARD_EXPIRING_SOON_ON_SCAN|? DSQL_DISCARD_EXPIRED_ON_SCAN
expired-on-checkout-misnamed|handout.h|why = expired;|why = expired == DSQL_DISCARD_EXPIRED_ON_CHECKOUT ? DSQL_DISCARD_INSUFFICIENT_LIFETIME : expired;
expired-on-return-misnamed|handout.h|why = expired;|why = expired == DSQL_DISCARD_EXPIRED_ON_RETURN ? DSQL_DISCARD_INSUFFICIENT_LIFETIME : expired;
guard-window-misnamed|handout.h|why = DSQL_DISCARD_INSUFFICIENT_LIFETIME|why = expired
near-an-hour|handout.h|NEAR_NS DSQL_M|NEAR_NS DSQL_H
default-wait-ignored|keeper.c|return wait_ns < 0 ? config->empty_wait_ns|return wait_ns < 0 ? 0 \* config->empty_wait_ns
closed-before-its-successor|keeper.c|bool enough = dsql_slots_fresh(&k->slots) >= dsql_pace_wanted(k)|bool enough = dsql_slots_fresh(\&k->slots) < dsql_pace_wanted(k)
never-replaced|slots.h|return slots->open - slots->aging;|return slots->open;
overdue-forgotten|keeper.c|OVERDUE_LOOK_NS  *DSQL_S|OVERDUE_LOOK_NS DSQL_H
surplus-kept|keeper.c|bool surplus = dsql_slots_held(&k->slots) - k->slots.closing > k->granted|bool surplus = dsql_slots_held(\&k->slots) > 2 * k->granted
recall-forgotten|keeper.c|step->count = surplus > 0|step->count = surplus > 99
slots-for-max-open|keeper_pace.c|int64_t wish = .*|int64_t wish = dsql_most(k->config.max_open, beside);
slots-dropped-at-once|keeper_pace.c|return dsql_most(k->need_before, k->need_peak);|return dsql_most(wish, dsql_slots_held(\&k->slots));
lack-never-said|keeper_pace.c|return fell .. due;|return fell \&\& due;
drain-lets-connects-be|keeper.c|k->slots.opening > k->cuts \&\& i < k->slots.capacity|k->slots.opening > k->cuts + 99 \&\& i < k->slots.capacity
throttling-untold|keeper.c|.throttled = cls == DSQL_CONNECT_THROTTLED|.throttled = cls == DSQL_CONNECT_FULL
'

copy_tree dsql keeper_test keeper_prop
ninja -C "$scratch/build" pool_trace_test >"$scratch/log" 2>&1 || { tail "$scratch/log"; exit 1; }
TRACE_KEEP=$scratch/recording "$scratch/build/tests/pool_trace_test" >"$scratch/log" 2>&1 || { tail "$scratch/log"; exit 1; }

# What a checker that failed said: the first failure's name, or that it aborted or did not end.
said() {
    local names
    names=$(sed -n "$2" "$scratch/out" | head -1)
    case $1 in 124) names='does not end' ;; 134) names=${names:-aborts} ;; esac
    printf '%s' "${names:-status $1}"
}

# Prints who catches the program that is built now; nothing if nobody does.
catchers() {
    local name
    for name in test prop; do
        timeout 120 "$scratch/build/tests/keeper_$name" >"$scratch/out" 2>&1 ||
            printf ' %s:%s' "${name/test/unit}" "$(said $? 's/^\[  FAILED  \] \([a-z_]*\)$/\1/p')"
    done
    timeout 240 "$scratch/build/dsql" sim fuzz --seed 1 --worlds "$worlds" >"$scratch/out" 2>&1 ||
        printf ' worlds:%s' "$(said $? 's/^FAILED \([A-Za-z]*\).*/\1/p')"
}

# The same for the recording.
replay() {
    timeout 120 "$scratch/build/dsql" sim replay --quiet "$scratch/recording" >"$scratch/out" 2>&1 ||
        printf ' replay:%s' "$(said $? 's/^DIFFERS.*\(record [0-9]*\).*/\1/p')"
}

caught=$(catchers)$(replay)
[ -z "$caught" ] || { echo "without a change something fails:$caught"; exit 1; }
judge() {
    caught=$(catchers)
    printf '%-29s%s%s\n' "$1" "${caught:- SURVIVES}" "$(replay)"
    [ -n "$caught" ]
}
each_mutant judge "$@"

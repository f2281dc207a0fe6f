/*
 * The protocol of src/core/blocks*.c as a model for spin. One registry item; N owners that change it
 * with conditional updates; a network that delays, loses, and answers late; crashes, silences of any
 * length, an outage of the registry. Time is a number of ticks; a beat is due every tick.
 *
 * A copy of a request that the network delivers again is, until its owner's beat has moved on, the same as the request
 * being late: apply() may come at any time before settle(), and after it the condition on the beat refuses every copy.
 * Two processes with one identity are not in here: tests/prop/blocks_prop.c has them.
 *
 * What is left out: numbers that only tune (back-off, shares), and the wall clock, which the protocol
 * does not use. Owners may take, give back, draw and return as they please: any policy is covered.
 *
 * The letters are those of docs/budget.md:
 *   (a) ROWS      the table never gives away more than CAP
 *       HELD      connections of all owners that are not silent never exceed CAP
 *   (b) REUSED    a dead owner's block is gone within TTL + 4 beats (less than 2 TTL) once faults stopped
 *   (c) KEPT      an outage closes no connection: only closing, crashing and a lost block do, in the text
 *   (d) ALIVE     nobody takes the block of an owner that is neither dead nor silent
 *   (e) RATE      a bucket that counts real connects is never overdrawn
 *       FLOWS     the table never gives away more flow than RATE, nor more permits than BURST
 *   (f)           nothing in here deletes items because they are old
 *
 * PART=1 looks at slots alone (connects need no permit), PART=2 at permits alone (connections need no slot):
 * the two meet only in the conditions of a request, so each is small enough to be looked through whole.
 * Outages, and what must happen once faults stop, are in PART=1: to permits an outage is a silence of all.
 * BREAK=1..6 removes one rule each; check.sh expects the checker to notice.
 */
#ifndef N
#define N 2
#endif
#ifndef PART
#define PART 0 /* both */
#endif
#define SLOTS   (PART != 2)
#define PERMITS (PART != 1)
#ifndef CAP
#define CAP 2
#endif
#ifndef BURST
#define BURST 2
#endif
#define RATE 1
#ifndef TTL
#define TTL 2
#endif
#define UP_ENOUGH (2 * TTL) /* between two outages */
#ifndef BREAK
#define BREAK 0
#endif
/* One tick more than the longest pause because exchanges early in one tick and late in another measure a
 * tick too much; one more for an outage so short, right after the pause, that the observer missed it. */
#if BREAK == 1
#define STILL_FOR (TTL + 1)
#else
#define STILL_FOR (TTL + 2)
#endif

/* grow, shrink: slots; more, less: a flow of RATE and a purse of 1; draw, give: a permit from and to the pot */
mtype = { none, grow, shrink, more, less, draw, give };

/* The item. The version is kept as "has changed since j looked". */
bool in[N];
byte slots[N], flow[N], purse[N];
byte pot = BURST;
bool version_new[N], beat_new[N * N];

/* The owners. */
bool alive[N] = true, silent[N];
bool unheard[N];        /* was silent, and has not exchanged since */
byte conns[N], held[N]; /* connections; permits in hand */
byte may[N];            /* slots it may use */
byte flows[N], most[N]; /* the flow it counts, the permits it may have in hand */
byte age[N];            /* since the last beat it knows of was sent */
byte quiet[N];          /* the same, without outages */
byte room[N];           /* slots that were free when it last looked, */
byte rest[N], space[N]; /* flow; and burst that was neither in the pot nor in a purse */
byte still[N * N];      /* how long it saw an entry stand still, answers coming in */
bool answered[N];
mtype net[N];           /* its request under way */
byte net_n[N];
bool net_done[N];       /* it was applied and the answer has not come */

bool up = true, calm;
byte up_for = UP_ENOUGH;
byte real = BURST;      /* the bucket that counts real connects */
byte dead_for[N];
byte j0;

inline sum_slots(total)
{
    total = 0;
    for (k : 0 .. N - 1) { total = total + (in[k] -> slots[k] : 0) }
}

inline sum_flow(total)
{
    total = 0;
    for (k : 0 .. N - 1) { total = total + (in[k] -> flow[k] : 0) }
}

inline sum_permits(total)
{
    total = pot;
    for (k : 0 .. N - 1) { total = total + (in[k] -> purse[k] : 0) }
}

inline check()
{
    sum_slots(t);
    assert(t <= CAP);                                                        /* (a) ROWS */
    t = 0;
    for (k : 0 .. N - 1) { t = t + ((alive[k] && !unheard[k]) -> conns[k] : 0) }
    assert(t <= CAP || !SLOTS);                                              /* (a) HELD */
    sum_flow(t);
    assert(t <= RATE);                                                       /* (e) FLOWS */
    sum_permits(t);
    assert(t <= BURST);
}

/* j's entry has changed. */
inline beat(j)
{
    for (k : 0 .. N - 1) { beat_new[k * N + j] = true }
    age[j] = 0;
    quiet[j] = 0;
}

/* j has an answer: it knows the item as it is now. */
inline look(j)
{
    for (k : 0 .. N - 1) {
        if
        :: beat_new[j * N + k] -> beat_new[j * N + k] = false; still[j * N + k] = 0
        :: else
        fi
    }
    version_new[j] = false;
    sum_slots(t);
    room[j] = CAP - t;
    sum_flow(t);
    rest[j] = RATE - t;
    sum_permits(t);
    space[j] = BURST - t;
    answered[j] = true;
}

/* A sum grows: whoever else looked before has to look again. */
inline grown(j)
{
    for (k : 0 .. N - 1) { version_new[k] = (k != j || version_new[k]) }
}

inline apply(j)
{
    if
    :: net[j] == grow && !version_new[j] ->
        slots[j] = slots[j] + net_n[j];
#if BREAK != 3
        grown(j);
#endif
        beat(j); net_done[j] = true
    :: net[j] == shrink -> slots[j] = slots[j] - net_n[j]; beat(j); net_done[j] = true
#if BREAK == 6
    :: net[j] == more ->
#else
    :: net[j] == more && !version_new[j] ->
#endif
        flow[j] = flow[j] + net_n[j];
        purse[j] = purse[j] + (space[j] > 0);
        grown(j); beat(j); net_done[j] = true
    :: net[j] == less -> flow[j] = 0; purse[j] = most[j]; beat(j); net_done[j] = true
    :: net[j] == draw && pot > 0 -> pot--; purse[j]++; beat(j); net_done[j] = true
    :: net[j] == give -> pot++; purse[j]--; beat(j); net_done[j] = true
    :: else -> net[j] = none /* refused: the answer says so */
    fi
}

/* A plain beat after whatever became of the request before: a condition on its own last beat means
 * that at most one of the two is applied, and the answer tells which. */
inline settle(j)
{
    if
    :: !in[j] -> /* gone: everything closes, and it begins anew */
        conns[j] = 0; held[j] = 0; may[j] = 0; flows[j] = 0; most[j] = 0;
        in[j] = true; slots[j] = 0; flow[j] = 0; purse[j] = 0
    :: else ->
        if
        :: net[j] == draw && net_done[j] -> held[j]++
        :: net[j] == give && !net_done[j] -> held[j]++ /* it was not taken: still ours */
#if BREAK == 2
        :: net[j] == more && net_done[j] -> held[j] = purse[j] /* room is not permits */
#endif
        :: else
        fi;
        may[j] = slots[j]; flows[j] = flow[j]; most[j] = purse[j];
        held[j] = (held[j] < most[j] -> held[j] : most[j])
    fi;
    net[j] = none; net_done[j] = false; net_n[j] = 0; unheard[j] = false;
    beat(j);
    look(j)
}

#define ready(j) (alive[j] && !silent[j] && in[j] && !unheard[j] && net[j] == none && age[j] <= TTL)

proctype owner(byte j)
{
    byte k, t;
end:
    do
    :: atomic { alive[j] && !silent[j] && up && (!in[j] || !answered[j] || unheard[j] || net[j] != none) -> settle(j); check(); t = 0 }

    /* Requests. The sender is pessimistic: what it gives back is gone at once, what it takes is not there. */
    :: atomic { SLOTS && ready(j) && room[j] > 0 && !calm ->
        net[j] = grow; net_n[j] = room[j]; t = 0 }
    :: atomic { SLOTS && ready(j) && may[j] > conns[j] ->
        net[j] = shrink; net_n[j] = may[j] - conns[j];
#if BREAK != 4
        may[j] = conns[j];
#endif
        t = 0 }
    :: atomic { PERMITS && ready(j) && (rest[j] > 0 || space[j] > 0) && !calm -> net[j] = more; net_n[j] = rest[j]; t = 0 }
    :: atomic { PERMITS && ready(j) && (flow[j] > 0 || most[j] > held[j]) ->
        net[j] = less; flows[j] = 0; most[j] = held[j]; t = 0 }
    :: atomic { PERMITS && ready(j) && pot > 0 -> net[j] = draw; t = 0 }
    :: atomic { PERMITS && ready(j) && held[j] > 0 -> net[j] = give; held[j]--; most[j]--; t = 0 }
    :: atomic { up && alive[j] && net[j] != none && !net_done[j] && in[j] -> apply(j); check(); t = 0 } /* also of a silent one: it was sent before */
    :: atomic { up && alive[j] && !silent[j] && net_done[j] && in[j] -> settle(j); check(); t = 0 }

    /* Connects: within the slots, with a permit, only while its last beat is fresh. */
    :: atomic { alive[j] && (age[j] < TTL || BREAK == 5) && (!SLOTS || conns[j] < may[j]) && (!PERMITS || held[j] > 0) ->
        assert(!PERMITS || real > 0);                                        /* (e) RATE */
        conns[j] = conns[j] + SLOTS; held[j] = held[j] - PERMITS; real = real - PERMITS; check(); t = 0 }
    :: atomic { alive[j] && conns[j] > 0 -> conns[j]-- }

    /* Taking the block of somebody who stands still. */
    :: atomic { alive[j] && !silent[j] && up && in[j] && !unheard[j] && net[j] == none ->
        k = 0;
        do
        :: k < N && !(k != j && in[k] && still[j * N + k] >= STILL_FOR && !beat_new[j * N + k]) -> k++
        :: else -> break
        od;
        if
        :: k < N ->
            assert(!alive[k] || unheard[k]);                                 /* (d) ALIVE */
            in[k] = false; slots[k] = 0; flow[k] = 0; purse[k] = 0; j0 = k;
            if :: net[j0] != none && !net_done[j0] -> net[j0] = none :: else fi;
            beat(j); look(j); check()
        :: else
        fi;
        t = 0; k = 0 }

    /* Faults. */
    :: atomic { alive[j] && !calm -> alive[j] = false; silent[j] = false; unheard[j] = false; conns[j] = 0; held[j] = 0; may[j] = 0;
        flows[j] = 0; most[j] = 0; net[j] = none; net_done[j] = false; net_n[j] = 0; age[j] = 0; quiet[j] = 0; room[j] = 0;
        rest[j] = 0; space[j] = 0; answered[j] = false;
        for (k : 0 .. N - 1) { still[j * N + k] = 0; beat_new[j * N + k] = false }
        version_new[j] = false; k = 0 }
    :: atomic { alive[j] && !silent[j] && !calm -> silent[j] = true; unheard[j] = true }
    :: atomic { silent[j] -> silent[j] = false; answered[j] = false }
    od
}

/* Whether a tick may pass now: no owner that is neither dead nor silent is pushed past its TTL while
 * the registry answers; once calm, everybody has exchanged and taken what there is to take. */
inline may_tick()
{
    ok = true;
    for (k : 0 .. N - 1) {
        if
        :: alive[k] && !silent[k] && up && quiet[k] >= TTL -> ok = false
        :: alive[k] && !silent[k] && up && calm && !answered[k] -> ok = false
        :: else
        fi;
        for (m : 0 .. N - 1) {
            if
            :: calm && up && alive[k] && !silent[k] && k != m && in[m] && !beat_new[k * N + m] && still[k * N + m] >= STILL_FOR -> ok = false
            :: else
            fi
        }
    }
}

inline somebody(yes)
{
    yes = false;
    for (k : 0 .. N - 1) { yes = (yes || (alive[k] && !silent[k])) }
}

proctype clock()
{
    byte k, m;
    bool ok, one;
end:
    do
    :: atomic {
        may_tick();
        if
        :: ok ->
            real = (real + RATE < BURST || !PERMITS -> real + RATE * PERMITS : BURST);
            up_for = (up -> (up_for < UP_ENOUGH -> up_for + 1 : UP_ENOUGH) : 0);
            somebody(one);
            for (k : 0 .. N - 1) {
                if
                :: alive[k] ->
                    age[k] = (age[k] <= TTL -> age[k] + 1 : age[k]);
                    quiet[k] = (up && quiet[k] <= TTL -> quiet[k] + 1 : quiet[k])
                :: else
                fi;
                held[k] = (alive[k] && held[k] + flows[k] <= most[k] -> held[k] + flows[k] : held[k]);
                for (m : 0 .. N - 1) {
                    if
                    :: alive[k] && answered[k] -> still[k * N + m] = (still[k * N + m] < STILL_FOR -> still[k * N + m] + 1 : STILL_FOR)
                    :: else -> still[k * N + m] = 0 /* no answer: that time does not count */
                    fi
                }
                answered[k] = false;
                if
                :: calm && one && up && !alive[k] && in[k] -> dead_for[k]++; assert(dead_for[k] <= TTL + 4) /* (b) REUSED */
                :: else -> dead_for[k] = 0
                fi
            }
        :: else
        fi;
        ok = false; one = false; k = 0; m = 0 }
    /* A registry that comes and goes quicker than that is a partition of whomever it did not serve. */
    :: atomic { SLOTS && up && !calm && up_for == UP_ENOUGH -> up = false }
    :: atomic { !up -> up = true }
    :: atomic { SLOTS && up && !calm && up_for == UP_ENOUGH ->
        one = true;
        for (k : 0 .. N - 1) { one = (one && (alive[k] -> !silent[k] : true)) }
        if :: one -> calm = true :: else fi;
        one = false; k = 0 }
    od
}

init { atomic { byte i; for (i : 0 .. N - 1) { run owner(i) } run clock(); i = 0 } }

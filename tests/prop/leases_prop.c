/*
 * The protocol `leases` in a small world: processes that crash, and copies of a process with all it
 * remembers, as of a cloned machine; requests and answers that are lost, or delivered again and
 * TTLs later; conflicts; a program as the Go plugin is, which takes and gives back leases one by
 * one, never renews them and has DynamoDB delete their items while the connections live. The table
 * does not know DynamoDB's tokens: a copy is carried out again wherever its conditions hold. The
 * judge sees the table and every connection.
 *
 * PROP_SCALE=60 runs 18,000 schedules.
 */
#include <stdio.h>

#include "core/leases.h"
#include "support/prop.h"
#include "support/test.h"

enum { PROCESSES = 4, ITEMS_MAX = 1024, SECONDS_MAX = 8192, COPIES_MAX = 64, TTL_S = 9 };

/* One rule taken away each: the judge must notice. */
enum breakage {
    WHOLE,
    ANY_BEAT,    /* the table renews a lease whatever its beat is */
    SAME_NONCES, /* a copy of a process draws the same ids and beats */
    NO_STRAYS,   /* leases that nobody holds are left alone */
    NO_SHARES,   /* the counter does not say how many of it are ours */
    BREAKAGES
};
static int breakage;

/* How much of it there was. */
static struct {
    uint64_t schedules, requests, repeats, carried_out_again, clones, identities, strays, recounts;
} seen;

struct process {
    bool alive;
    struct dsql_leases core;
    int64_t conns;
    struct dsql_rng nonces;
    bool copied;         /* it was copied, or is a copy, */
    int64_t shared_beat; /* when its last beat was this, */
    int64_t second;      /* in this second: both may use its permits */
};

/* A request that the network delivers once more. */
struct late {
    bool used;
    char owner[17];
    int64_t at_ns;
    struct dsql_leases_op op;
};

struct world {
    struct prop *p;
    struct dsql_rng rng;
    int64_t now_ns, limit, rate;
    struct process processes[PROCESSES];
    struct dsql_lease_found items[ITEMS_MAX];
    size_t item_count;
    int64_t active, ours, updated_ms;
    int64_t foreign; /* connections of the other program */
    bool mixed;      /* it runs, too */
    int64_t counts[SECONDS_MAX];
    int64_t connects[SECONDS_MAX];
    struct late late[COPIES_MAX];
    bool faults, ok;
};

static bool chance(struct world *w, uint64_t per_mille)
{
    return dsql_rng_below(&w->rng, 1000) < per_mille;
}
static struct dsql_mono mono(const struct world *w)
{
    return (struct dsql_mono){w->now_ns};
}
static struct dsql_moment moment(const struct world *w)
{
    return (struct dsql_moment){{w->now_ns}, {w->now_ns}};
}

static struct dsql_lease_found *find(struct world *w, const char *id)
{
    for (size_t i = 0; i < w->item_count; i++) {
        if (strcmp(w->items[i].id, id) == 0)
            return &w->items[i];
    }
    return NULL;
}

/* What the table does with a request: conditions first, then everything or nothing. */
static void carry_out(struct world *w, const char *owner, const struct dsql_leases_op *op,
                      struct dsql_leases_answer *answer)
{
    bool removes = op->kind == DSQL_LEASES_RELEASE || op->kind == DSQL_LEASES_REAP;
    bool ids = removes || op->kind == DSQL_LEASES_ACQUIRE || op->kind == DSQL_LEASES_RENEW;
    *answer = (struct dsql_leases_answer){.outcome = DSQL_LEASES_OK};
    if ((op->kind == DSQL_LEASES_ACQUIRE && w->active > w->limit - op->count) ||
        (removes && w->active < op->count) ||
        (op->kind == DSQL_LEASES_CONNECT && w->counts[op->second] > w->rate - op->count) ||
        (op->kind == DSQL_LEASES_RECOUNT &&
         (w->active != op->active || w->updated_ms != op->updated_ms)))
        answer->outcome = DSQL_LEASES_REFUSED;
    for (int64_t i = 0; ids && i < op->count; i++) {
        const struct dsql_lease_found *item = find(w, op->ids[i]);
        answer->missing[i] = breakage == ANY_BEAT && op->kind == DSQL_LEASES_RENEW
                                 ? !item
                                 : dsql_leases_is_missing(op, i, item);
        if (answer->missing[i])
            answer->outcome = DSQL_LEASES_MISSING;
    }
    if (answer->outcome != DSQL_LEASES_OK)
        return;
    if (op->kind == DSQL_LEASES_LOOK) {
        answer->exists = true;
        answer->active = w->active;
        answer->ours = breakage == NO_SHARES ? w->active : w->ours;
        answer->updated_ms = w->updated_ms;
    } else if (op->kind == DSQL_LEASES_SCAN) {
        answer->found = w->items;
        answer->found_count = w->item_count;
        answer->last = true;
    } else if (op->kind == DSQL_LEASES_CONNECT || op->kind == DSQL_LEASES_SLOW) {
        w->counts[op->second] += op->count;
    } else if (op->kind != DSQL_LEASES_RENEW) {
        int64_t add = removes ? -op->count : op->count;
        w->active = op->kind == DSQL_LEASES_RECOUNT ? op->count : w->active + add;
        w->ours = op->kind == DSQL_LEASES_RECOUNT ? op->ours : w->ours + add;
        w->updated_ms = w->now_ns;
    }
    for (int64_t i = 0; ids && i < op->count; i++) {
        struct dsql_lease_found *item = find(w, op->ids[i]);
        if (removes) {
            *item = w->items[--w->item_count];
        } else if (op->kind == DSQL_LEASES_RENEW) {
            item->beat = op->beat;
            memcpy(item->owner, owner, sizeof(item->owner));
        } else if (w->item_count < ITEMS_MAX) {
            item = &w->items[w->item_count++];
            *item = (struct dsql_lease_found){.beat = op->beat, .renewed = true};
            memcpy(item->id, op->ids[i], sizeof(item->id));
            memcpy(item->owner, owner, sizeof(item->owner));
        }
    }
}

/* The other program's item, or NULL. */
static struct dsql_lease_found *foreign_item(struct world *w)
{
    for (size_t i = 0; i < w->item_count; i++) {
        if (!w->items[i].renewed)
            return &w->items[i];
    }
    return NULL;
}

static void foreign_acts(struct world *w)
{
    struct dsql_lease_found *item = foreign_item(w);
    if (item && chance(w, 10)) { /* past its ttl_epoch: DynamoDB deletes it, the connection lives */
        *item = w->items[--w->item_count];
        item = foreign_item(w);
    }
    if (w->active < w->limit && w->item_count < ITEMS_MAX && chance(w, w->faults ? 20 : 0)) {
        struct dsql_lease_found *put = &w->items[w->item_count++];
        *put = (struct dsql_lease_found){0};
        (void)snprintf(put->id, sizeof(put->id), "%032llx",
                       (unsigned long long)dsql_rng_next(&w->rng));
        w->active++;
        w->foreign++;
        w->updated_ms = w->now_ns;
    } else if (w->foreign > 0 && w->active > 0 && chance(w, w->faults ? 20 : 0)) {
        if (item)
            *item = w->items[--w->item_count];
        w->active--;
        w->foreign--;
        w->updated_ms = w->now_ns;
    }
}

static void born(struct world *w, struct process *process)
{
    struct dsql_leases_config config = {
        .connections = w->limit, .rate = w->rate, .ttl_ns = TTL_S * DSQL_S};
    (void)snprintf(config.owner, sizeof(config.owner), "%016llx",
                   (unsigned long long)dsql_rng_next(&w->rng));
    *process = (struct process){.alive = true, .nonces = dsql_rng_split(&w->rng)};
    assert_int_equal(dsql_leases_init(&process->core, &config, dsql_rng_split(&w->rng), mono(w)),
                     DSQL_OK);
    dsql_allowance_want(&process->core.allowance, dsql_rng_between(&w->rng, 0, w->limit));
}

/* A machine is copied while it runs: the copy remembers everything, but its sockets are dead. */
static void cloned(struct world *w, struct process *from, struct process *process)
{
    struct dsql_rng nonces = dsql_rng_split(&w->rng);
    struct dsql_leases *core = &process->core;
    from->copied = true;
    from->shared_beat = from->core.self.beat;
    from->second = w->now_ns / DSQL_S;
    *process = *from;
    core->held.items = calloc(from->core.held.room + 1, sizeof(*core->held.items));
    core->survey.owners = calloc(DSQL_LEASE_OWNERS_MAX, sizeof(*core->survey.owners));
    assert_true(core->held.items && core->survey.owners);
    if (from->core.held.count > 0)
        memcpy(core->held.items, from->core.held.items,
               from->core.held.count * sizeof(*core->held.items));
    memcpy(core->survey.owners, from->core.survey.owners,
           from->core.survey.owner_count * sizeof(*core->survey.owners));
    process->conns = 0;
    if (breakage != SAME_NONCES)
        process->nonces = nonces;
    seen.clones++;
}

/* Whether it holds a lease that its copy may hold, too: it has not renewed it since. */
static bool is_loose(const struct world *w, const struct process *process)
{
    for (size_t i = 0; process->copied && i < process->core.held.count; i++) {
        if (process->core.held.items[i].beat <= process->shared_beat)
            return true;
    }
    /* What is found missing is closed within a moment. */
    return process->copied &&
           (process->core.held.grace > 0 ||
            process->conns > dsql_allowance_slots(&process->core.allowance, moment(w)));
}

static void dies(struct process *process)
{
    if (process->alive) {
        seen.identities += process->core.counts.copies;
        seen.strays += process->core.counts.strays;
        seen.recounts += process->core.counts.recounts;
        dsql_allowance_fini(&process->core.allowance);
    }
    process->alive = false;
    process->conns = 0;
}

static void keep_copy(struct world *w, const struct process *process,
                      const struct dsql_leases_op *op)
{
    for (size_t i = 0; i < COPIES_MAX; i++) {
        struct late *late = &w->late[i];
        if (late->used)
            continue;
        late->used = true;
        late->op = *op;
        late->at_ns = w->now_ns + dsql_rng_between(&w->rng, 0, 3 * (TTL_S * DSQL_S));
        memcpy(late->owner, process->core.config.owner, sizeof(late->owner));
        seen.repeats++;
        return;
    }
}

static void deliver_copies(struct world *w)
{
    for (size_t i = 0; i < COPIES_MAX; i++) {
        struct dsql_leases_answer answer;
        if (!w->late[i].used || w->late[i].at_ns > w->now_ns)
            continue;
        w->late[i].used = false;
        carry_out(w, w->late[i].owner, &w->late[i].op, &answer);
        seen.carried_out_again += answer.outcome == DSQL_LEASES_OK;
    }
}

static void acts(struct world *w, struct process *process)
{
    struct dsql_leases *core = &process->core;
    struct dsql_leases_op op;
    struct dsql_leases_answer answer = {.outcome = DSQL_LEASES_LOST};
    int64_t slots = dsql_allowance_slots(&core->allowance, moment(w)), wait_ns;
    if (process->conns > slots)
        process->conns = slots;
    if (w->faults && chance(w, 50) && process->conns > 0)
        process->conns--;
    if (process->conns > core->need.want)
        process->conns = core->need.want;
    dsql_allowance_used(&core->allowance, process->conns);
    while (process->conns < slots && process->conns < core->need.want &&
           dsql_allowance_permit(&core->allowance, moment(w), &wait_ns)) {
        dsql_allowance_used(&core->allowance, ++process->conns);
        int64_t second = w->now_ns / DSQL_S;
        bool excused = is_loose(w, process) || (process->copied && process->second == second);
        w->connects[second] += !excused;
    }
    if (w->faults && chance(w, 10))
        dsql_allowance_want(&core->allowance, dsql_rng_between(&w->rng, 0, w->limit));
    if (w->faults && chance(w, core->need.draining ? 100 : 5))
        dsql_allowance_drain(&core->allowance, !core->need.draining);
    if (w->faults && chance(w, 2))
        dsql_allowance_throttled(&core->allowance, moment(w));
    if (breakage == NO_STRAYS)
        core->survey.stray_count = 0;
    if (!dsql_leases_next(core, moment(w), dsql_rng_next(&process->nonces), &op))
        return;
    seen.requests++;
    bool lost = w->faults && chance(w, 40);
    if (!lost)
        carry_out(w, core->config.owner, &op, &answer);
    bool writes = op.kind != DSQL_LEASES_LOOK && op.kind != DSQL_LEASES_SCAN;
    if (writes && w->faults && chance(w, lost ? 500 : 100))
        keep_copy(w, process, &op);
    if (w->faults && chance(w, 40)) /* the answer is lost, or it was a conflict */
        answer = (struct dsql_leases_answer){.outcome = DSQL_LEASES_LOST};
    else if (w->faults && answer.outcome == DSQL_LEASES_LOST && chance(w, 500))
        answer.outcome = DSQL_LEASES_CONFLICT;
    assert_int_equal(dsql_leases_answer(core, moment(w), &answer), DSQL_OK);
}

static void run_for(struct world *w, int64_t ns)
{
    int64_t end_ns = w->now_ns + ns;
    while (w->ok && w->now_ns < end_ns) {
        w->now_ns += dsql_rng_between(&w->rng, DSQL_MS, 300 * DSQL_MS);
        deliver_copies(w);
        if (w->mixed)
            foreign_acts(w);
        int64_t sum = w->foreign;
        for (size_t i = 0; i < PROCESSES; i++) {
            struct process *process = &w->processes[i];
            struct process *other = &w->processes[dsql_rng_below(&w->rng, PROCESSES)];
            if (w->faults && process->alive && chance(w, 3))
                dies(process);
            else if (w->faults && !process->alive && chance(w, 20))
                born(w, process);
            else if (w->faults && !process->alive && other->alive && chance(w, 20))
                cloned(w, other, process);
            if (process->alive)
                acts(w, process);
            sum += is_loose(w, process) ? 0 : process->conns;
        }
        int64_t second = w->now_ns / DSQL_S;
        w->ok = prop_that(w->p, sum <= w->limit, "%lld connections of %lld", (long long)sum,
                          (long long)w->limit) &&
                prop_that(w->p, w->active >= (int64_t)w->item_count && w->active <= w->limit,
                          "the counter says %lld, there are %zu leases", (long long)w->active,
                          w->item_count) &&
                prop_that(w->p, w->connects[second] <= w->rate, "%lld connects in a second",
                          (long long)w->connects[second]);
    }
}

static bool survives(struct prop *p)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    bool mixed = prop_below(p, 2) == 1;
    *w =
        (struct world){.p = p, .ok = true, .faults = true, .rng = dsql_rng_seeded(prop_any_u64(p))};
    seen.schedules++;
    w->limit = 3 + (int64_t)prop_below(p, 60);
    w->rate = 1 + (int64_t)prop_below(p, 20);
    w->now_ns = 10 * DSQL_S;
    w->mixed = mixed;
    for (size_t i = 0; i < PROCESSES; i++)
        born(w, &w->processes[i]);
    run_for(w, (int64_t)prop_below(p, 20) * 10 * DSQL_S);
    w->faults = false;
    for (size_t i = 0; i < PROCESSES; i++) {
        if (w->processes[i].alive)
            dsql_allowance_drain(&w->processes[i].core.allowance, false);
    }
    if (w->ok && !w->processes[0].alive)
        born(w, &w->processes[0]);
    /* An item of ours that DynamoDB deleted behind our backs: the counter is too high. */
    for (size_t i = 0; i < w->item_count; i++) {
        if (w->items[i].renewed) {
            w->items[i] = w->items[--w->item_count];
            break;
        }
    }
    run_for(w, 600 * DSQL_S);
    /* Everything is exact, whatever became of the other program's items. */
    int64_t held = 0, wanted = 0, items = 0, room = w->limit - w->foreign;
    for (size_t i = 0; i < PROCESSES; i++) {
        const struct process *process = &w->processes[i];
        held += process->alive ? (int64_t)process->core.held.count : 0;
        wanted += process->alive ? process->core.need.want : 0;
    }
    for (size_t i = 0; i < w->item_count; i++)
        items += w->items[i].renewed;
    if (w->ok)
        w->ok = prop_that(p, held == (wanted < room ? wanted : room),
                          "%lld leases of %lld wanted, and there is room for %lld", (long long)held,
                          (long long)wanted, (long long)room);
    if (w->ok)
        w->ok = prop_that(p, w->active == held + w->foreign && items == held,
                          "the counter says %lld, there are %lld leases, %lld held, %lld foreign",
                          (long long)w->active, (long long)items, (long long)held,
                          (long long)w->foreign);
    for (size_t i = 0; i < PROCESSES; i++)
        dies(&w->processes[i]);
    bool ok = w->ok;
    free(w);
    return ok;
}

TEST(schedules)
{
    prop_run("leases add up", survives, 300);
    print_message("%llu schedules, %llu requests, %llu delivered again, %llu of them carried out "
                  "again, %llu processes copied, %llu identities given up, %llu strays, %llu "
                  "recounts\n",
                  (unsigned long long)seen.schedules, (unsigned long long)seen.requests,
                  (unsigned long long)seen.repeats, (unsigned long long)seen.carried_out_again,
                  (unsigned long long)seen.clones, (unsigned long long)seen.identities,
                  (unsigned long long)seen.strays, (unsigned long long)seen.recounts);
    assert_true(seen.carried_out_again > 0 && seen.clones > 0 && seen.identities > 0 &&
                seen.strays > 0 && seen.recounts > 0);
}

TEST(breakages_are_noticed)
{
    prop_breakages(survives, 300, &breakage, BREAKAGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules),
        cmocka_unit_test(breakages_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "local/fault/builds.h"

#include "local/front/front.h"

#define AGAIN_NS (100 * DSQL_MS) /* after a question without an answer */

/* Out of memory: the next change of the catalogue tries again. */
static void start(struct dsql_builds *builds, int64_t after_ns)
{
    if (dsql_loop_start(&builds->front->loop, &builds->timer, after_ns))
        return;
}

static int64_t number_of(struct dsql_span text)
{
    int64_t number = -1;
    return dsql_span_to_i64(text, &number) ? number : -1;
}

static void on_row(struct dsql_aside *aside, struct dsql_pg_values values)
{
    struct dsql_builds *builds = DSQL_CONTAINER_OF(aside, struct dsql_builds, aside);
    struct dsql_pg_value ended, next;
    if (!dsql_pg_values_next(&values, &ended) || !dsql_pg_values_next(&values, &next))
        return;
    builds->answered = true;
    builds->ended = number_of(ended.bytes);
    builds->next_ns = number_of(next.bytes) * DSQL_MS;
}

static void on_done(struct dsql_aside *aside)
{
    struct dsql_builds *builds = DSQL_CONTAINER_OF(aside, struct dsql_builds, aside);
    if (builds->answered && builds->ended > 0)
        dsql_stale_commit(&builds->front->stale, NULL, dsql_front_now(builds->front));
    if (dsql_heap_node_is_in(&builds->timer.node))
        return; /* something has begun meanwhile: it is looked at anyway */
    if (!builds->answered)
        start(builds, AGAIN_NS);
    else if (builds->next_ns >= 0)
        start(builds, builds->next_ns);
}

static int64_t delay_ns(const struct dsql_builds *builds)
{
    return dsql_faults_ns(&builds->front->faults, DSQL_FAULT_INDEX_DELAY);
}

static void on_time(struct dsql_timer *timer)
{
    struct dsql_builds *builds = DSQL_CONTAINER_OF(timer, struct dsql_builds, timer);
    char sql[80];
    (void)snprintf(sql, sizeof(sql), "select * from pg_catalog.dsql_end_builds(%lld)",
                   (long long)(delay_ns(builds) / DSQL_MS));
    builds->answered = false; /* before it is asked: a lost connection is told at once */
    if (!dsql_aside_ask(&builds->aside, dsql_span_of(sql)))
        start(builds, AGAIN_NS);
}

void dsql_builds_init(struct dsql_builds *builds, struct dsql_front *front)
{
    *builds = (struct dsql_builds){.front = front, .timer = {.due = on_time}};
    dsql_aside_init(&builds->aside, &front->loop, front->pg);
    builds->aside.row = on_row;
    builds->aside.done = on_done;
}

void dsql_builds_fini(struct dsql_builds *builds)
{
    dsql_loop_stop(&builds->front->loop, &builds->timer);
    dsql_aside_fini(&builds->aside);
}

void dsql_builds_resume(struct dsql_builds *builds)
{
    start(builds, 0);
}

struct dsql_build_fate dsql_builds_fate(struct dsql_builds *builds)
{
    struct dsql_build_fate fate = {
        .slow = delay_ns(builds) > 0,
        .fails = dsql_faults_strike(&builds->front->faults, DSQL_FAULT_INDEX_FAIL)};
    builds->expected |= fate.slow || fate.fails;
    return fate;
}

void dsql_builds_look(struct dsql_builds *builds)
{
    if (builds->expected)
        start(builds, 0);
}

/*
 * Any bytes as a recording: replayed up to an end, a difference or a message; the keeper never
 * aborts. The sums of the chunks would keep the fuzzer out, so they are set right first.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/origin.h"
#include "sim/world.h"
#include "support/fuzz.h"

static void watch(void *arg, const struct dsql_sim_replay_event *event)
{
    char text[400];
    struct dsql_strbuf sb;
    (void)arg;
    dsql_strbuf_init(&sb, text, sizeof(text));
    dsql_sim_replay_describe(&sb, event);
    assert(sb.len > 0);
    dsql_slots_check(&event->keeper->slots);
}

/* What can be replayed can be gone on with: a world of it runs for a moment, and nothing is lost.
 */
static void go_on(struct dsql_span file)
{
    struct dsql_sim_origin origin;
    struct dsql_sim_scenario scenario;
    struct dsql_sim_world world;
    struct dsql_err err = {0};
    if (dsql_sim_origin_read(file, "fuzz", -1, &origin, &scenario, &err)) {
        assert(err.message[0] != '\0');
        return;
    }
    scenario.duration_ns = 2 * DSQL_S;
    if (dsql_sim_scenario_check(&scenario, "fuzz", &err) == DSQL_OK &&
        dsql_sim_world_init(&world, &scenario, 1, &err) == DSQL_OK) {
        (void)dsql_sim_world_advance(&world, DSQL_S);
        assert(world.checks.failure_count == 0);
        dsql_slots_check(&world.processes[0].keeper.slots);
        dsql_sim_world_fini(&world);
    }
    dsql_sim_scenario_fini(&scenario);
    dsql_sim_origin_fini(&origin);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dsql_sim_replay replay;
    struct dsql_err err = {0};
    uint8_t *bytes = malloc(size + (size_t)2 * DSQL_TRACE_HEADER);
    struct dsql_span as_is = {(const char *)data, size};
    if (dsql_sim_replay(as_is, watch, NULL, &replay, &err))
        assert(err.message[0] != '\0');
    /* The same bytes as the only chunk of a file: it begins with an opening. */
    const struct dsql_trace_chunk chunk = {.len = (uint32_t)size, .segment_size = 1 << 20};
    assert(bytes);
    memset(bytes, 0, size + (size_t)2 * DSQL_TRACE_HEADER);
    if (size > 0)
        memcpy(bytes + DSQL_TRACE_HEADER, data, size);
    dsql_trace_put_chunk(bytes, &chunk, bytes + DSQL_TRACE_HEADER);
    struct dsql_span framed = {(const char *)bytes, size + (size_t)2 * DSQL_TRACE_HEADER};
    if (dsql_sim_replay(framed, watch, NULL, &replay, &err))
        assert(err.message[0] != '\0');
    go_on(framed);
    free(bytes);
    return 0;
}

/* What is kept of a run for its charts and its summary: a row of numbers at every sample. */
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "sim/world.h"

enum dsql_rc dsql_sim_record_init(struct dsql_sim_record *record,
                                  const struct dsql_sim_scenario *scenario)
{
    *record = (struct dsql_sim_record){.services = scenario->services.count};
    record->sample_cap = (size_t)(scenario->duration_ns / scenario->sample_ns) + 2;
    record->samples = calloc(record->sample_cap, sizeof(*record->samples));
    record->open = calloc(record->sample_cap * record->services, sizeof(*record->open));
    record->in_use = calloc(record->sample_cap * record->services, sizeof(*record->in_use));
    record->service_open = calloc(record->services, sizeof(*record->service_open));
    record->service_in_use = calloc(record->services, sizeof(*record->service_in_use));
    if (record->samples && record->open && record->in_use && record->service_open &&
        record->service_in_use)
        return DSQL_OK;
    dsql_sim_record_fini(record);
    return DSQL_NO_MEMORY;
}

void dsql_sim_record_fini(struct dsql_sim_record *record)
{
    free(record->samples);
    free(record->open);
    free(record->in_use);
    free(record->service_open);
    free(record->service_in_use);
    free(record->marks);
    *record = (struct dsql_sim_record){0};
}

static void level_set(struct dsql_sim_level *level, int64_t value)
{
    level->now = value;
    if (value < level->low)
        level->low = value;
    if (value > level->high)
        level->high = value;
}

/* The level so far; a new interval begins at where it stands. */
static struct dsql_sim_level level_take(struct dsql_sim_level *level)
{
    struct dsql_sim_level taken = *level;
    level->low = level->high = level->now;
    return taken;
}

void dsql_sim_record_connections(struct dsql_sim_world *world)
{
    level_set(&world->record.connections, world->cluster.open);
}

void dsql_sim_record_held(struct dsql_sim_process *process)
{
    struct dsql_sim_record *record = &process->world->record;
    struct dsql_sim_level *open = &record->service_open[process->service_index];
    struct dsql_sim_level *in_use = &record->service_in_use[process->service_index];
    bool off = process->life == DSQL_SIM_OFF;
    int64_t now_open = off ? 0 : process->keeper.slots.open;
    int64_t now_in_use = off ? 0 : process->in_use;
    level_set(open, open->now + now_open - process->recorded_open);
    level_set(in_use, in_use->now + now_in_use - process->recorded_in_use);
    process->recorded_open = now_open;
    process->recorded_in_use = now_in_use;
}

void dsql_sim_record_sample(struct dsql_sim_world *world)
{
    struct dsql_sim_record *record = &world->record;
    struct dsql_sim_counts counts;
    if (record->sample_count == record->sample_cap)
        return;
    size_t row = record->sample_count++;
    struct dsql_sim_sample *sample = &record->samples[row];
    dsql_sim_world_counts(world, &counts);
    *sample = (struct dsql_sim_sample){
        .at = world->kernel.now,
        .connections = level_take(&record->connections),
        .attempts = counts.attempts,
        .opens = counts.opens,
        .empties = counts.empties,
        .requests = world->table.requests,
    };
    for (size_t i = 0; i < DSQL_DISCARDS; i++)
        sample->discards[i] = counts.discards[i];
    for (size_t i = 0; i < record->services; i++) {
        record->open[row * record->services + i] = level_take(&record->service_open[i]);
        record->in_use[row * record->services + i] = level_take(&record->service_in_use[i]);
    }
    uint64_t since =
        row > 0 ? counts.attempts - record->samples[row - 1].attempts : counts.attempts;
    if (since > record->peak_sample)
        record->peak_sample = since;
    since = world->table.requests - (row > 0 ? record->samples[row - 1].requests : 0);
    if (since > record->peak_requests)
        record->peak_requests = since;
}

void dsql_sim_record_mark(struct dsql_sim_world *world, const char *text, const char *where)
{
    struct dsql_sim_record *record = &world->record;
    if (!DSQL_GROW(record->marks, record->mark_cap, record->mark_count + 1)) {
        world->kernel.no_memory = true;
        return;
    }
    struct dsql_sim_mark *mark = &record->marks[record->mark_count++];
    *mark = (struct dsql_sim_mark){.at = world->kernel.now, .text = text};
    (void)snprintf(mark->where, sizeof(mark->where), "%s", where);
}

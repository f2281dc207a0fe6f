/* What is kept of a run for its charts and its summary: a row of numbers at every sample. */
#include <stdio.h>
#include <stdlib.h>

#include "sim/world.h"

enum dsql_rc dsql_sim_record_init(struct dsql_sim_record *record,
                                  const struct dsql_sim_scenario *scenario)
{
    *record = (struct dsql_sim_record){.services = scenario->services.count};
    record->sample_cap = (size_t)(scenario->duration_ns / scenario->sample_ns) + 2;
    record->samples = calloc(record->sample_cap, sizeof *record->samples);
    record->ready = calloc(record->sample_cap * record->services, sizeof *record->ready);
    record->in_use = calloc(record->sample_cap * record->services, sizeof *record->in_use);
    if (record->samples && record->ready && record->in_use)
        return DSQL_OK;
    dsql_sim_record_fini(record);
    return DSQL_NO_MEMORY;
}

void dsql_sim_record_fini(struct dsql_sim_record *record)
{
    free(record->samples);
    free(record->ready);
    free(record->in_use);
    free(record->marks);
    *record = (struct dsql_sim_record){0};
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
        .connections = world->cluster.open,
        .attempts = counts.attempts,
        .opens = counts.opens,
        .empties = counts.empties,
        .requests = world->table.requests,
    };
    for (size_t i = 0; i < DSQL_DISCARDS; i++)
        sample->discards[i] = counts.discards[i];
    for (size_t i = 0; i < world->process_count; i++) {
        const struct dsql_sim_process *process = &world->processes[i];
        size_t cell = row * record->services + process->service_index;
        if (process->life == DSQL_SIM_OFF)
            continue;
        record->ready[cell] += process->reservoir.open - process->in_use;
        record->in_use[cell] += process->in_use;
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
    if (record->mark_count == record->mark_cap) {
        size_t cap = record->mark_cap > 0 ? 2 * record->mark_cap : 16;
        struct dsql_sim_mark *marks = realloc(record->marks, cap * sizeof *marks);
        if (!marks) {
            world->kernel.no_memory = true;
            return;
        }
        record->marks = marks;
        record->mark_cap = cap;
    }
    struct dsql_sim_mark *mark = &record->marks[record->mark_count++];
    *mark = (struct dsql_sim_mark){.at = world->kernel.now, .text = text};
    (void)snprintf(mark->where, sizeof mark->where, "%s", where);
}

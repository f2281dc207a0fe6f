#include "local/front/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "pgwire/proto.h"

void dsql_pipeline_fini(struct dsql_pipeline *pipeline)
{
    free(pipeline->kinds);
    *pipeline = (struct dsql_pipeline){0};
}

static char at(const struct dsql_pipeline *pipeline, size_t i)
{
    return i < pipeline->count ? pipeline->kinds[pipeline->first + i] : '\0';
}

static bool is_end(char kind)
{
    return kind == DSQL_PG_FE_QUERY || kind == DSQL_PG_FE_SYNC;
}

static bool push(struct dsql_pipeline *pipeline, char kind)
{
    if (pipeline->first > 0 && pipeline->first + pipeline->count == pipeline->room) {
        memmove(pipeline->kinds, pipeline->kinds + pipeline->first, pipeline->count);
        pipeline->first = 0;
    }
    if (!DSQL_GROW(pipeline->kinds, pipeline->room, pipeline->count + 1))
        return false;
    pipeline->kinds[pipeline->first + pipeline->count++] = kind;
    pipeline->ends += is_end(kind);
    return true;
}

static void pop(struct dsql_pipeline *pipeline)
{
    bool end = is_end(at(pipeline, 0));
    pipeline->ends -= end;
    pipeline->passed += end;
    pipeline->first++;
    pipeline->gone++;
    pipeline->count--;
    if (pipeline->count == 0)
        pipeline->first = 0;
}

bool dsql_pipeline_sent(struct dsql_pipeline *pipeline, uint8_t type)
{
    switch (type) {
    case DSQL_PG_FE_PARSE:
    case DSQL_PG_FE_BIND:
    case DSQL_PG_FE_DESCRIBE:
    case DSQL_PG_FE_EXECUTE:
    case DSQL_PG_FE_CLOSE:
        pipeline->open = true;
        return pipeline->skipping || push(pipeline, (char)type);
    case DSQL_PG_FE_QUERY:
        pipeline->open = pipeline->skipping;
        return pipeline->skipping || push(pipeline, (char)type);
    case DSQL_PG_FE_SYNC:
        if (pipeline->copying)
            return true;
        pipeline->open = pipeline->skipping = false;
        return push(pipeline, (char)type);
    case DSQL_PG_FE_COPY_DONE:
    case DSQL_PG_FE_COPY_FAIL:
        if (pipeline->copying || pipeline->count == 0) {
            pipeline->copying = false;
            return true;
        }
        return push(pipeline, DSQL_PG_FE_COPY_DONE); /* a mark: it has no answer of its own */
    default:
        return true;
    }
}

/* Whether this is the last answer to such a message of the extended protocol. */
static bool answers(uint8_t type, char kind)
{
    switch (kind) {
    case DSQL_PG_FE_PARSE:
        return type == DSQL_PG_BE_PARSE_COMPLETE;
    case DSQL_PG_FE_BIND:
        return type == DSQL_PG_BE_BIND_COMPLETE;
    case DSQL_PG_FE_CLOSE:
        return type == DSQL_PG_BE_CLOSE_COMPLETE;
    case DSQL_PG_FE_DESCRIBE:
        return type == DSQL_PG_BE_ROW_DESCRIPTION || type == DSQL_PG_BE_NO_DATA;
    case DSQL_PG_FE_EXECUTE:
        return type == DSQL_PG_BE_COMMAND_COMPLETE || type == DSQL_PG_BE_EMPTY_QUERY ||
               type == DSQL_PG_BE_PORTAL_SUSPENDED;
    default:
        return false;
    }
}

/* What fails in the extended protocol takes everything up to the next Sync with it. */
static void fail(struct dsql_pipeline *pipeline)
{
    if (pipeline->count == 0 || is_end(at(pipeline, 0)))
        return;
    while (pipeline->count > 0 && at(pipeline, 0) != DSQL_PG_FE_SYNC)
        pop(pipeline);
    pipeline->copying = false;
    if (pipeline->count == 0)
        pipeline->open = pipeline->skipping = true;
}

/* PostgreSQL reads data now: it ignores every Sync up to their end. */
static void copy_in(struct dsql_pipeline *pipeline)
{
    size_t end = 1;
    while (at(pipeline, end) == DSQL_PG_FE_SYNC)
        end++;
    pipeline->ends -= end - 1;
    pipeline->passed += end - 1;
    pipeline->copying = end >= pipeline->count;
    if (at(pipeline, end) == DSQL_PG_FE_COPY_DONE)
        end++;
    if (pipeline->count == 0)
        return;
    /* The message that asked for COPY goes to the place of the last one that is taken off. */
    size_t off = end - 1;
    pipeline->kinds[pipeline->first + off] = at(pipeline, 0);
    pipeline->first += off;
    pipeline->gone += off;
    pipeline->count -= off;
}

/* Up to the first message that has such an answer: what stood in front of it got none. */
static void ready(struct dsql_pipeline *pipeline)
{
    pipeline->copying = false;
    bool ended = pipeline->ends == 0;
    while (!ended) {
        ended = is_end(at(pipeline, 0));
        pop(pipeline);
    }
}

void dsql_pipeline_heard(struct dsql_pipeline *pipeline, uint8_t type)
{
    if (type == DSQL_PG_BE_ERROR) {
        fail(pipeline);
    } else if (type == DSQL_PG_BE_COPY_IN) {
        copy_in(pipeline);
    } else if (type == DSQL_PG_BE_READY) {
        ready(pipeline);
    } else if (answers(type, at(pipeline, 0))) {
        pipeline->copying = false;
        pop(pipeline);
    }
    while (at(pipeline, 0) == DSQL_PG_FE_COPY_DONE) /* outside of COPY it means nothing */
        pop(pipeline);
}

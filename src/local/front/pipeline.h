/*
 * Which answers PostgreSQL still owes a client, in the order in which it gives them. A client may
 * send on without waiting, and not every message is answered: after an error in the extended
 * protocol PostgreSQL skips everything up to Sync, a Query too, and while it reads the data of COPY
 * it takes no notice of Sync. Who counts ReadyForQuery by what was sent waits for one that never
 * comes; so what is owed is kept message by message, and what is skipped is taken off.
 *
 * Words: an *end* is a message that is answered by ReadyForQuery: a Query or a Sync. *Skipping* is
 * PostgreSQL once an error was heard and until it gets a Sync.
 *
 * Rules: (PI1) skipping implies open; (PI2) `ends` is how many of the messages are ends. In doubt,
 * where a Sync stands among the data of a COPY that fails, too little is expected, never too much:
 * with the last ReadyForQuery everything is right again.
 */
#ifndef DSQL_LOCAL_PIPELINE_H
#define DSQL_LOCAL_PIPELINE_H

#include "base/defs.h"

/* All zero is one in which nothing was sent. */
struct dsql_pipeline {
    char *kinds; /* a letter for each message, those that will be answered first in front */
    size_t room, first, count;
    uint64_t ends;   /* of them */
    uint64_t gone;   /* messages that were answered, skipped or ignored since the beginning */
    uint64_t passed; /* ends that were answered, skipped or ignored since the beginning */
    bool open;       /* a message of the extended protocol was sent, and no Sync behind it */
    bool skipping;
    bool copying; /* PostgreSQL reads CopyData, whose end was not sent yet */
};

void dsql_pipeline_fini(struct dsql_pipeline *pipeline);

/* A message of this type (enum dsql_pg_fe_type) goes to PostgreSQL; false without memory. */
DSQL_MUST_USE bool dsql_pipeline_sent(struct dsql_pipeline *pipeline, uint8_t type);

/* A message of this type (enum dsql_pg_be_type) came from PostgreSQL. */
void dsql_pipeline_heard(struct dsql_pipeline *pipeline, uint8_t type);

/* The number of the message that is sent next, from the beginning. */
static inline uint64_t dsql_pipeline_next(const struct dsql_pipeline *pipeline)
{
    return pipeline->gone + pipeline->count;
}

/* Whether nothing is owed, and what was sent is closed by a Sync. */
static inline bool dsql_pipeline_is_quiet(const struct dsql_pipeline *pipeline)
{
    return pipeline->count == 0 && !pipeline->open;
}

#endif

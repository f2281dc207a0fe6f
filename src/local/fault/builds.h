/*
 * Index builds that take their time or fail, by request (the faults index-delay and index-fail).
 * The index is there at once but not valid, and its job is `submitted`; when it has taken as long
 * as the fault in force says, the front ends the job, as `completed` or `failed`, and that changes
 * the catalogue for everybody.
 * Without a fault a build is done at once, with the statement that asks for it.
 *
 * What is under way is kept in PostgreSQL (sys.dsql_builds): it survives the end of either.
 */
#ifndef DSQL_LOCAL_BUILDS_H
#define DSQL_LOCAL_BUILDS_H

#include "local/front/aside.h"

struct dsql_front;

struct dsql_builds {
    struct dsql_front *front;
    struct dsql_aside aside;
    struct dsql_timer timer;
    bool expected;   /* a fault may have struck: changes of the catalogue are worth a look */
    bool answered;   /* the question under way, by a row: */
    int64_t ended;   /* so many builds were */
    int64_t next_ns; /* until the next one ends; negative if there is none */
};

/* What becomes of a build. */
struct dsql_build_fate {
    bool slow, fails;
};

void dsql_builds_init(struct dsql_builds *builds, struct dsql_front *front);
void dsql_builds_fini(struct dsql_builds *builds);

/* The delay in force may have changed, or this is the start: an earlier run may have left some. */
void dsql_builds_resume(struct dsql_builds *builds);

/* Of a build that is about to be asked for. */
struct dsql_build_fate dsql_builds_fate(struct dsql_builds *builds);

/* The catalogue has changed: a build may have begun. */
void dsql_builds_look(struct dsql_builds *builds);

#endif

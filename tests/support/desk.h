/*
 * A driver for tests of the keeper: it carries out every step at once and in memory, as far as the
 * test lets it, and keeps the steps of the last turn. Connects stay under way until the test ends
 * them.
 */
#ifndef DSQL_TESTS_DESK_H
#define DSQL_TESTS_DESK_H

#include "core/keeper.h"

enum { DESK_SLOTS = 64, DESK_STEPS = 512 };

enum desk_preparation { DESK_PREPARED, DESK_NOT_YET, DESK_UNPREPARED };

struct desk {
    struct dsql_keeper k;
    struct dsql_mono now;
    uint32_t waiting;
    int64_t slots;   /* the budget's: granted up to so many, as far as they are asked for */
    int64_t permits; /* left */
    int64_t permit_wait_ns;
    double rate;
    enum desk_preparation preparation;
    enum dsql_connect_class unprepared; /* with what class */
    bool closes_later;                  /* desk_close_all() does it */
    bool ready[DESK_SLOTS];
    struct dsql_keeper_verdict verdict; /* of the last failure */
    struct dsql_keeper_step steps[DESK_STEPS];
    size_t count;
};

/* A keeper of so many slots with an hour's lives, a minute's guard and no start delay. */
struct dsql_keeper_config desk_config(uint32_t max_open, uint32_t target);

/* Plenty of slots and permits; it is DSQL_H. */
void desk_init(struct desk *desk, const struct dsql_keeper_config *config, uint64_t seed);
void desk_fini(struct desk *desk);

/* One turn; answers its last step, the SLEEP. */
struct dsql_keeper_step desk_turn(struct desk *desk);
/* Time passes, and a turn is taken. */
struct dsql_keeper_step desk_turn_after(struct desk *desk, int64_t ns);

/* Of the last turn: how many steps were like this, and the first of them. */
unsigned desk_count(const struct desk *desk, enum dsql_keeper_do what);
const struct dsql_keeper_step *desk_find(const struct desk *desk, enum dsql_keeper_do what);
unsigned desk_count_closes(const struct desk *desk, enum dsql_discard why);

/* All connects under way end well, and are ready. */
void desk_open_all(struct desk *desk);
/* All connects under way end badly. */
void desk_fail_all(struct desk *desk, enum dsql_connect_class cls);
/* The steps CLOSE of the last turn are carried out now. */
void desk_close_all(struct desk *desk);
/* Turns, and every connect ends well, until nothing more is opened. */
void desk_fill(struct desk *desk);
uint32_t desk_count_ready(const struct desk *desk);

/* The same steps, field by field. */
bool desk_equal(const struct dsql_keeper_step *a, const struct dsql_keeper_step *b);

#endif

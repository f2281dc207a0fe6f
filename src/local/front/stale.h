/*
 * OC001: a session works with a catalogue that it has read before, and learns at once, late or not
 * at all that another session changed it. Pure decisions.
 *
 * A change concerns a session that has used something of the names in the statement of DDL. CREATE
 * of something new and DROP of a table, view or sequence leave nothing of which a session could
 * have an old picture, and concern no session. A change whose names are not known (DROP SCHEMA,
 * GRANT of a role, the end of an index build) concerns every session. Of the sessions that it
 * concerns a part (`chance`) meets it, each after a time of its own up to `delay`: the first
 * statement that reads or writes, or the COMMIT, fails once.
 *
 * Single-threaded.
 */
#ifndef DSQL_LOCAL_STALE_H
#define DSQL_LOCAL_STALE_H

#include "base/time.h"
#include "local/rules/sql_stmt.h"

enum {
    DSQL_STALE_KEPT = 256,     /* changes that are remembered; older ones concern everybody */
    DSQL_STALE_NAMES = 8,      /* names of a change; one with more concerns everybody */
    DSQL_STALE_USED_BITS = 512 /* in which a session remembers what it used */
};

struct dsql_stale_options {
    double chance;    /* that a session which a change concerns meets it; 1 unless told */
    double own;       /* that the session that made the change does; 0 unless told */
    int64_t delay_ns; /* the longest time until one does; 0 unless told */
};

/* The names that a statement of DDL changes. */
struct dsql_stale_change {
    struct dsql_mono at;
    uint16_t names[DSQL_STALE_NAMES]; /* bits of `used` */
    uint8_t count;
    bool everybody;
};

/* What the endpoint remembers. */
struct dsql_stale {
    const struct dsql_stale_options *options;
    uint64_t changes; /* how many there were so far, and the number of the last */
    struct dsql_stale_change kept[DSQL_STALE_KEPT];
};

/* What a session remembers. */
struct dsql_stale_session {
    uint64_t id;    /* told apart by chance and delay */
    uint64_t known; /* changes up to this one are no news */
    bool lost;      /* the transaction was undone by DDL, and meets OC001 whatever it used */
    uint64_t used[DSQL_STALE_USED_BITS / 64];
    struct dsql_stale_change ddl; /* under way, not committed */
};

void dsql_stale_session_init(struct dsql_stale_session *session, const struct dsql_stale *stale,
                             uint64_t id);

/* The session has used what the statement names. */
void dsql_stale_use(struct dsql_stale_session *session, const struct dsql_sql_stmt *stmt);

enum dsql_stale_kind {
    DSQL_STALE_CHANGES, /* something that stays */
    DSQL_STALE_CREATES, /* what it names first was not there before */
    DSQL_STALE_REMOVES  /* what it names is not there afterwards */
};

/* The session runs DDL. */
void dsql_stale_ddl(struct dsql_stale_session *session, const struct dsql_sql_stmt *stmt,
                    enum dsql_stale_kind kind);

/* The session's DDL was committed; session is NULL for a change by no session. */
void dsql_stale_commit(struct dsql_stale *stale, struct dsql_stale_session *session,
                       struct dsql_mono now);

/* Whether the session fails now. Once: the retry passes. */
bool dsql_stale_strikes(const struct dsql_stale *stale, struct dsql_stale_session *session,
                        struct dsql_mono now);

#endif

/*
 * Between the files of the wire:
 *
 *     wire.c          what its users call
 *     wire_queue.c    entries on their way out
 *     wire_answer.c   answers on their way in
 *     wire_fail.c     what went wrong, and whose fault it is
 */
#ifndef DSQL_TX_WIRE_INTERNAL_H
#define DSQL_TX_WIRE_INTERNAL_H

#include "base/shown.h"
#include "tx/condition.h"
#include "tx/params.h"
#include "tx/verb.h"
#include "tx/wire.h"

enum dsql_wire_kind {
    DSQL_WIRE_BEGIN,
    DSQL_WIRE_PREPARE,
    DSQL_WIRE_STATEMENT,
    DSQL_WIRE_COMMIT,
    DSQL_WIRE_ROLLBACK,
    DSQL_WIRE_SYNC,
};

/* The caller's fence, copied: its strings may be gone when the answer comes. */
struct dsql_fence_note {
    int64_t rows;
    char entity[sizeof(((struct dsql_err *)0)->entity)];
    char key[sizeof(((struct dsql_err *)0)->key)];
    char token[128];
};

struct dsql_wire_entry {
    enum dsql_wire_kind kind;
    unsigned flags; /* of the statement */
    enum dsql_verb verb;
    bool wanted;   /* the result is kept */
    bool answered; /* a result came, be it an error; the NULL behind it may not yet have */
    char name[DSQL_STMT_NAME_MAX + 1];
    struct dsql_tx_prepared_key prepared;
    struct dsql_fence_note *fence;
    struct pg_result *result;
    int64_t affected;
};

/* wire_queue.c: all answer DSQL_OK when libpq took it. */
enum dsql_rc dsql_wire_queue_command(struct dsql_wire *wire, enum dsql_wire_kind kind,
                                     const char *sql);
enum dsql_rc dsql_wire_queue_sync(struct dsql_wire *wire);
enum dsql_rc dsql_wire_queue_statement(struct dsql_wire *wire, const struct dsql_stmt *stmt,
                                       const struct dsql_params *params,
                                       const struct dsql_fence *fence, bool wanted);

/* wire_answer.c: reads until everything queued is answered; the last entry is a Sync. */
enum dsql_rc dsql_wire_drain(struct dsql_wire *wire);

/* wire_fail.c: all answer the first failure, which is the one that stays. */
enum dsql_rc dsql_wire_fail(struct dsql_wire *wire, enum dsql_rc rc, const char *name,
                            const char *message);
/* The wait ended without an answer: by the deadline, by cancellation, or the connection broke. */
enum dsql_rc dsql_wire_fail_unanswered(struct dsql_wire *wire, enum dsql_rc rc, const char *why);
enum dsql_rc dsql_wire_fail_broken(struct dsql_wire *wire);
enum dsql_rc dsql_wire_fail_limit(struct dsql_wire *wire, enum dsql_rc rc);
/* A fence did not hold. */
void dsql_wire_fail_condition(struct dsql_wire *wire, const struct dsql_wire_entry *entry,
                              int64_t rows);
/* The server answered an entry with an error. */
void dsql_wire_fail_answered(struct dsql_wire *wire, const struct dsql_wire_entry *entry,
                             const struct pg_result *result);

/* The entry that an error outside of any answer belongs to. */
const char *dsql_wire_current(const struct dsql_wire *wire);
const char *dsql_wire_limit_text(enum dsql_rc rc);
/* libpq's own words for the last failure: their first line. */
struct dsql_shown dsql_wire_reason(const struct dsql_wire *wire);

/* Copies text, cut to fit; NULL is "". */
void dsql_wire_copy(char *out, size_t cap, const char *text);

#endif

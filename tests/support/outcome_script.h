/*
 * A random transaction as data, and what must become of it. Every row that a transaction writes is
 * a number in table m that tells which transaction, which try and which operation wrote it, so that
 * the table says afterwards what was applied.
 */
#ifndef DSQL_TESTS_OUTCOME_SCRIPT_H
#define DSQL_TESTS_OUTCOME_SCRIPT_H

#include "dsql/err.h"
#include "support/prop.h"

enum { SCRIPT_OPS_MAX = 6, SCRIPT_TRIES_MAX = 8 };

/* What a transaction does. Simpler ones first: a failing case shrinks to them. */
enum script_op_kind {
    OP_READ,
    OP_WRITE,  /* one row */
    OP_ROWS,   /* as many rows as the operation says, 0 too */
    OP_HIDDEN, /* the same behind a WITH that writes one more row */
    OP_FENCE,  /* OP_ROWS with a fence */
    OP_HIDDEN_FENCE,
    OP_RAISING,   /* OP_FENCE built with DSQL_RAISING */
    OP_DUPLICATE, /* 23505 */
    OP_ERROR,     /* 22012 */
    OP_SYNTAX,    /* 42601 */
    OP_TWO,       /* two statements in one text */
    OP_CONTROL,   /* COMMIT, ROLLBACK, ... as a statement */
    OP_COPY_OUT,
    OP_COPY_IN,
    OP_FORGET,     /* DEALLOCATE ALL */
    OP_DISCARD,    /* DISCARD ALL, which the service refuses */
    OP_PREPARE,    /* PREPARE as a statement */
    OP_TAKE_WRONG, /* a ticket of another transaction */
    OP_KINDS
};

enum script_how { HOW_EXEC, HOW_DEFER, HOW_SEND, HOW_COUNT };

struct script_op {
    enum script_op_kind kind;
    enum script_how how;
    bool prepared;
    int rows;       /* that it hits: 0, 1, 2, 9 */
    int fence_rows; /* that it must hit */
    int variant;
};

enum script_mode {
    MODE_RUN,
    MODE_MANUAL,
    MODE_SINGLE,
    MODE_SINGLE_MANUAL,
    MODE_SCRIPT, /* dsql_script_run(): everything is known beforehand, and nobody asks how it goes
                  */
    MODE_COUNT
};

enum script_fault {
    FAULT_NONE,
    FAULT_CONFLICT,
    FAULT_CONFLICT_COMMIT,
    FAULT_UNAVAILABLE,
    FAULT_UNAVAILABLE_COMMIT,
    FAULT_UNAVAILABLE_APPLIED,
    FAULT_CLOSE_COMMIT,
    FAULT_CLOSE_APPLIED,
    FAULT_SLOW, /* with a deadline */
    FAULT_COUNT
};

/* What another user of the same connection does before the transaction, by libpq. */
enum script_before {
    BEFORE_NOTHING,
    BEFORE_FORGET,
    BEFORE_DROP_OURS,
    BEFORE_TAKE_NAME,
    BEFORE_OWN,
    BEFORE_COUNT
};

struct script {
    int64_t serial; /* unlike any other's */
    enum script_before before;
    enum script_mode mode;
    enum script_fault fault;
    int retries;
    bool settles;    /* with a settle function; the first operation then marks the owner's row */
    bool ignores;    /* the body goes on after an error */
    bool rolls_back; /* manual: ends with a rollback */
    enum dsql_rc body_rc;
    int cancel_at; /* the operation before which a cancel is fired; -1 for none */
    int deadline_ms;
    int ops;
    struct script_op op[SCRIPT_OPS_MAX];
};

void script_draw(struct prop *p, int64_t serial, struct script *out);

/* One line for people. */
void script_show(const struct script *s, char *out, size_t cap);

/* The rows of an operation in a try: *first and how many. */
int script_rows(const struct script *s, int try_number, int op, int64_t *first);

/* What an outcome says of the changes. */
enum script_said { SAID_APPLIED = 1, SAID_NOT = 2, SAID_UNKNOWN = 4 };
enum script_said script_said(enum dsql_rc rc);

/* Which of them are right, as bits, should the service do what the script has it do. */
unsigned script_allowed(const struct script *s);

/* Whether it is one statement without BEGIN and COMMIT: a single-statement run, in which a second
 * operation is refused, or a script of one step. */
bool script_is_single(const struct script *s);

/* Whether its first operation is a transaction by itself that has changed something as soon as its
 * answer is there. */
bool script_applies_at_once(const struct script *s);

#endif

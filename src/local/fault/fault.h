/*
 * Faults on request: which are in force, and whether one strikes now. Pure decisions; the caller
 * does what the fault says. Each fault has a stream of chance of its own, so that the same seed
 * strikes the same transactions whatever other faults are in force.
 *
 * Single-threaded.
 */
#ifndef DSQL_LOCAL_FAULT_H
#define DSQL_LOCAL_FAULT_H

#include "base/rng.h"
#include "base/strbuf.h"

enum dsql_fault {
#define DSQL_FAULT(constant, name, kind, doc) DSQL_FAULT_##constant,
#include "local/fault/fault.def"
#undef DSQL_FAULT
    DSQL_FAULT_COUNT
};

enum dsql_fault_kind { DSQL_FAULT_CHANCE, DSQL_FAULT_LASTING, DSQL_FAULT_NOW };

struct dsql_fault_info {
    const char *name;
    enum dsql_fault_kind kind;
    const char *doc;
};
extern const struct dsql_fault_info dsql_fault_infos[DSQL_FAULT_COUNT];

struct dsql_faults {
    uint64_t seed;
    struct dsql_fault_state {
        double chance; /* of a CHANCE */
        int64_t times; /* strikes for sure so many times more */
        int64_t ns;    /* of a LASTING one */
        uint64_t struck;
        struct dsql_rng rng;
    } of[DSQL_FAULT_COUNT];
};

/* What is to be done at once. */
struct dsql_fault_order {
    double drop; /* this part of the open connections */
    bool stall;  /* for so long from now; 0 ends one */
    int64_t stall_ns;
};

/* 0.1 or 10%, from 0 to 1. */
bool dsql_fault_read_chance(struct dsql_span text, double *chance);

/* None in force, seed 1. */
void dsql_faults_init(struct dsql_faults *faults);

/* None in force any more; seed, streams and counts stay. */
void dsql_faults_clear(struct dsql_faults *faults);

/*
 * Takes a list of name=value, separated by commas or blanks; seed=N is one too and begins all
 * streams anew. All or, with DSQL_INVALID, nothing. *order is what has to be done now.
 */
DSQL_MUST_USE enum dsql_rc dsql_faults_set(struct dsql_faults *faults, struct dsql_span list,
                                           struct dsql_fault_order *order, struct dsql_err *err);

/* Ends the named ones, separated by commas or blanks. All or nothing. */
DSQL_MUST_USE enum dsql_rc dsql_faults_end(struct dsql_faults *faults, struct dsql_span names,
                                           struct dsql_err *err);

/* Whether a CHANCE strikes now; counted if it does. */
bool dsql_faults_strike(struct dsql_faults *faults, enum dsql_fault fault);

/* A LASTING one's duration; 0 if it is not in force. */
static inline int64_t dsql_faults_ns(const struct dsql_faults *faults, enum dsql_fault fault)
{
    return faults->of[fault].ns;
}

/* One line for each that is in force or has struck: name=value struck=N. */
void dsql_faults_list(const struct dsql_faults *faults, struct dsql_strbuf *out);

#endif

/*
 * One process's side of the protocol `leases`: a counter for the cluster, one lease for each
 * connection, one counter of connects for each second, as the Go plugin writes them, so that both
 * may share a table. Requests out, answers in, time passed in. The format needs wall clocks (a
 * second's counter, ttl_epoch); which owner is dead is decided without them.
 *
 * Three things are added. Leases are renewed, and carry owner and beat, so that they say something
 * about live connections. The counter says beside the sum how many of it are *ours*, renewed ones:
 * the rest belongs to the plugin, whose items DynamoDB deletes while the connections live, so that
 * they cannot be counted. And a reconciler takes away renewed leases whose owner's beat stood
 * still, and corrects our part of the counter; what is not ours it leaves alone.
 *
 * There is one request at a time; one that was not answered is repeated as it was. Each can be told
 * from having been applied before: leases have unique ids, and are put only where there is none;
 * they are renewed only where they have the beat that we know of, or already the new one.
 *
 * The network may deliver a request twice, and late. A copy of an ACQUIRE may so put leases that
 * no process holds any more: *strays*, which keep connections from others until their owner's
 * survey finds them standing still. No copy of anything gives a connection to two.
 *
 * Ids and beats are drawn afresh for each process (nonces), so two processes with one identity (a
 * cloned machine) hold the same leases only until both renew them: the second finds another's beat,
 * drops those leases and takes a new identity, which its other leases get when they are renewed.
 *
 * Invariants: (LE1) slots() counts leases that were confirmed, and for a short grace those found
 * missing; (LE2) a permit is used in the second it was drawn for; (LE3) nothing of an owner is
 * taken whose beat changed within the TTL and a half of our clock. Single-threaded.
 */
#ifndef DSQL_CORE_LEASES_H
#define DSQL_CORE_LEASES_H

#include "base/rng.h"
#include "core/allowance.h"

enum {
    DSQL_LEASE_HEX = 32,    /* characters of an id */
    DSQL_LEASES_BATCH = 48, /* in one transaction, beside the counter */
    DSQL_LEASE_OWNERS_MAX = 1024,
};

typedef char dsql_lease_id[DSQL_LEASE_HEX + 1];

struct dsql_leases_config {
    char owner[17];      /* 16 characters that no other process has */
    int64_t connections; /* of the cluster */
    int64_t headroom;    /* of them left unused */
    int64_t rate;        /* connects a second */
    int64_t ttl_ns;      /* of a lease */
    bool connects_only;  /* connections are not counted here: slots are what is wanted */
};

enum dsql_leases_kind {
    DSQL_LEASES_ACQUIRE, /* counter + count, put ids: if the counter stays within the limit */
    DSQL_LEASES_RELEASE, /* counter - count, delete ids: if they have the beat of `was`, or `beat`
                          */
    DSQL_LEASES_RENEW,   /* ids get the beat and the owner: likewise */
    DSQL_LEASES_CONNECT, /* count permits of the second: if they stay within the rate */
    DSQL_LEASES_SLOW,    /* uses up count permits of the second, whatever is there */
    DSQL_LEASES_LOOK,    /* reads the counter */
    DSQL_LEASES_SCAN,    /* reads a page of leases */
    DSQL_LEASES_REAP,    /* counter - count, delete ids: if they still have the beat */
    DSQL_LEASES_RECOUNT, /* counter = count, of which ours: if it is still active, updated_ms */
};

struct dsql_leases_op {
    enum dsql_leases_kind kind;
    int64_t count, beat, second;
    int64_t active, updated_ms, ours;
    uint64_t mark; /* a number of this request alone; every repetition has it */
    dsql_lease_id ids[DSQL_LEASES_BATCH];
    int64_t was[DSQL_LEASES_BATCH]; /* RENEW, RELEASE: the beats they have */
};

enum dsql_leases_outcome {
    DSQL_LEASES_OK,
    DSQL_LEASES_REFUSED,  /* the counter's condition did not hold */
    DSQL_LEASES_MISSING,  /* conditions of ids did not hold: see missing */
    DSQL_LEASES_CONFLICT, /* nothing was done; try again soon */
    DSQL_LEASES_LOST,     /* no answer: it may have been done or not */
};

/* A lease as a scan finds it. */
struct dsql_lease_found {
    dsql_lease_id id;
    char owner[17];
    int64_t beat;
    bool renewed;
};

struct dsql_leases_answer {
    enum dsql_leases_outcome outcome;
    bool missing[DSQL_LEASES_BATCH];      /* MISSING: which of ids */
    bool exists;                          /* LOOK: the counter */
    int64_t active, updated_ms;           /* LOOK */
    int64_t ours;                         /* LOOK: how many of `active` */
    const struct dsql_lease_found *found; /* SCAN: a page */
    size_t found_count;
    bool last; /* SCAN: there is no further page */
};

/* What the process wants. */
struct dsql_leases_need {
    int64_t want, used; /* slots */
    bool draining;
    bool left;  /* drained, and every lease is given back */
    bool asked; /* a permit was asked for, and there was none */
};

/* This process in the table. */
struct dsql_leases_self {
    int64_t beat;   /* the last one used: a number that grows, and random bits below it */
    uint64_t nonce; /* random bits for the request that is made now */
    bool spent;     /* another process may have our identity: the next request has another */
};

/* A lease of ours, and the beat it has in the table. */
struct dsql_lease_held {
    dsql_lease_id id;
    int64_t beat;
};

struct dsql_leases_held {
    struct dsql_lease_held *items;
    size_t count, room;
    struct dsql_mono fresh_until; /* the leases are ours until then, without another renewal */
    int64_t grace;                /* leases found missing that still count (LE1), */
    struct dsql_mono grace_until; /* until then */
    int64_t parcel;               /* how many are asked for at once; halved when refused */
    struct dsql_mono full_until;  /* the cluster is full: no lease is asked for before */
};

/* A round renews all leases, oldest first, a batch in each request. */
struct dsql_leases_round {
    struct dsql_mono at; /* when the next round is due */
    bool under_way;
    size_t renewed;        /* leases that the round has renewed so far */
    int64_t beat;          /* of all renewals of the round */
    struct dsql_mono sent; /* the round's first request */
};

/* Permits are drawn for a second of the wall clock (LE2). */
struct dsql_leases_connects {
    int64_t permits, second;
    int64_t draw;         /* how many are asked for at once; halved when refused */
    int64_t not_before;   /* no permits are drawn before this second */
    int64_t slow_seconds; /* seconds still to be reported as used up */
    int64_t slow_from;    /* the first of them */
};

/* The one request, and its repetitions. */
struct dsql_leases_request {
    struct dsql_leases_op op;
    bool under_way;
    bool repeat; /* the request was not answered, and is sent again as it is */
    struct dsql_mono sent, first_sent;
    struct dsql_mono retry_at;    /* nothing is sent before */
    unsigned failures, conflicts; /* in a row */
};

/* The counter is read now and then for people who watch the fleet, if no survey has read it. */
struct dsql_leases_glance {
    struct dsql_mono at;
    bool under_way; /* the LOOK under way is no part of a survey */
    int64_t active; /* the counter as it was last seen; -1: never */
};

/* A lease in the table that bears our name and is not held. */
struct dsql_lease_stray {
    dsql_lease_id id;
    int64_t beat;
    struct dsql_mono since;
    bool here; /* in the scan under way */
};

struct dsql_lease_owner {
    char id[17];
    struct dsql_lease_sight {
        int64_t leases, top;     /* how many leases; their highest beat */
        uint64_t sum;            /* of all their beats */
    } sight;                     /* what the last scan saw of the owner */
    struct dsql_lease_sight now; /* what the scan under way has seen so far */
    struct dsql_mono since;      /* when the owner last moved */
    struct dsql_mono steady;     /* since when the set of its leases has not changed */
    bool here;                   /* the scan under way has seen the owner */
    bool dead;                   /* the owner stood still for too long */
};

/* The reconciler: it reads the counter, all leases, and the counter again. */
struct dsql_leases_survey {
    struct dsql_mono at; /* when the next one is due */
    enum { SURVEY_IDLE, SURVEY_FIRST, SURVEY_SCAN, SURVEY_SECOND } stage;
    int64_t active, updated_ms; /* the counter before the scan */
    int64_t others;             /* how many of `active` are not ours */
    int64_t counted;            /* leases of the scan whose owners renew them */
    int64_t drift;              /* the counter's error as the survey before found it */
    struct dsql_mono drift_since;
    bool may_recount;
    struct dsql_lease_owner *owners;
    size_t owner_count;
    struct dsql_leases_op reap; /* the leases that the scan found to take away */
    char reap_owner[17];        /* the owner of the leases in `reap` */
    bool reap_strays;           /* that owner is this process */
    struct dsql_lease_stray strays[DSQL_LEASES_BATCH];
    size_t stray_count;
};

struct dsql_leases {
    struct dsql_allowance allowance;
    struct dsql_leases_config config;
    struct dsql_rng rng;
    struct dsql_leases_need need;
    struct dsql_leases_self self;
    struct dsql_leases_held held;
    struct dsql_leases_round round;
    struct dsql_leases_connects connects;
    struct dsql_leases_request request;
    struct dsql_leases_glance glance;
    struct dsql_leases_survey survey;
    struct {
        uint64_t throttled, recounts, strays;
        uint64_t copies; /* identities given up, because another process may have them */
    } counts;
};

DSQL_MUST_USE enum dsql_rc dsql_leases_init(struct dsql_leases *leases,
                                            const struct dsql_leases_config *config,
                                            struct dsql_rng rng, struct dsql_mono now);

/* A request to send now, or false; what else it is told and asked is core/allowance.h's:
 * leases->allowance. nonce: random bits that no copy of this process draws, so from the kernel. */
bool dsql_leases_next(struct dsql_leases *leases, struct dsql_moment now, uint64_t nonce,
                      struct dsql_leases_op *op);
/* Whether the condition on the i-th of its ids fails, for a table that is not DynamoDB; item: the
 * lease with that id, or NULL. */
bool dsql_leases_is_missing(const struct dsql_leases_op *op, int64_t i,
                            const struct dsql_lease_found *item);

/* Fails only with DSQL_NO_MEMORY, and then it counts as lost. */
DSQL_MUST_USE enum dsql_rc dsql_leases_answer(struct dsql_leases *leases, struct dsql_moment now,
                                              const struct dsql_leases_answer *answer);

#endif

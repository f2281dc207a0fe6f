/*
 * One owner's side of the protocol `blocks`: how a process shares the cluster's connections and
 * connects with a fleet it never talks to. Requests out, answers in, time passed in; no clock but
 * the caller's monotonic one is ever used, so clocks may differ by any amount.
 *
 * There is one request at a time. The network may deliver it twice, late, or lose its answer: each
 * request is conditional on the owner's last known beat and sets a new one, so at most one of those
 * in doubt is ever applied, once, and the next answer tells which. Until then the owner is
 * pessimistic: what it gave back is gone, what it asked for is not there. A request in doubt is one
 * that was not answered, or was refused for something that may come true again while a copy of it
 * is still under way.
 *
 * A beat is a random number, fresh for each request: no other process writes the same one. So a
 * refusal that shows our own beat in the table answers a copy of a request that was applied. One
 * that shows a beat we never wrote means that another process has our identity (a cloned machine):
 * the process that writes second takes a new identity, and begins anew. An identity joins once; an
 * owner that lost its block comes back under another.
 *
 * Connects: a block brings a flow of permits into the owner's purse, so opening costs no request as
 * long as the flow that goes with its share of the slots is enough. An owner that needs more than
 * that soon is *hurried*: it draws from the pot, takes what is free of its share of the rate, and
 * gives it back when it is done.
 *
 * Invariants: (BL1) slots(), the flow and the purse never exceed what the owner's block holds, or
 * held when it was last heard of; (BL2) permits are used only while the last confirmed beat is
 * younger than the TTL, and so is anything opened; (BL3) a block is taken away from another owner
 * only after its beat stood still for its TTL and two beats more of this owner's clock, with the
 * registry answering; (BL4) no answer at all closes no connection; (BL5) of two processes with one
 * identity only one goes on with it after both have written. Single-threaded.
 */
#ifndef DSQL_CORE_BLOCKS_H
#define DSQL_CORE_BLOCKS_H

#include "base/rng.h"
#include "core/allowance.h"
#include "core/bucket.h"
#include "core/registry.h"

enum {
    DSQL_BLOCKS_JOINS = 4, /* tries to join before another identity is taken */
    DSQL_BLOCKS_LATE =
        4, /* refused requests that are remembered before a plain beat settles them */
};

struct dsql_blocks_config {
    char id[DSQL_OWNER_ID_LEN + 1]; /* 16 hex digits that no other owner has; the first identity */
    char name[DSQL_OWNER_NAME_MAX + 1];
    int64_t connections; /* of the cluster */
    int64_t headroom;    /* of them kept free, for owners that are silent longer than the TTL */
    int64_t rate, burst;
    int64_t ttl_ns;
};

/* When the table was heard of. */
struct dsql_blocks_contact {
    bool known;             /* the table has an item, as far as we know */
    struct dsql_mono heard; /* when the last answer came */
    struct dsql_mono proof; /* when the request of that answer was sent */
};

/* A block of another owner, and since when it has been standing still for us. */
struct dsql_blocks_seen {
    char id[DSQL_OWNER_ID_LEN + 1];
    int64_t beat;
    struct dsql_mono since;
};

/* The other owners, sorted by id: a block that stands still too long is taken away (BL3). */
struct dsql_blocks_others {
    struct dsql_blocks_seen *items;
    size_t count, room;
};

/* This owner in the table: how its identity joins, and by which beats it knows its block again. */
struct dsql_blocks_member {
    bool joined;        /* the table has our block */
    bool left;          /* the block was given back, because the owner drains */
    bool spent;         /* this identity has had a block: it never joins again */
    int64_t beat;       /* of our block in the table, as far as we know */
    int64_t probe_beat; /* of the plain beat that settles a doubt, in each repetition; 0: none */
    /* Beats of this identity's JOINs, of which one may be applied. */
    int64_t joins[DSQL_BLOCKS_JOINS];
    size_t join_count;
    struct dsql_mono first_sent; /* the first JOIN of joins, or the first plain beat of the doubt */
};

/* What the table gives this owner, as far as we know (BL1), and until when that may be used. */
struct dsql_blocks_held {
    int64_t slots;
    int64_t flow;             /* thousandths of a permit, each second */
    int64_t purse_most;       /* permits that the purse may hold */
    int64_t told_flow;        /* the flow that the table says this owner wants */
    int64_t allow;            /* slots to keep: fewer than `slots` when others lack their share */
    struct dsql_bucket purse; /* in thousandths of a permit */
    struct dsql_mono fresh_until; /* (BL2) */
};

/* After a block is lost: connections in use that may stay a moment, for the next JOIN to cover. */
struct dsql_blocks_grace {
    struct dsql_mono until;
    int64_t slots;
};

/* A request to the table, and the permits that it takes from the pot and puts back there. */
struct dsql_blocks_request {
    bool pending; /* the rest of the struct counts */
    struct dsql_registry_op op;
    struct dsql_mono sent;
    int64_t drawn, returned;
};

/* Refused requests that only bring us something, of which a copy may yet be applied. */
struct dsql_blocks_late {
    struct {
        int64_t beat, drawn;
        struct dsql_mono sent;
    } items[DSQL_BLOCKS_LATE];
    size_t count;
};

/* What the process wants, and how it has been asking for permits. */
struct dsql_blocks_need {
    int64_t want, used; /* slots */
    bool draining;
    bool active;               /* a permit was asked for since the last beat */
    bool asked;                /* the last time there was none */
    bool helped;               /* a request ahead of the beat asked the table for more permits */
    bool hurrying;             /* draws from the pot until there is nothing more to open */
    int64_t opened_since_beat; /* permits used, but for hurried ones */
    int64_t opens_per_beat;    /* smoothed, in thousandths */
};

/* The cluster refused connects for their rate: the fleet's rate is halved, and recovers. */
struct dsql_blocks_throttle {
    bool pending;                /* the table has not been told yet */
    int64_t rate;                /* the rate that was too high */
    struct dsql_mono until;      /* no permit is given before */
    struct dsql_mono rate_since; /* when view.rate was first seen */
};

/* When the next request is due. */
struct dsql_blocks_pace {
    unsigned failures, refusals; /* in a row */
    unsigned starved;            /* answers in a row that had no free slot for us */
    struct dsql_mono retry_at;   /* nothing is sent before */
    struct dsql_mono beat_at;    /* the next beat */
    struct dsql_mono poll_at;    /* the next look for a free slot, if starved */
    int64_t jitter;              /* in thousandths of a wait */
};

/* For status and metrics. */
struct dsql_blocks_counts {
    uint64_t beats, requests, refused, lost, taken_away, blocks_lost;
    uint64_t throttled;
    uint64_t permits;  /* given */
    uint64_t waited;   /* of these, given after a request was made for them */
    uint64_t repeated; /* answers to a copy of what was applied before */
    uint64_t copies; /* identities given up, because another process or a late copy of our own JOIN
                        writes under them */
};

struct dsql_blocks {
    struct dsql_allowance allowance;
    struct dsql_blocks_config config;
    int64_t beat_ns; /* between two beats */
    int64_t gap_ns;  /* a longer silence of the table proves nothing about other owners */
    struct dsql_rng rng;

    struct dsql_registry view; /* the item as the last answer showed it */
    struct dsql_blocks_contact contact;
    struct dsql_blocks_others others;
    struct dsql_blocks_member member;
    struct dsql_blocks_held held;
    struct dsql_blocks_grace grace;

    struct dsql_blocks_request flight; /* pending: sent, and no answer has come yet */
    struct dsql_blocks_request doubt;  /* pending: its answer was lost, and it may be applied */
    struct dsql_blocks_late late;

    struct dsql_blocks_need need;
    struct dsql_blocks_throttle throttle;
    struct dsql_blocks_pace pace;
    struct dsql_blocks_counts counts;
};

/* connections, rate, burst, ttl_ns > 0; 0 <= headroom < connections. */
void dsql_blocks_init(struct dsql_blocks *blocks, const struct dsql_blocks_config *config,
                      struct dsql_rng rng, struct dsql_mono now);

/* The slots that the owner may hold, and the permits it has in hand. Everything else it is told and
 * asked goes through blocks->allowance (core/allowance.h). A draining owner without a connection
 * gives its block back, and has left; told to drain no longer, it joins again. */
int64_t dsql_blocks_slots(const struct dsql_blocks *blocks, struct dsql_mono now);
int64_t dsql_blocks_permits(const struct dsql_blocks *blocks, struct dsql_mono now);

/* A request to send now, or false. Every request is to be answered before there is another. nonce:
 * random bits that no copy of this process draws, so from the kernel and not from a generator. */
bool dsql_blocks_next(struct dsql_blocks *blocks, struct dsql_mono now, uint64_t nonce,
                      struct dsql_registry_op *op);

enum dsql_blocks_outcome {
    DSQL_BLOCKS_APPLIED, /* view is the item afterwards */
    DSQL_BLOCKS_REFUSED, /* a condition did not hold; view is the item as it is */
    DSQL_BLOCKS_LOST,    /* no answer, or none that says whether it was applied */
};
/* Fails only with DSQL_NO_MEMORY; then it counts as lost. */
DSQL_MUST_USE enum dsql_rc dsql_blocks_answer(struct dsql_blocks *blocks, struct dsql_mono now,
                                              enum dsql_blocks_outcome outcome,
                                              const struct dsql_registry *view);

/* How often an owner with this TTL beats. */
int64_t dsql_blocks_beat_ns(int64_t ttl_ns);

#endif

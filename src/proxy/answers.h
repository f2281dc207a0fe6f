/*
 * The answers that a client's messages will get, in the order in which the server gives them. What
 * the relay adds of its own (settings put in place, statements prepared again) has its entry too,
 * marked hidden: its answers are not the client's.
 *
 * Words: a *segment* is what lies between two Syncs, or a simple query. After an error in a
 * segment the server reads on to its Sync without an answer; entries up to there are *dropped*, and
 * their maker undoes what they were to do.
 */
#ifndef DSQL_PROXY_ANSWERS_H
#define DSQL_PROXY_ANSWERS_H

#include "proxy/statements.h"

enum dsql_answer_kind {
    DSQL_ANSWER_PARSE,
    DSQL_ANSWER_BIND,
    DSQL_ANSWER_DESCRIBE,
    DSQL_ANSWER_EXECUTE,
    DSQL_ANSWER_CLOSE,
    DSQL_ANSWER_SYNC,
    DSQL_ANSWER_QUERY,    /* or a function call: everything up to ReadyForQuery */
    DSQL_ANSWER_COPY_END, /* what ends COPY: a mark, without an answer of its own */
};

/* What the message does to the client's names once it is answered. */
enum dsql_answer_effect {
    DSQL_EFFECT_NONE,
    DSQL_EFFECT_DEFINED, /* the definition was added; undone: removed */
    DSQL_EFFECT_CLOSED,  /* the definition was removed; undone: added again */
    DSQL_EFFECT_ALL,     /* DEALLOCATE ALL: what follows has to wait for its answer */
    DSQL_EFFECT_HOME,    /* the client moves in (prepared.h): likewise; undone: it does not */
};

enum dsql_answer_purpose {
    DSQL_FOR_CLIENT,
    DSQL_FOR_PREPARE, /* hidden: what the client's next message needs; its error is the client's */
    DSQL_FOR_CHANGE,  /* hidden: settings are put in place */
    DSQL_FOR_READ,    /* hidden: settings are read back */
    DSQL_FOR_ASK,     /* hidden: whether there are setters (setters.h) */
    DSQL_FOR_GUARD,   /* hidden: nothing of the client's runs without its settings (guard.h) */
};

struct dsql_answer {
    enum dsql_answer_kind kind : 8;
    enum dsql_answer_purpose purpose : 8;
    enum dsql_answer_effect effect : 8;
    bool may_commit : 1;                /* lost, its outcome is unknown */
    bool cut : 1;                       /* what comes behind its first CommandComplete is ours */
    bool unnamed : 1;                   /* a Parse of the unnamed statement */
    bool begins : 1;                    /* a query that is BEGIN and no more */
    bool refused : 1;                   /* a Parse or PREPARE that must fail */
    bool late : 1;                      /* its answers are withheld (replay.h) */
    const char *tag;                    /* the client's command tag for it; NULL: the server's */
    struct dsql_definition *definition; /* whose names an error must carry; owned */
    struct dsql_renames *renames;       /* of the text that its errors are about, or NULL; owned */
    struct dsql_statement *statement;   /* that a Parse puts into the server's cache, or that was
                                           the unnamed one before; owned */
};

enum { DSQL_ANSWERS_MAX = 8192 };

/* All zero is empty. */
struct dsql_answers {
    struct dsql_answer *ring;
    uint32_t cap, first, count;
    uint32_t changes; /* entries that change something in the last segment, which is open, */
    uint32_t changes_earlier; /* such entries in the segments before */
    bool skipping;            /* an error came, and the Sync that ends its segment is not sent */
    bool copying;             /* the server reads CopyData */
};

void dsql_answers_fini(struct dsql_answers *answers);

/* Takes over what the entry refers to; false if memory is short (then that is released). */
DSQL_MUST_USE bool dsql_answers_push(struct dsql_answers *answers, struct dsql_answer entry);

/* The next one, or NULL. */
struct dsql_answer *dsql_answers_head(struct dsql_answers *answers);

/* The next one is answered: it is gone, and the caller releases it. */
struct dsql_answer dsql_answers_pop(struct dsql_answers *answers);
/* The one i places behind the next one. */
struct dsql_answer *dsql_answers_at(const struct dsql_answers *answers, uint32_t i);
void dsql_answer_release(struct dsql_answer *entry);

/* How many entries an error drops: from the head up to its Sync, without it. 0 where the head is a
 * Sync or a query, whose ReadyForQuery comes nevertheless. *skips: there is no Sync yet. */
uint32_t dsql_answers_dropped(struct dsql_answers *answers, bool *skips);

/* Whether an error that may still come skips what is sent now: messages of the extended protocol
 * are not answered, and no Sync is behind them. A query behind them does not end that. */
bool dsql_answers_may_skip(const struct dsql_answers *answers);

/* The server reads CopyData for the head: the Syncs that are already under way up to the end of
 * the data are not answered. */
void dsql_answers_copy_in(struct dsql_answers *answers);

/* Whether a message has to wait: what names mean depends on answers of earlier segments. */
static inline bool dsql_answers_are_uncertain(const struct dsql_answers *answers)
{
    return answers->changes_earlier > 0;
}

#endif

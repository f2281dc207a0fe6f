/*
 * What the rest of the library needs of dsql/credentials.h: the keys themselves, and a call when a
 * fetch has ended. The object is a cache with one thread around a fetch function; the chain is one
 * such function.
 *
 * Who frees it: its maker destroys it, which ends its fetches and wipes its keys; those who keep
 * the pointer hold the memory. The last of all of them frees it. After destroy() the object
 * answers DSQL_CLOSED to those who still hold it.
 *
 * Locks: lock guards the state; listeners_lock guards the list of listeners and is held while they
 * are called. Neither is taken while holding the other.
 */
#ifndef DSQL_AWS_CREDENTIALS_H
#define DSQL_AWS_CREDENTIALS_H

#include "aws/keys.h"
#include "base/clock.h"
#include "base/log.h"
#include "dsql/credentials.h"

/* How credentials are fetched. cancel_fd becomes readable when it has to stop. */
struct dsql_credentials_source {
    enum dsql_rc (*fetch)(struct dsql_credentials_source *self, int cancel_fd,
                          struct dsql_keys *keys, struct dsql_err *err);
    void (*destroy)(struct dsql_credentials_source *self); /* may be NULL */
};

struct dsql_credentials_setup {
    struct dsql_credentials_source *source; /* belongs to the credentials, also if new() fails */
    const struct dsql_clock *clock;         /* NULL: the system's */
    struct dsql_log *log;                   /* NULL: the process's */
    uint64_t seed;                          /* of the back-off's jitter; 0: from the system */
};

DSQL_MUST_USE enum dsql_rc dsql_credentials_make(const struct dsql_credentials_setup *setup,
                                                 struct dsql_credentials **credentials,
                                                 struct dsql_err *err);

/* For those who keep a pointer to it. */
struct dsql_credentials *dsql_credentials_hold(struct dsql_credentials *credentials);
/* NULL is fine. */
void dsql_credentials_release(struct dsql_credentials *credentials);

/*
 * A copy of the current keys. Waits at most wait_ns for them: with 0 it never blocks, starts a
 * fetch if one is needed, and answers DSQL_TIMEOUT while that is under way. A caller
 * that got DSQL_TIMEOUT is told through its listener when the fetch has ended, well or not.
 */
DSQL_MUST_USE enum dsql_rc dsql_credentials_get(struct dsql_credentials *credentials,
                                                int64_t wait_ns, struct dsql_keys *keys,
                                                struct dsql_err *err);

/* The generation of the newest keys: by which a caller sees whether its own are the newest. */
uint64_t dsql_credentials_generation(const struct dsql_credentials *credentials);

/* Called from the fetching thread after each fetch. It must be short and must not call back into
 * the credentials; waking a thread is what it is for. */
struct dsql_credentials_listener {
    void (*fetched)(struct dsql_credentials_listener *self);
    struct dsql_credentials_listener *next_; /* hands off */
};
void dsql_credentials_listen(struct dsql_credentials *credentials,
                             struct dsql_credentials_listener *listener);
/* When it returns, the listener is not running and will not be called again. */
void dsql_credentials_unlisten(struct dsql_credentials *credentials,
                               struct dsql_credentials_listener *listener);

#endif

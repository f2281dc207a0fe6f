/*
 * The endpoint's addresses, looked up in a thread of its own for each lookup, because a lookup may
 * block for seconds. Known ones serve while they are looked up again. Asked by the opener alone.
 */
#ifndef DSQL_POOL_RESOLVER_H
#define DSQL_POOL_RESOLVER_H

#include "base/clock.h"

enum { DSQL_RESOLVED_SIZE = 64 };

struct dsql_resolver;

/* wake(arg) is called from another thread when a lookup has ended; not after _destroy(). */
DSQL_MUST_USE enum dsql_rc dsql_resolver_new(const char *host, void (*wake)(void *arg), void *arg,
                                             struct dsql_resolver **resolver);
/* Does not wait for a lookup that is under way. NULL is fine. */
void dsql_resolver_destroy(struct dsql_resolver *resolver);

/*
 * An address to connect to, as text. DSQL_TIMEOUT: it is being looked up. DSQL_LOST: the name could
 * not be resolved; *err says why, once for each lookup, and the next call looks it up again.
 */
DSQL_MUST_USE enum dsql_rc dsql_resolver_address(struct dsql_resolver *resolver,
                                                 struct dsql_mono now,
                                                 char address[DSQL_RESOLVED_SIZE],
                                                 struct dsql_err *err);

/* A connect to the address failed: the next one is tried, and the name is looked up again. */
void dsql_resolver_failed(struct dsql_resolver *resolver);

#endif

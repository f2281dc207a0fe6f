/*
 * A client's settings are put in place in the same round trip as its first statement. The server
 * itself sees to it that the statement does not run if they are not in force:
 *
 *     Query     select set_config(...), ...          the change
 *     Parse, Bind, Execute                           the check: an error unless they are in force
 *     Parse     "dsql proxy guard N"                 the guard: skipped after that error
 *     Sync
 *     Describe  "dsql proxy guard N"                 an error if there is no guard
 *     Close     "dsql proxy guard N"
 *     ...       the client's part: what it sent, up to its first Query or Sync; skipped after
 *               that error
 *
 * The check is a transaction of its own, behind the end of the change: Aurora DSQL may refuse the
 * end of a transaction (OC001), and undoes its settings then, but no statement that it has
 * prepared. What the client sends behind its part waits until the guard is answered.
 *
 * Words: the guard *passes* when Describe and Close are answered, and *refuses* when one of them
 * fails.
 *
 * Invariants: (G1) nothing of the proxy's ends the client's part: what stands behind such a Sync
 * would run though the guard refuses; (G2) a connection never has two guards with one number; (G3)
 * what is put back, to be sent again, has not run: the guard refused, the server said goodbye
 * before the guard passed, or the connection was lost and nothing in it may commit; (G4) at most
 * DSQL_GUARD_BYTES are kept for that.
 */
#ifndef DSQL_PROXY_GUARD_H
#define DSQL_PROXY_GUARD_H

#include "pgwire/frame.h"

enum { DSQL_GUARD_BYTES = 64 << 10 };

struct dsql_client;
struct dsql_guard;
struct dsql_server;

/*
 * Puts the client's settings in place, which differ from those of its connection, with a guard
 * behind them. False: this message, the client's first one, can't go behind a guard, or memory is
 * short; nothing was put.
 */
bool dsql_guard_begin(struct dsql_client *client, const struct dsql_pg_piece *piece);

/* Whether a guard is not answered and what comes next from the client has to wait for that. bytes:
 * the client's, not looked at yet. */
bool dsql_guard_holds(struct dsql_client *client, struct dsql_span bytes);
/* Whether a guard is not answered and this message has to wait for that. */
bool dsql_guard_holds_message(struct dsql_client *client, const struct dsql_pg_piece *piece);
/* Whether the client's part has ended. */
bool dsql_guard_is_closed(const struct dsql_client *client);
/* The message was relayed. */
void dsql_guard_note(struct dsql_client *client, const struct dsql_pg_piece *piece);

/* The server says error before the guard passed: true if that was dealt with. */
bool dsql_guard_error(struct dsql_server *server, const struct dsql_pg_piece *piece);
/* The guard passes. */
void dsql_guard_passed(struct dsql_client *client);
/* A ReadyForQuery that is not the client's: what the guard refused is put back. */
void dsql_guard_ready(struct dsql_client *client);

/* Whether nothing of the client's part has run, for sure, or had an effect. */
bool dsql_guard_is_unspent(const struct dsql_client *client, bool may_have_committed);
/* Puts the client's part in front of what is held, as if it had just come. */
void dsql_guard_put_back(struct dsql_client *client);
void dsql_guard_free(struct dsql_client *client);

#endif

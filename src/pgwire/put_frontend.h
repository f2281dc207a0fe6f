/*
 * Saying what a client says. Each call appends one message; see put.h for what happens when it does
 * not fit. Parse and Bind take what the parser gives, so that a message is passed on with another
 * name by changing that member only.
 */
#ifndef DSQL_PGWIRE_PUT_FRONTEND_H
#define DSQL_PGWIRE_PUT_FRONTEND_H

#include "pgwire/frontend.h"
#include "pgwire/put.h"
#include "pgwire/startup.h"

/* StartupMessage of protocol 3.0. */
void dsql_pg_put_startup(struct dsql_strbuf *out, const struct dsql_pg_param *params, size_t count);

void dsql_pg_put_query(struct dsql_strbuf *out, struct dsql_span sql);
void dsql_pg_put_parse(struct dsql_strbuf *out, const struct dsql_pg_parse *parse);
void dsql_pg_put_bind(struct dsql_strbuf *out, const struct dsql_pg_bind *bind);
void dsql_pg_put_describe(struct dsql_strbuf *out, enum dsql_pg_object object,
                          struct dsql_span name);
void dsql_pg_put_close(struct dsql_strbuf *out, enum dsql_pg_object object, struct dsql_span name);

/* max_rows 0: all. */
void dsql_pg_put_execute(struct dsql_strbuf *out, struct dsql_span portal, int32_t max_rows);

void dsql_pg_put_sync(struct dsql_strbuf *out);
void dsql_pg_put_flush(struct dsql_strbuf *out);

#endif

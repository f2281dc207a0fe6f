/*
 * Saying what a server says. Each call appends one message; see put.h for what happens when it does
 * not fit. Errors and notices are in report.h.
 */
#ifndef DSQL_PGWIRE_PUT_BACKEND_H
#define DSQL_PGWIRE_PUT_BACKEND_H

#include "pgwire/backend.h"
#include "pgwire/put.h"
#include "pgwire/startup.h"

void dsql_pg_put_auth_ok(struct dsql_strbuf *out);
void dsql_pg_put_auth_cleartext(struct dsql_strbuf *out);
void dsql_pg_put_parameter_status(struct dsql_strbuf *out, struct dsql_span name,
                                  struct dsql_span value);
void dsql_pg_put_key_data(struct dsql_strbuf *out, uint32_t pid, uint32_t key);
void dsql_pg_put_ready(struct dsql_strbuf *out, enum dsql_pg_tx status);

/* To a StartupMessage that dsql_pg_startup_must_negotiate(): names all its protocol options. */
void dsql_pg_put_negotiate_version(struct dsql_strbuf *out, uint16_t newest_minor,
                                   const struct dsql_pg_startup *startup);

void dsql_pg_put_row_description(struct dsql_strbuf *out, const struct dsql_pg_column *columns,
                                 size_t count);
void dsql_pg_put_data_row(struct dsql_strbuf *out, const struct dsql_pg_value *values,
                          size_t count);
void dsql_pg_put_parameter_description(struct dsql_strbuf *out, const uint32_t *oids, size_t count);
void dsql_pg_put_command_complete(struct dsql_strbuf *out, struct dsql_span tag);
void dsql_pg_put_empty_query(struct dsql_strbuf *out);
void dsql_pg_put_parse_complete(struct dsql_strbuf *out);
void dsql_pg_put_bind_complete(struct dsql_strbuf *out);
void dsql_pg_put_close_complete(struct dsql_strbuf *out);
void dsql_pg_put_no_data(struct dsql_strbuf *out);

#endif

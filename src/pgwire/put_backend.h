/*
 * Saying what a server says. Each call appends one message; see put.h for what happens when it does
 * not fit. Errors and notices are in report.h.
 */
#ifndef DSQL_PGWIRE_PUT_BACKEND_H
#define DSQL_PGWIRE_PUT_BACKEND_H

#include "pgwire/put.h"
#include "pgwire/report.h"
#include "pgwire/startup.h"

enum dsql_pg_auth_kind {
    DSQL_PG_AUTH_OK = 0,
    DSQL_PG_AUTH_CLEARTEXT = 3,
    DSQL_PG_AUTH_SASL = 10, /* data: names of mechanisms, each terminated, then an empty one */
    DSQL_PG_AUTH_SASL_CONTINUE = 11,
    DSQL_PG_AUTH_SASL_FINAL = 12,
};

struct dsql_pg_column {
    struct dsql_span name;
    uint32_t table; /* 0 if it is no column of a table */
    int16_t number; /* within the table */
    uint32_t type;
    int16_t type_len;
    int32_t type_mod;
    int16_t format;
};

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
void dsql_pg_put_command_complete(struct dsql_strbuf *out, struct dsql_span tag);
void dsql_pg_put_empty_query(struct dsql_strbuf *out);

#endif

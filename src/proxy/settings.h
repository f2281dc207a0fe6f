/*
 * The parameters a session of Aurora DSQL may set, as values of one moment: a client's, or those in
 * force on a server connection. A vector is never changed once it is made; its holders have
 * references. Two parameters that only the service knows (dsql.enable_batched_nestloop and
 * disable_sync_create_index) can't be read back: who sets one keeps its connection.
 */
#ifndef DSQL_PROXY_SETTINGS_H
#define DSQL_PROXY_SETTINGS_H

#include "base/strbuf.h"
#include "pgwire/lists.h"

enum {
    DSQL_PARAMETER_APPLICATION_NAME = 0,
    DSQL_PARAMETER_CLIENT_ENCODING = 1,
    DSQL_PARAMETERS = 15
};

struct dsql_settings {
    unsigned refs;
    uint64_t literals; /* hash of those that literals are read with: client_encoding to timezone */
    uint64_t names;    /* hash of those that names and plans depend on: search_path and the rest */
    char *values[DSQL_PARAMETERS]; /* never NULL */
};

/* "application_name" for 0. */
const char *dsql_parameter_name(size_t i);

/* The place of a parameter, in any case of letters; DSQL_PARAMETERS if it has none. */
size_t dsql_parameter_find(struct dsql_span name);

/* Whether the text may change settings without being a SET: set_config(), which may be written with
 * escapes, or an UPDATE of pg_settings. */
bool dsql_settings_may_change(struct dsql_span text);

/* Whether the text sets a parameter that can't be read back. */
bool dsql_settings_are_hidden(struct dsql_span text);

/* From a row of dsql_settings_put_read(); NULL if it is no such row or memory is short. */
struct dsql_settings *dsql_settings_of_row(struct dsql_pg_values row);
/* A copy with one other value; NULL if memory is short. */
struct dsql_settings *dsql_settings_with(const struct dsql_settings *settings, size_t i,
                                         struct dsql_span value);
struct dsql_settings *dsql_settings_ref(struct dsql_settings *settings);
void dsql_settings_unref(struct dsql_settings *settings);

bool dsql_settings_eq(const struct dsql_settings *a, const struct dsql_settings *b);

/* The statement that reads them all, as one row. */
void dsql_settings_put_read(struct dsql_strbuf *sql);

/* What a statement takes back to its default: RESET, SET ... TO DEFAULT. */
struct dsql_settings_reset {
    size_t which; /* the parameter; DSQL_PARAMETERS: all */
    bool local;   /* for the transaction only */
};

/* Whether the text is one statement that does so. */
bool dsql_settings_are_reset(struct dsql_span text, struct dsql_settings_reset *reset);

/* The statement that goes behind such a one, for a client whose defaults are `initial` on a
 * connection whose defaults are `base`. Empty if there is nothing to mend. */
void dsql_settings_put_reset(struct dsql_strbuf *sql, const struct dsql_settings *base,
                             const struct dsql_settings *initial, struct dsql_settings_reset reset);

/* The statement that turns `from` into `to`; from NULL: unknown, all are set. Empty if they are
 * equal. */
void dsql_settings_put_change(struct dsql_strbuf *sql, const struct dsql_settings *from,
                              const struct dsql_settings *to);

/* The same for those that literals are read with. */
void dsql_settings_put_literals(struct dsql_strbuf *sql, const struct dsql_settings *from,
                                const struct dsql_settings *to);

/* The statement that fails unless what the change sets is in force; there is a change. */
void dsql_settings_put_check(struct dsql_strbuf *sql, const struct dsql_settings *from,
                             const struct dsql_settings *to);

#endif

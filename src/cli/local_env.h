/*
 * The environment of a local endpoint's clients, in the form that its reader needs: a shell, a
 * program, a file .env. The endpoint tells "NAME=value" lines; what depends on the machine and the
 * environment that the client runs in is added here.
 */
#ifndef DSQL_CLI_LOCAL_ENV_H
#define DSQL_CLI_LOCAL_ENV_H

#include "base/span.h"
#include "base/strbuf.h"

enum { DSQL_LOCAL_ENV_MAX = 32 << 10 };

enum dsql_env_format {
    DSQL_ENV_PLAIN,  /* NAME=value, one a line */
    DSQL_ENV_SHELL,  /* export NAME='value', for any POSIX shell */
    DSQL_ENV_JSON,   /* one object */
    DSQL_ENV_DOTENV, /* NAME=value, quoted where it must be */
};

/* "shell", "json" or "dotenv"; false if it is none of them. */
bool dsql_env_format_of(struct dsql_span name, enum dsql_env_format *format);

/* What the client's own surroundings say. */
struct dsql_env_place {
    struct dsql_span hosts;        /* the text of the file of hosts */
    struct dsql_span java_options; /* JAVA_TOOL_OPTIONS as it is; kept in front of ours */
};

/* Whether the file of hosts says that name is at 127.0.0.1. */
bool dsql_hosts_have(struct dsql_span hosts, struct dsql_span name);

/*
 * Adds the lines that an endpoint told in the format. A line that names no variable of PG*, AWS_*,
 * DSQL_* and the few others that are known is left out: what answers at the socket shall not set
 * PATH. If the file of hosts knows the name in CLUSTER_ENDPOINT, the host is that instead of
 * localhost. JAVA_TOOL_OPTIONS is made for the file in DSQL_LOCAL_TRUST_STORE.
 */
void dsql_local_env_write(struct dsql_strbuf *out, struct dsql_span lines,
                          const struct dsql_env_place *place, enum dsql_env_format format);

/* Calls dsql_local_env_write() with the environment and files of this process. */
void dsql_local_env_write_here(struct dsql_strbuf *out, struct dsql_span lines,
                               enum dsql_env_format format);

/* Whether this machine's file of hosts says that name is at 127.0.0.1. */
bool dsql_hosts_have_here(const char *name);

/* The value as one word of a POSIX shell, whatever is in it. */
void dsql_local_add_quoted(struct dsql_strbuf *out, struct dsql_span value);

#endif

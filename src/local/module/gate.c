/*
 * Who may connect. The endpoint makes two secrets at each start and writes them into the
 * postmaster's standard input: one for the sessions of clients, one for its own. A connection
 * brings one of them in its startup packet as the parameter dsql.secret, which is taken out before
 * PostgreSQL looks at the parameters: it never becomes a setting. The secrets are in no file, no
 * argument and no environment; here they live in memory that no SQL reaches.
 *
 * A client's secret never lets the superuser in: a mistake of the front's about names does not make
 * one.
 */
#include "local/module/module.h"

#include "local/process/first_sql.h"

/* The struct of a connection is the same without Kerberos, whose headers are then not needed. */
#undef ENABLE_GSS
#include <libpq/auth.h>
#include <miscadmin.h>
#include <replication/walsender.h>
#include <unistd.h>
#include <utils/memutils.h>

static char client_secret[DSQL_LOCAL_SECRET_LEN], own_secret[DSQL_LOCAL_SECRET_LEN];
static ClientAuthentication_hook_type previous;

static bool read_secret(char *secret)
{
    Size have = 0;
    while (have < DSQL_LOCAL_SECRET_LEN) {
        ssize_t got = read(STDIN_FILENO, secret + have, DSQL_LOCAL_SECRET_LEN - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        have += (Size)got;
    }
    return true;
}

/* In time that does not depend on the bytes. */
static bool is_secret(const char *secret, const char *value)
{
    unsigned char different = 0;
    if (!value || strlen(value) != DSQL_LOCAL_SECRET_LEN)
        return false;
    for (Size i = 0; i < DSQL_LOCAL_SECRET_LEN; i++)
        different |= (unsigned char)(secret[i] ^ value[i]);
    return different == 0;
}

/* Takes the parameter out of the list of names and values; NULL if it is not there. */
static char *take_value(Port *port)
{
    List *rest = NIL;
    ListCell *cell;
    char *value = NULL;
    MemoryContext caller = MemoryContextSwitchTo(TopMemoryContext); /* as long as the port */
    for (cell = list_head(port->guc_options); cell;) {
        char *name = lfirst(cell);
        cell = lnext(port->guc_options, cell);
        char *of_name = lfirst(cell);
        cell = lnext(port->guc_options, cell);
        if (strcmp(name, DSQL_LOCAL_SECRET_NAME) == 0)
            value = of_name;
        else
            rest = lappend(lappend(rest, name), of_name);
    }
    MemoryContextSwitchTo(caller);
    port->guc_options = rest;
    return value;
}

static void on_authentication(Port *port, int status)
{
    if (previous)
        previous(port, status);
    char *value = take_value(port);
    bool own = strcmp(port->user_name, DSQL_LOCAL_SUPERUSER) == 0;
    bool known = is_secret(own ? own_secret : client_secret, value);
    if (value)
        explicit_bzero(value, strlen(value));
    if (status != STATUS_OK)
        return;
    if (!known || am_walsender || strcmp(port->database_name, "postgres") != 0)
        ereport(FATAL, (errcode(ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION),
                        errmsg("only the endpoint of dsql local connects here")));
}

void dsql_gate_init(void)
{
    if (!IsPostmasterEnvironment)
        return;
    if (!read_secret(client_secret) || !read_secret(own_secret))
        ereport(FATAL, (errmsg("the endpoint of dsql local gave no secrets")));
    previous = ClientAuthentication_hook;
    ClientAuthentication_hook = on_authentication;
}

#include "proxy/setters.h"

#include "proxy/proxy.h"

/* Operators by their full names: the search_path in force may be anybody's. Bodies of SQL are text,
 * or trees in which a call has the number of its function. What PostgreSQL brings has numbers below
 * 16384. */
#define CALLS                                                                                                \
    "operator(pg_catalog.~~) any (select '%:funcid ' operator(pg_catalog.||) p.oid operator(pg_catalog.||) " \
    "' %' from pg_catalog.pg_proc p where p.proname operator(pg_catalog.=) 'set_config')"
const char dsql_setters_sql[] =
    "select exists (select from pg_catalog.pg_proc where oid operator(pg_catalog.>=) 16384 and ("
    "prosrc operator(pg_catalog.~*) '(set_config|(^|;)\\s*(re)?set\\M)' or prosqlbody::text " CALLS
    "))"
    " or exists (select from pg_catalog.pg_rewrite where ev_class operator(pg_catalog.>=) 16384 and "
    "ev_action::text " CALLS
    ") or exists (select from pg_catalog.pg_attrdef where adbin::text " CALLS ")";

void dsql_setters_ended(struct dsql_client *client)
{
    struct dsql_setters *setters = &client->proxy->setters;
    if (client->creates) {
        setters->made++;
        setters->there = true; /* until the catalogue says otherwise */
    }
    client->creates = false;
    client->settings_dirty |= setters->there;
}

bool dsql_setters_ask(struct dsql_client *client, struct dsql_mono now)
{
    struct dsql_setters *setters = &client->proxy->setters;
    bool long_ago = dsql_mono_since(now, setters->asked_at) >= DSQL_SETTERS_NS;
    bool due = !setters->asking && setters->made != setters->known;
    if (!due && !long_ago) /* an answer may be lost with its connection */
        return false;
    setters->asking = true;
    setters->asked_at = now;
    setters->asked = setters->made;
    dsql_relay_hidden_query(client, dsql_span_of(dsql_setters_sql), DSQL_FOR_ASK);
    return true;
}

void dsql_setters_answer(struct dsql_setters *setters, const struct dsql_pg_piece *piece)
{
    if (!piece->last || piece->body.len == 0)
        return;
    setters->asking = false;
    setters->known = setters->asked;
    setters->there = setters->made != setters->known || piece->body.ptr[piece->body.len - 1] == 't';
}

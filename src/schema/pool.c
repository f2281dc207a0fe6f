/* Whether the cluster of a pool has the tables that statements were written for. */
#include <stdio.h>

#include "base/shown.h"
#include "dsql/pool.h"
#include "schema/schema.h"

/* The first findings as text, as many as a message takes. */
struct list {
    struct dsql_strbuf text;
    size_t told, left_out;
};
enum { TOLD_MAX = 4 };

static void add(void *arg, const char *state, const char *what, struct dsql_span name,
                const char *detail)
{
    struct list *list = arg;
    if (list->told == TOLD_MAX) {
        list->left_out++;
        return;
    }
    dsql_strbuf_addf(&list->text, "%s%s %s %.*s%s%s", list->told++ > 0 ? "; " : "", state, what,
                     DSQL_SPAN_ARG(name), detail[0] ? ": " : "", dsql_shown_str(detail).text);
}

enum dsql_rc dsql_schema_verify_pool(const struct dsql_schema *schema, struct dsql_pool *pool,
                                     int64_t wait_ns, struct dsql_err *err)
{
    char text[400];
    struct list list = {0};
    struct dsql_schema_watch watch = {.see = add, .arg = &list};
    struct dsql_schema_findings found;
    struct dsql_conn *conn;
    enum dsql_rc rc = dsql_pool_checkout(pool, wait_ns, &conn, err);
    if (rc)
        return rc;
    dsql_strbuf_init(&list.text, text, sizeof(text));
    rc = dsql_schema_verify(schema, dsql_conn_pg(conn), &watch, &found, err);
    dsql_pool_return(conn);
    if (rc || found.mendable + found.shapes == 0)
        return rc;
    char more[40] = "";
    if (list.left_out > 0)
        (void)snprintf(more, sizeof(more), "; and %zu more", list.left_out);
    (void)dsql_err_set(err, DSQL_CONDITION_FAILED,
                       "the tables in the cluster are not those of the %s's schema %s: %s%s",
                       schema->name, schema->version, text, more);
    dsql_err_hint(err, found.shapes > 0
                           ? DSQL_SCHEMA_SHAPES_HINT
                           : "run 'dsql schema apply' with the role admin: it creates what is "
                             "missing");
    return DSQL_CONDITION_FAILED;
}

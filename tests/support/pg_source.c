#include "support/pg_source.h"

#include <libpq-fe.h>
#include <stdlib.h>

/* What a checkout hands out. */
struct lent {
    struct pg_source *from;
    PGconn *pg;
};

static enum dsql_rc checkout(void *self, const struct dsql_wire_limits *limits, void **conn,
                             struct dsql_err *err)
{
    (void)limits;
    struct pg_source *ps = self;
    ps->checkouts++;
    PGconn *pg = ps->idle;
    ps->idle = NULL;
    if (!pg) {
        pg = PQconnectdb("");
        ps->opened++;
    }
    if (PQstatus(pg) != CONNECTION_OK) {
        dsql_err_set(err, DSQL_LOST, "%s", PQerrorMessage(pg));
        PQfinish(pg);
        return DSQL_LOST;
    }
    struct lent *lent = malloc(sizeof(*lent));
    if (!lent) {
        ps->idle = pg;
        return dsql_err_set(err, DSQL_NO_MEMORY, "no memory");
    }
    *lent = (struct lent){ps, pg};
    *conn = lent;
    return DSQL_OK;
}

static PGconn *pg_of(void *conn)
{
    return ((struct lent *)conn)->pg;
}

static void give_back(void *conn)
{
    struct lent *lent = conn;
    if (lent->from->idle)
        PQfinish(lent->pg);
    else
        lent->from->idle = lent->pg;
    free(lent);
}

static void discard(void *conn)
{
    struct lent *lent = conn;
    lent->from->discarded++;
    PQfinish(lent->pg);
    free(lent);
}

void pg_source_init(struct pg_source *ps, struct dsql_metrics *metrics)
{
    *ps = (struct pg_source){
        .source =
            {
                .self = ps,
                .metrics = metrics,
                .clock = &dsql_clock_system,
                .checkout = checkout,
                .pg = pg_of,
                .give_back = give_back,
                .discard = discard,
            },
    };
}

void pg_source_fini(struct pg_source *ps)
{
    PQfinish(ps->idle);
    ps->idle = NULL;
}

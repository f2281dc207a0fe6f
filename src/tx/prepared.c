#include "tx/prepared.h"

#include <libpq-events.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Open addressing; a slot is used if its key is, and keeps its key when the statement is dropped.
 */
struct slot {
    struct dsql_tx_prepared_key key;
    bool used, present;
};

struct dsql_tx_prepared {
    struct slot *slots;
    size_t len, cap;     /* cap is 0 or a power of two */
    unsigned generation; /* part of the names on the server once it is not 0 */
};

static uint64_t hash(const char *text)
{
    uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return h;
}

static struct slot *slot_of(struct slot *slots, size_t cap, uint64_t name)
{
    size_t i = name & (cap - 1);
    while (slots[i].used && slots[i].key.name != name)
        i = (i + 1) & (cap - 1);
    return &slots[i];
}

static bool grow(struct dsql_tx_prepared *list)
{
    size_t cap = list->cap ? 2 * list->cap : 64;
    struct slot *slots = calloc(cap, sizeof(*slots));
    if (!slots)
        return false;
    for (size_t i = 0; i < list->cap; i++)
        if (list->slots[i].used)
            *slot_of(slots, cap, list->slots[i].key.name) = list->slots[i];
    free(list->slots);
    list->slots = slots;
    list->cap = cap;
    return true;
}

/* What a new session has: nothing. */
static void forget(struct dsql_tx_prepared *list)
{
    if (list->slots)
        memset(list->slots, 0, list->cap * sizeof(*list->slots));
    list->len = 0;
}

void dsql_tx_prepared_renew(struct dsql_tx_prepared *list)
{
    forget(list);
    list->generation++;
}

/* What a result says of the session's statements. */
static void learn(struct dsql_tx_prepared *list, PGresult *result)
{
    const char *tag = PQcmdStatus(result);
    if (tag[0] == 'D' && (strcmp(tag, "DEALLOCATE ALL") == 0 || strcmp(tag, "DISCARD ALL") == 0))
        dsql_tx_prepared_renew(list);
}

static int on_event(PGEventId event, void *info, void *pass_through)
{
    (void)pass_through;
    if (event == PGEVT_REGISTER) {
        struct dsql_tx_prepared *list = calloc(1, sizeof(*list));
        return list && PQsetInstanceData(((PGEventRegister *)info)->conn, on_event, list);
    }
    if (event == PGEVT_RESULTCREATE) {
        PGEventResultCreate *created = info;
        struct dsql_tx_prepared *list = PQinstanceData(created->conn, on_event);
        if (list)
            learn(list, created->result);
    } else if (event == PGEVT_CONNRESET) {
        struct dsql_tx_prepared *list = PQinstanceData(((PGEventConnReset *)info)->conn, on_event);
        if (list)
            forget(list);
    } else if (event == PGEVT_CONNDESTROY) {
        struct dsql_tx_prepared *list =
            PQinstanceData(((PGEventConnDestroy *)info)->conn, on_event);
        if (list)
            free(list->slots);
        free(list);
    }
    return 1;
}

struct dsql_tx_prepared *dsql_tx_prepared_of(PGconn *pg)
{
    struct dsql_tx_prepared *list = PQinstanceData(pg, on_event);
    if (!list && PQregisterEventProc(pg, on_event, "dsql", NULL))
        list = PQinstanceData(pg, on_event);
    return list;
}

enum dsql_rc dsql_tx_prepared_find(const struct dsql_tx_prepared *list,
                                   const struct dsql_stmt *stmt, struct dsql_tx_prepared_key *key,
                                   char name[DSQL_TX_PREPARED_NAME_MAX + 1])
{
    *key = (struct dsql_tx_prepared_key){.name = hash(stmt->name), .sql = hash(stmt->sql)};
    if (list->generation == 0)
        snprintf(name, DSQL_TX_PREPARED_NAME_MAX + 1, DSQL_TX_PREPARED_PREFIX "%s", stmt->name);
    else
        snprintf(name, DSQL_TX_PREPARED_NAME_MAX + 1, DSQL_TX_PREPARED_PREFIX "%s.%u", stmt->name,
                 list->generation);
    if (list->cap == 0)
        return DSQL_NOT_FOUND;
    const struct slot *slot = slot_of(list->slots, list->cap, key->name);
    if (!slot->used || !slot->present)
        return DSQL_NOT_FOUND;
    return slot->key.sql == key->sql ? DSQL_OK : DSQL_INVALID;
}

enum dsql_rc dsql_tx_prepared_add(struct dsql_tx_prepared *list, struct dsql_tx_prepared_key key)
{
    if (4 * (list->len + 1) > 3 * list->cap && !grow(list))
        return DSQL_NO_MEMORY;
    struct slot *slot = slot_of(list->slots, list->cap, key.name);
    list->len += !slot->used;
    *slot = (struct slot){.key = key, .used = true, .present = true};
    return DSQL_OK;
}

void dsql_tx_prepared_drop(struct dsql_tx_prepared *list, struct dsql_tx_prepared_key key)
{
    if (list->cap)
        slot_of(list->slots, list->cap, key.name)->present = false;
}

#include "local/front/stale.h"

/* The end of splitmix64: numbers that differ a little become numbers that differ everywhere. */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* A number from 0 to 1 that belongs to the two and looks like chance. */
static double draw(uint64_t a, uint64_t b)
{
    return (double)(mix(a * 0x9e3779b97f4a7c15u + b) >> 11) * 0x1p-53;
}

/* By the name alone: a table of another schema with the same name counts too. */
static uint16_t bit_of(const struct dsql_sql_table *table)
{
    uint64_t hash = 0;
    for (const char *c = table->name; *c; c++)
        hash = mix(hash + (unsigned char)*c + 0x9e3779b97f4a7c15u);
    return (uint16_t)(hash % DSQL_STALE_USED_BITS);
}

static bool has_used(const struct dsql_stale_session *session, uint16_t bit)
{
    return session->used[bit / 64] >> (bit % 64) & 1;
}

void dsql_stale_session_init(struct dsql_stale_session *session, const struct dsql_stale *stale,
                             uint64_t id)
{
    *session = (struct dsql_stale_session){.id = id, .known = stale->changes};
}

void dsql_stale_use(struct dsql_stale_session *session, const struct dsql_sql_stmt *stmt)
{
    for (size_t i = 0; i < stmt->table_count; i++) {
        uint16_t bit = bit_of(&stmt->tables[i]);
        session->used[bit / 64] |= UINT64_C(1) << (bit % 64);
    }
}

void dsql_stale_ddl(struct dsql_stale_session *session, const struct dsql_sql_stmt *stmt,
                    enum dsql_stale_kind kind)
{
    struct dsql_stale_change *change = &session->ddl;
    *change = (struct dsql_stale_change){.count = 0};
    if (kind == DSQL_STALE_REMOVES)
        return;
    bool creates = kind == DSQL_STALE_CREATES;
    change->everybody =
        stmt->table_count > DSQL_STALE_NAMES || (stmt->table_count == 0 && !creates);
    for (size_t i = creates; i < stmt->table_count && !change->everybody; i++)
        change->names[change->count++] = bit_of(&stmt->tables[i]);
}

void dsql_stale_commit(struct dsql_stale *stale, struct dsql_stale_session *session,
                       struct dsql_mono now)
{
    uint64_t number = ++stale->changes;
    struct dsql_stale_change *change = &stale->kept[number % DSQL_STALE_KEPT];
    *change = session ? session->ddl : (struct dsql_stale_change){.everybody = true};
    change->at = now;
    if (!session)
        return;
    if (session->known == number - 1)
        session->known = number; /* a session's own change is no news to it */
    session->lost = session->lost || draw(session->id, ~number) < stale->options->own;
}

static bool concerns(const struct dsql_stale_change *change,
                     const struct dsql_stale_session *session)
{
    if (change->everybody)
        return true;
    for (size_t i = 0; i < change->count; i++)
        if (has_used(session, change->names[i]))
            return true;
    return false;
}

bool dsql_stale_strikes(const struct dsql_stale *stale, struct dsql_stale_session *session,
                        struct dsql_mono now)
{
    bool strikes = session->lost || stale->changes - session->known > DSQL_STALE_KEPT;
    while (!strikes && session->known < stale->changes) {
        uint64_t number = session->known + 1;
        const struct dsql_stale_change *change = &stale->kept[number % DSQL_STALE_KEPT];
        double late = draw(number, session->id) * (double)stale->options->delay_ns;
        bool meets =
            concerns(change, session) && draw(session->id, number) < stale->options->chance;
        if (meets && (double)dsql_mono_since(now, change->at) < late)
            return false; /* it has not heard of it yet, nor of what came later */
        strikes = meets;
        session->known = number;
    }
    if (strikes) {
        session->known = stale->changes;
        session->lost = false;
    }
    return strikes;
}

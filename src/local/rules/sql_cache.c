#include "local/rules/sql_cache.h"

#include <stdlib.h>

struct dsql_sql_cache_entry {
    uint64_t hash;
    struct dsql_sql_script *script; /* NULL if the entry is free */
    uint32_t next;                  /* in its chain */
    bool asked;                     /* since the hand came by */
};

enum {
    /* A script that takes more than this part of the memory would push out too many others. */
    SHARE_MAX = 8,
};

/* Eight bytes at a time; mixing as in MurmurHash2. Not for adversaries: a user who makes a
 * chain long on purpose slows a server of his own. */
static uint64_t hash_of(struct dsql_span text)
{
    const uint64_t m = UINT64_C(0xc6a4a7935bd1e995);
    uint64_t h = text.len * m;
    for (size_t i = 0; i < text.len; i += 8) {
        uint64_t k = 0;
        memcpy(&k, text.ptr + i, text.len - i < 8 ? text.len - i : 8);
        k *= m;
        k ^= k >> 47;
        h = (h ^ k * m) * m;
    }
    h ^= h >> 47;
    h *= m;
    return h ^ h >> 47;
}

enum dsql_rc dsql_sql_cache_init(struct dsql_sql_cache *cache, uint32_t capacity, size_t bytes_max)
{
    assert(capacity >= 1 && capacity <= UINT32_MAX / 2);
    uint32_t chains = 1;
    while (chains < capacity)
        chains *= 2;
    *cache = (struct dsql_sql_cache){
        .entries = calloc(capacity, sizeof(*cache->entries)),
        .chains = calloc(chains, sizeof(*cache->chains)),
        .capacity = capacity,
        .chain_mask = chains - 1,
        .bytes_max = bytes_max,
    };
    if (cache->entries && cache->chains)
        return DSQL_OK;
    dsql_sql_cache_fini(cache);
    return DSQL_NO_MEMORY;
}

void dsql_sql_cache_fini(struct dsql_sql_cache *cache)
{
    for (uint32_t i = 0; cache->entries && i < cache->used; i++)
        dsql_sql_script_unref(cache->entries[i].script);
    free(cache->entries);
    free(cache->chains);
    *cache = (struct dsql_sql_cache){.entries = NULL};
}

static uint32_t *chain_of(struct dsql_sql_cache *cache, uint64_t hash)
{
    return &cache->chains[hash & cache->chain_mask];
}

static struct dsql_sql_cache_entry *find(struct dsql_sql_cache *cache, struct dsql_span text,
                                         uint64_t hash)
{
    for (uint32_t at = *chain_of(cache, hash); at != 0; at = cache->entries[at - 1].next) {
        struct dsql_sql_cache_entry *entry = &cache->entries[at - 1];
        if (entry->hash == hash && entry->script->sent_len == text.len &&
            memcmp(entry->script->sent, text.ptr, text.len) == 0)
            return entry;
    }
    return NULL;
}

static void evict(struct dsql_sql_cache *cache, struct dsql_sql_cache_entry *entry)
{
    uint32_t number = (uint32_t)(entry - cache->entries) + 1;
    uint32_t *link = chain_of(cache, entry->hash);
    while (*link != number)
        link = &cache->entries[*link - 1].next;
    *link = entry->next;
    cache->bytes -= entry->script->bytes;
    cache->evictions++;
    dsql_sql_script_unref(entry->script);
    *entry = (struct dsql_sql_cache_entry){.script = NULL};
}

/* Moves the hand to an entry that is free or may go. */
static struct dsql_sql_cache_entry *turn(struct dsql_sql_cache *cache)
{
    for (;;) {
        struct dsql_sql_cache_entry *entry = &cache->entries[cache->hand];
        cache->hand = (cache->hand + 1) % cache->capacity;
        if (!entry->asked)
            return entry;
        entry->asked = false;
    }
}

/* A free entry, with room for so many bytes. */
static struct dsql_sql_cache_entry *make_room(struct dsql_sql_cache *cache, size_t bytes)
{
    struct dsql_sql_cache_entry *entry;
    do {
        entry = turn(cache);
        if (entry->script)
            evict(cache, entry);
    } while (cache->bytes + bytes > cache->bytes_max);
    return entry;
}

static void keep(struct dsql_sql_cache *cache, struct dsql_sql_script *script, uint64_t hash)
{
    if (script->bytes > cache->bytes_max / SHARE_MAX)
        return;
    struct dsql_sql_cache_entry *entry = make_room(cache, script->bytes);
    uint32_t number = (uint32_t)(entry - cache->entries) + 1;
    uint32_t *chain = chain_of(cache, hash);
    *entry = (struct dsql_sql_cache_entry){hash, dsql_sql_script_ref(script), *chain, false};
    *chain = number;
    cache->bytes += script->bytes;
    if (number > cache->used)
        cache->used = number;
}

static struct dsql_sql_script *get_known(struct dsql_sql_cache *cache, struct dsql_span text,
                                         uint64_t hash)
{
    struct dsql_sql_cache_entry *entry = find(cache, text, hash);
    if (!entry) {
        cache->misses++;
        return NULL;
    }
    cache->hits++;
    entry->asked = true;
    return dsql_sql_script_ref(entry->script);
}

struct dsql_sql_script *dsql_sql_cache_find(struct dsql_sql_cache *cache, struct dsql_span text)
{
    return get_known(cache, text, hash_of(text));
}

void dsql_sql_cache_put(struct dsql_sql_cache *cache, struct dsql_sql_script *script)
{
    struct dsql_span sent = {script->sent, script->sent_len};
    uint64_t hash = hash_of(sent);
    if (!find(cache, sent, hash)) /* two clients may have sent the same text at once */
        keep(cache, script, hash);
}

enum dsql_rc dsql_sql_cache_get(struct dsql_sql_cache *cache, struct dsql_span text,
                                struct dsql_sql_script **script)
{
    uint64_t hash = hash_of(text);
    struct dsql_sql_script *made = get_known(cache, text, hash);
    if (!made) {
        enum dsql_rc rc = dsql_sql_script_new_as(text, cache->dialect, &made);
        if (rc)
            return rc;
        keep(cache, made, hash);
    }
    *script = made;
    return DSQL_OK;
}

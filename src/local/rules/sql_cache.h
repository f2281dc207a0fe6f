/*
 * Scripts kept by their text, so that a statement that is sent again costs a hash and a comparison.
 * The number of entries and the memory they take are bounded; what has not been asked for since the
 * clock's hand came by last goes first. Single-threaded.
 *
 * Invariants: (C1) every full entry is in exactly one chain, the one of its hash; (C2) bytes is the
 * sum over the entries and, after each call, at most the limit; (C3) the cache holds one reference
 * to each of its scripts, so that one in use survives its eviction.
 */
#ifndef DSQL_LOCAL_SQL_CACHE_H
#define DSQL_LOCAL_SQL_CACHE_H

#include "local/rules/sql_stmt.h"

struct dsql_sql_cache {
    struct dsql_sql_dialect dialect; /* what scripts are judged by; set before the first one */
    struct dsql_sql_cache_entry *entries;
    uint32_t *chains; /* heads, by hash; 1-based, 0 is the end */
    uint32_t capacity, chain_mask, used, hand;
    size_t bytes, bytes_max;
    uint64_t hits, misses, evictions; /* for the report */
};

/* capacity >= 1 scripts of at most bytes_max in all. Allocates its tables; the scripts come later.
 */
DSQL_MUST_USE enum dsql_rc dsql_sql_cache_init(struct dsql_sql_cache *cache, uint32_t capacity,
                                               size_t bytes_max);
void dsql_sql_cache_fini(struct dsql_sql_cache *cache);

/* The script of a text, read now or before. The caller gets a reference of its own and gives it
 * back with dsql_sql_script_unref(). Fails with DSQL_NO_MEMORY only. */
DSQL_MUST_USE enum dsql_rc dsql_sql_cache_get(struct dsql_sql_cache *cache, struct dsql_span text,
                                              struct dsql_sql_script **script);

/* The script of a text that was read before, with a reference for the caller; NULL if there is
 * none. */
struct dsql_sql_script *dsql_sql_cache_find(struct dsql_sql_cache *cache, struct dsql_span text);

/* Keeps a script that was read elsewhere; the caller's reference stays the caller's. */
void dsql_sql_cache_put(struct dsql_sql_cache *cache, struct dsql_sql_script *script);

#endif

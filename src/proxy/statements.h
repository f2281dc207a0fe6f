/*
 * Prepared statements, shared. A *statement* is a text with its parameter types; equal ones are one
 * object with one name on every server connection. A *definition* is a client's name for one. The
 * *cache* of a server connection says which statements are prepared there; it is bounded, and the
 * one used least recently gives way.
 *
 * Invariants: (P1) a statement's server name is its own for as long as anybody refers to it;
 * (P2) a cache never holds more than its limit.
 */
#ifndef DSQL_PROXY_STATEMENTS_H
#define DSQL_PROXY_STATEMENTS_H

#include "pgwire/frontend.h"

enum { DSQL_SERVER_NAME_MAX = 32, DSQL_CACHE_STATEMENTS = 100 };

struct dsql_statements;

struct dsql_statement {
    unsigned refs;
    struct dsql_statements *all;
    struct dsql_statement *next; /* with the same hash */
    uint64_t hash;
    char server_name[DSQL_SERVER_NAME_MAX];
    size_t text_len, types_len;
    uint16_t type_count;
    bool sets : 1;        /* it may change settings without saying so: set_config() */
    bool sets_hidden : 1; /* settings that can't be read back */
    bool commits : 1;     /* it may end a transaction */
    bool may_commit : 1;  /* run by itself, it may commit something */
    bool deallocates : 1; /* it is a DEALLOCATE of one name */
    bool deallocates_all : 1;
    bool resets : 1; /* it takes settings back to their defaults */
    char bytes[];    /* the text, then the types as on the wire */
};

enum { DSQL_STATEMENT_BUCKETS = 1024 };

/* All statements that anybody refers to. */
struct dsql_statements {
    struct dsql_statement *buckets[DSQL_STATEMENT_BUCKETS];
    uint64_t made; /* the next one's number */
    size_t count;
};

/* The statement for a Parse, with a reference; NULL if memory is short. */
struct dsql_statement *dsql_statement_get(struct dsql_statements *all,
                                          const struct dsql_pg_parse *parse);
struct dsql_statement *dsql_statement_ref(struct dsql_statement *statement);
void dsql_statement_unref(struct dsql_statement *statement);
struct dsql_span dsql_statement_text(const struct dsql_statement *statement);
/* The Parse that prepares it under this name. */
struct dsql_pg_parse dsql_statement_parse(const struct dsql_statement *statement,
                                          struct dsql_span name);

struct dsql_definition {
    unsigned refs;
    struct dsql_statement *statement;
    size_t name_len;
    char name[];
};
struct dsql_definition *dsql_definition_new(struct dsql_statement *statement,
                                            struct dsql_span name);
struct dsql_definition *dsql_definition_ref(struct dsql_definition *definition);
void dsql_definition_unref(struct dsql_definition *definition);
struct dsql_span dsql_definition_name(const struct dsql_definition *definition);

/* A client's names. All zero is empty. */
struct dsql_definitions {
    struct dsql_definition **of;
    size_t count, cap;
};
void dsql_definitions_fini(struct dsql_definitions *names);
struct dsql_definition *dsql_definitions_find(const struct dsql_definitions *names,
                                              struct dsql_span name);
/* Takes a reference of its own; false if memory is short. The name is not there yet. */
DSQL_MUST_USE bool dsql_definitions_add(struct dsql_definitions *names,
                                        struct dsql_definition *definition);
/* No effect if it is not there. */
void dsql_definitions_remove(struct dsql_definitions *names,
                             const struct dsql_definition *definition);
void dsql_definitions_clear(struct dsql_definitions *names);

/* What is prepared on a server connection, and under which search_path. All zero is empty. */
struct dsql_statement_cache {
    struct dsql_cached {
        struct dsql_statement *statement;
        uint64_t used;
        uint64_t path; /* hash of the search_path it was prepared under */
    } of[DSQL_CACHE_STATEMENTS];
    size_t count;
    uint64_t clock;
};
uint64_t dsql_path_hash(const char *search_path);
uint64_t dsql_name_hash(struct dsql_span name);
/* Whether the statement is there, prepared under this path; it counts as used. */
bool dsql_cache_use(struct dsql_statement_cache *cache, const struct dsql_statement *statement,
                    uint64_t path);
/* Adds or renews it; what gave way comes back with its reference, or NULL. */
struct dsql_statement *dsql_cache_add(struct dsql_statement_cache *cache,
                                      struct dsql_statement *statement, uint64_t path);
void dsql_cache_remove(struct dsql_statement_cache *cache, const struct dsql_statement *statement);
void dsql_cache_clear(struct dsql_statement_cache *cache);

#endif

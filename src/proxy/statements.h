/*
 * Prepared statements, shared. A *statement* is a text with its parameter types; equal ones are one
 * object with one name on every server connection. One of SQL is the text of a PREPARE without the
 * name. A *definition* is a client's name for one. The
 * *cache* of a server connection says which statements are prepared there; it is bounded, and the
 * one used least recently gives way.
 *
 * Invariants: (PS1) a statement's server name is its own for as long as anybody refers to it;
 * (PS2) a cache never holds more than its limit.
 */
#ifndef DSQL_PROXY_STATEMENTS_H
#define DSQL_PROXY_STATEMENTS_H

#include "base/strbuf.h"
#include "pgwire/frontend.h"

enum { DSQL_SERVER_NAME_MAX = 32, DSQL_CACHE_STATEMENTS = 100 };

struct dsql_settings;
struct dsql_statements;

struct dsql_statement {
    unsigned refs;
    struct dsql_statements *all;
    struct dsql_statement *next; /* with the same hash */
    uint64_t hash;
    char server_name[DSQL_SERVER_NAME_MAX]; /* all of one length: none begins another one */
    size_t text_len, types_len;
    uint16_t type_count;
    bool sets : 1;            /* it may change settings without saying so: set_config() */
    bool sets_hidden : 1;     /* settings that can't be read back */
    bool commits : 1;         /* it may end a transaction */
    bool may_commit : 1;      /* run by itself, it may commit something */
    bool deallocates_all : 1; /* it may be a DEALLOCATE ALL */
    bool resets : 1;          /* it takes settings back to their defaults */
    bool names : 1;           /* it may have names of prepared statements in it (sql_names.h) */
    bool sql : 1;             /* a PREPARE, */
    size_t name_at;           /* whose name stands there */
    char bytes[];             /* the text, then the types as on the wire */
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
/* The same for a PREPARE: its text in front of the name, and behind it. */
struct dsql_statement *dsql_statement_get_sql(struct dsql_statements *all, struct dsql_span head,
                                              struct dsql_span tail);
struct dsql_statement *dsql_statement_ref(struct dsql_statement *statement);
void dsql_statement_unref(struct dsql_statement *statement);
struct dsql_span dsql_statement_text(const struct dsql_statement *statement);
/* The PREPARE that prepares a statement of SQL under this name, which is spelled so. */
void dsql_statement_put_sql(struct dsql_strbuf *sql, const struct dsql_statement *statement,
                            struct dsql_span name);
/* A name between quotes. */
void dsql_statement_put_name(struct dsql_strbuf *sql, struct dsql_span name);
/* The Parse that prepares it under this name. */
struct dsql_pg_parse dsql_statement_parse(const struct dsql_statement *statement,
                                          struct dsql_span name);

struct dsql_definition {
    unsigned refs;
    struct dsql_statement *statement;
    /* A statement that executes another: what that name meant when it was parsed; or NULL. */
    struct dsql_definition *executes;
    struct dsql_settings *under; /* in force when it was prepared; NULL: not known */
    size_t name_len, spelled_len;
    char name[]; /* and behind it how a PREPARE spells it */
};
/* spelled: empty, or as a PREPARE has the name, maybe between quotes. */
struct dsql_definition *dsql_definition_new(struct dsql_statement *statement, struct dsql_span name,
                                            struct dsql_span spelled);
struct dsql_definition *dsql_definition_ref(struct dsql_definition *definition);
void dsql_definition_unref(struct dsql_definition *definition);
struct dsql_span dsql_definition_name(const struct dsql_definition *definition);
struct dsql_span dsql_definition_spelled(const struct dsql_definition *definition);

/*
 * Names in a client's text stand for others in the text that the server has: an error is told with
 * the client's names and places. One object for all messages whose errors are about that text.
 */
struct dsql_renames {
    unsigned refs;
    size_t count;
    struct dsql_renamed {
        struct dsql_definition *definition;
        size_t end; /* the character behind the name, in the server's text */
        size_t len; /* characters of the name there, */
        size_t was; /* and in the client's text */
    } of[];
};
/* With room for so many; NULL if memory is short. */
struct dsql_renames *dsql_renames_new(size_t room);
/* Names are added in the order of the text; the definition gets a reference. */
void dsql_renames_add(struct dsql_renames *renames, const struct dsql_renamed *renamed);
struct dsql_renames *dsql_renames_ref(struct dsql_renames *renames);
void dsql_renames_unref(struct dsql_renames *renames);
/* The place in the client's text for one in the server's; both count characters from 1. */
size_t dsql_renames_place(const struct dsql_renames *renames, size_t place);

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

/* What is prepared on a server connection, and under which settings. All zero is empty. */
struct dsql_statement_cache {
    struct dsql_cached {
        struct dsql_statement *statement;
        uint64_t used;
        uint64_t context; /* stands for the settings that it was prepared under (prepared.c) */
    } of[DSQL_CACHE_STATEMENTS];
    size_t count;
    uint64_t clock;
};
uint64_t dsql_name_hash(struct dsql_span name);
/* The statement's place, if it is there; it counts as used. */
const struct dsql_cached *dsql_cache_use(struct dsql_statement_cache *cache,
                                         const struct dsql_statement *statement);
/* Adds or renews it; what gave way comes back with its reference, or NULL. */
struct dsql_statement *dsql_cache_add(struct dsql_statement_cache *cache,
                                      struct dsql_statement *statement, uint64_t context);
void dsql_cache_remove(struct dsql_statement_cache *cache, const struct dsql_statement *statement);
void dsql_cache_clear(struct dsql_statement_cache *cache);

#endif

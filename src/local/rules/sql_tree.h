/*
 * Reading libpg_query's parse tree. The library hands the tree out as JSON text; this is a cursor
 * over that text, without a copy and without recursion, so that a 10 MiB INSERT or a deeply nested
 * expression costs a few passes and no memory. (Measured on a pgbench UPDATE: libpg_query 4 us,
 * this and all rules 4 us; a jansson tree alone would be 25 us.)
 *
 * The text comes from the library, not from a client, and is trusted to be well-formed. A node is a
 * pointer to where a value begins; ptr == NULL is a value that is not there, and every function
 * accepts it. Protobuf's habit of leaving out zero values (0, false, empty lists) shows through.
 */
#ifndef DSQL_LOCAL_SQL_TREE_H
#define DSQL_LOCAL_SQL_TREE_H

#include "base/strbuf.h"

struct dsql_tree {
    const char *ptr;
};

/* The member `key` of an object. */
struct dsql_tree dsql_tree_get(struct dsql_tree object, const char *key);

/* The members of an object in turn: the one behind `before`, or the first if that is absent. */
struct dsql_tree dsql_tree_member(struct dsql_tree object, struct dsql_tree before,
                                  struct dsql_span *key);

/* The first element of a list, and the one behind an element. */
struct dsql_tree dsql_tree_first(struct dsql_tree list);
struct dsql_tree dsql_tree_next(struct dsql_tree element);
size_t dsql_tree_count(struct dsql_tree list);

/* A Node is written {"Tag":{...}}: gives the tag, and the inner object as the answer. */
struct dsql_tree dsql_tree_open(struct dsql_tree node, struct dsql_span *tag);

/* The inner object of a Node if it has that tag. */
struct dsql_tree dsql_tree_as(struct dsql_tree node, const char *tag);

/* Strings. is() compares; text() gives the decoded bytes, dup() a copy that the caller frees (NULL
 * is out of memory); string() looks through the Node {"String":{"sval":...}} that lists of names
 * are made of. */
bool dsql_tree_is(struct dsql_tree value, const char *text);
void dsql_tree_text(struct dsql_tree value, struct dsql_strbuf *out);
char *dsql_tree_dup(struct dsql_tree value);
struct dsql_tree dsql_tree_string(struct dsql_tree node);

bool dsql_tree_true(struct dsql_tree value);

/* A whole number: a plain one, or a Node Integer, Float or A_Const of either. False for others. */
bool dsql_tree_int(struct dsql_tree value, int64_t *out);

/*
 * All keys below a value, at every depth, in the order of the text:
 *     for (struct dsql_tree_walk w = dsql_tree_walk(v); dsql_tree_step(&w);)  use w.key and w.value
 */
struct dsql_tree_walk {
    struct dsql_span key; /* not decoded: tags and field names need no escapes */
    struct dsql_tree value;
    const char *at; /* how far it has come; NULL at the end */
    size_t depth;
};

struct dsql_tree_walk dsql_tree_walk(struct dsql_tree value);
bool dsql_tree_step(struct dsql_tree_walk *walk);

#endif

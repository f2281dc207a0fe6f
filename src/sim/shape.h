/*
 * YAML into structs, by tables. A shape lists the fields a mapping may have: name, type, range and
 * what it means; the same table makes the reference page. Whatever does not fit its shape is
 * refused with the file, the line, and what was expected there.
 */
#ifndef DSQL_SIM_SHAPE_H
#define DSQL_SIM_SHAPE_H

#include <stdio.h>

#include "base/span.h"
#include "base/strbuf.h"

enum {
    DSQL_SHAPE_TEXT_MAX = 256,
    DSQL_SHAPE_LIST_MAX = 10000,
    DSQL_SHAPE_DEPTH_MAX = 32, /* levels of lists and mappings in each other */
};

enum dsql_shape_type {
    DSQL_SHAPE_BOOL,     /* bool */
    DSQL_SHAPE_INT,      /* int64_t, low to high */
    DSQL_SHAPE_DURATION, /* int64_t nanoseconds, low to high */
    DSQL_SHAPE_FRACTION, /* double, 0 to 1 */
    DSQL_SHAPE_TEXT,     /* char[DSQL_SHAPE_TEXT_MAX] */
    DSQL_SHAPE_CHOICE,   /* int: the place of the word in `words` */
    DSQL_SHAPE_MAP,      /* a struct of its own shape */
    DSQL_SHAPE_LIST,     /* struct dsql_shape_list of structs of its own shape */
};

struct dsql_shape_list {
    void *items; /* freed by dsql_shape_free() */
    size_t count;
};

struct dsql_shape;

struct dsql_shape_field {
    const char *name;
    enum dsql_shape_type type;
    size_t offset;
    int64_t low, high;
    const char *const *words; /* CHOICE: ends with NULL */
    const struct dsql_shape *shape;
    const char *doc;
};

struct dsql_shape {
    const char *name; /* what such a mapping is called: "a service" */
    const struct dsql_shape_field *fields;
    size_t field_count;
    size_t size; /* of the struct */
    const void
        *defaults;      /* a struct with every default; a MAP's are those of the struct it is in */
    size_t line_offset; /* of a size_t that receives the line it stood in; SIZE_MAX: none */
};

/*
 * Reads one document into *out, which becomes the shape's defaults changed by the text. `file` is
 * only for messages. On failure (DSQL_INVALID, DSQL_NO_MEMORY) there is nothing to free and *out is
 * untouched.
 */
DSQL_MUST_USE enum dsql_rc dsql_shape_read(const struct dsql_shape *shape, struct dsql_span text,
                                           const char *file, void *out, struct dsql_err *err);

/* Changes one plain field of *value, given as "pool.targetReady=80"; of a list, in each entry.
 * DSQL_INVALID: no such field, or not what it takes. */
DSQL_MUST_USE enum dsql_rc dsql_shape_set(const struct dsql_shape *shape, void *value,
                                          struct dsql_span setting, struct dsql_err *err);

/* For this folder's own use: a plain field from its text, false if it does not fit; and what it
 * takes, in words. */
bool dsql_shape_parse(const struct dsql_shape_field *field, struct dsql_span text, void *at);
void dsql_shape_expect(struct dsql_strbuf *sb, const struct dsql_shape_field *field);

/* Frees the lists in *value. */
void dsql_shape_free(const struct dsql_shape *shape, void *value);

/* Prints a value as a document that reads back to it; what is as by default stays out. */
void dsql_shape_print(const struct dsql_shape *shape, const void *value, FILE *out);

/* Prints the fields, their types, defaults and meaning as a reference. */
void dsql_shape_describe(const struct dsql_shape *shape, FILE *out);

#endif

/*
 * The form of AWS's config and credentials files:
 *
 *     [profile app]
 *     role_arn = arn:aws:iam::123456789012:role/app
 *     s3 =
 *       addressing_style = path
 *
 * Names of keys are compared in any case; `:` may stand for `=`. Lines that begin with # or ;
 * are comments. A line that is indented deeper than the key before it belongs to that key's value
 * and is not handed out: nothing about credentials is written so. Nothing is allocated.
 */
#ifndef DSQL_AWS_INI_H
#define DSQL_AWS_INI_H

#include "base/span.h"

struct dsql_ini {
    struct dsql_span rest;
    struct dsql_span
        section;   /* what stands between the brackets, trimmed; empty before the first */
    unsigned line; /* of what was handed out last, from 1 */
    size_t indent; /* of the key before */
    bool in_section, has_key;
};

enum dsql_ini_item {
    DSQL_INI_END,
    DSQL_INI_SECTION, /* ini->section is the new one */
    DSQL_INI_VALUE,   /* *key as written and *value, both trimmed */
    DSQL_INI_BROKEN,  /* ini->line is no section, key or comment, or a key outside any section */
};

void dsql_ini_init(struct dsql_ini *ini, struct dsql_span text);
enum dsql_ini_item dsql_ini_next(struct dsql_ini *ini, struct dsql_span *key,
                                 struct dsql_span *value);

/* A value that is one word without what follows a blank and # or ;. */
struct dsql_span dsql_ini_uncommented(struct dsql_span value);

#endif

/*
 * The profiles of AWS's two files, ~/.aws/config and ~/.aws/credentials. They hold keys, so their
 * text lives in secrets; the spans handed out point into it.
 */
#ifndef DSQL_AWS_PROFILE_H
#define DSQL_AWS_PROFILE_H

#include <limits.h>

#include "aws/aws_env.h"
#include "base/secret.h"

enum { DSQL_AWS_FILE_MAX = 1024 * 1024 };

enum dsql_aws_file { DSQL_AWS_CREDENTIALS, DSQL_AWS_CONFIG, DSQL_AWS_FILE_COUNT };

struct dsql_profiles {
    struct {
        char path[PATH_MAX]; /* empty if there is no home folder to look in */
        struct dsql_secret text;
    } files[DSQL_AWS_FILE_COUNT];
};

/* Reads both files; one that is not there is empty. DSQL_INVALID names file and line of what can't
 * be read; DSQL_IO a file that can't be opened. On failure there is nothing to free. */
DSQL_MUST_USE enum dsql_rc dsql_profiles_load(struct dsql_profiles *profiles,
                                              const struct dsql_aws_env *env, struct dsql_err *err);
void dsql_profiles_fini(struct dsql_profiles *profiles);

/* Whether either file has a section for this profile. */
bool dsql_profiles_has(const struct dsql_profiles *profiles, struct dsql_span name);

/* A key of a profile in one file; the last one wins. False if it is not there or empty. */
bool dsql_profiles_get_in(const struct dsql_profiles *profiles, enum dsql_aws_file file,
                          struct dsql_span name, const char *key, struct dsql_span *value);

/* A key of a profile in either file; the credentials file comes first. */
bool dsql_profiles_get(const struct dsql_profiles *profiles, struct dsql_span name, const char *key,
                       struct dsql_span *value);

/* The profile that a section of this file describes; false if it describes none. */
bool dsql_profile_name(enum dsql_aws_file file, struct dsql_span section, struct dsql_span *name);

/* A whole file of at most `limit` bytes. DSQL_NOT_FOUND, DSQL_LIMIT, DSQL_IO; *text is untouched
 * then. */
DSQL_MUST_USE enum dsql_rc dsql_secret_read_file(const char *path, size_t limit,
                                                 struct dsql_secret *text, struct dsql_err *err);

#endif

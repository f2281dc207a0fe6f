/*
 * Who has a password: a file of lines
 *
 *     "name" "SCRAM-SHA-256$4096:salt$stored key:server key"
 *     "name" "password in clear text"
 *
 * as PgBouncer reads it (auth_file). A quote inside is written twice, what follows the two is not
 * read, and lines that begin with ; are comments. MD5 hashes are refused: SCRAM can't use them.
 */
#ifndef DSQL_PROXY_USERS_H
#define DSQL_PROXY_USERS_H

#include "base/secret.h"
#include "proxy/scram.h"

enum { DSQL_USER_NAME = 64 };

struct dsql_user {
    char name[DSQL_USER_NAME];
    struct dsql_secret password; /* in clear text, until the user logs in; or empty */
    struct dsql_scram_verifier verifier;
    bool has_verifier;
};

struct dsql_users {
    struct dsql_user *users; /* in the order of their names */
    size_t count;
    unsigned char mock[DSQL_SCRAM_KEY]; /* for the salts of users that do not exist */
};

/* From a file; *users is untouched on failure. DSQL_INVALID names the line, never what is in it. */
DSQL_MUST_USE enum dsql_rc dsql_users_load(const char *path, struct dsql_users *users,
                                           struct dsql_err *err);
/* From its text. */
DSQL_MUST_USE enum dsql_rc dsql_users_parse(struct dsql_span text, struct dsql_users *users,
                                            struct dsql_err *err);
/* Wipes them. All zero is fine. */
void dsql_users_fini(struct dsql_users *users);

/* The verifier of a user; of one that does not exist, one that nothing fits. False if the
 * arithmetic failed for want of memory. */
DSQL_MUST_USE bool dsql_users_verifier(struct dsql_users *users, struct dsql_span name,
                                       struct dsql_scram_verifier *verifier);

#endif

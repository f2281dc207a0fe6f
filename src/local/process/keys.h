/*
 * The keys that tokens are signed with. They stay in the endpoint's folder, readable by its owner
 * only, so that clients go on after a restart with what they have.
 */
#ifndef DSQL_LOCAL_KEYS_H
#define DSQL_LOCAL_KEYS_H

#include "base/secret.h"
#include "local/process/folder.h"

struct dsql_local_keys {
    char access_key_id[65];
    struct dsql_secret secret_access_key, session_token;
};

/* Makes keys up. */
DSQL_MUST_USE enum dsql_rc dsql_local_keys_make(struct dsql_local_keys *keys, struct dsql_err *err);
void dsql_local_keys_fini(struct dsql_local_keys *keys);

/* Reads the folder's file `keys`. DSQL_NOT_FOUND if there is none. */
DSQL_MUST_USE enum dsql_rc dsql_local_keys_read(struct dsql_local_keys *keys,
                                                const struct dsql_folder *folder,
                                                struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc dsql_local_keys_write(const struct dsql_local_keys *keys,
                                                 const struct dsql_folder *folder,
                                                 struct dsql_err *err);

/* From the text of such a file; DSQL_INVALID if it is none. */
DSQL_MUST_USE enum dsql_rc dsql_local_keys_parse(struct dsql_local_keys *keys,
                                                 struct dsql_span text);

/* Whether a key has line breaks: it would be more than a line of the file and of the environment.
 */
bool dsql_local_keys_have_breaks(struct dsql_span text);

/* An access key id is 3 to 64 letters, digits and underscores. */
bool dsql_local_keys_is_id(struct dsql_span text);

#endif

/*
 * AWS credentials: where they come from, and one object that keeps them fresh.
 *
 * The chain asks, in the order of AWS's own SDKs, and takes the first that is set up:
 *   environment     AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
 *   profile         ~/.aws/config and ~/.aws/credentials: role_arn with source_profile or
 *                   credential_source; web identity; keys; credential_process
 *   web identity    AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN (EKS)
 *   container       AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI (ECS, EKS Pod Identity)
 *   instance        the metadata service of EC2, version 2
 * One that is set up and fails ends the search: its error says what to do. docs/credentials.md has
 * the details.
 *
 * Credentials are fetched when they are first needed, by a thread of this object: one fetch at a
 * time, whatever the number of callers. They are fetched again when a quarter of their time is
 * left, at most 15 minutes; until the new ones are there, the old ones serve. When fetching fails,
 * the log says so once, the old ones serve as long as they are valid, and it is tried again after 1
 * s, then 2, 4, ... up to 60 s; meanwhile callers without valid keys get the error at once.
 *
 * Safe from any thread. After fork() the child gets DSQL_CLOSED: it makes its own.
 */
#ifndef DSQL_CREDENTIALS_H
#define DSQL_CREDENTIALS_H

#include <stdint.h>

#include "dsql/defs.h"
#include "dsql/err.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dsql_credentials;

struct dsql_credentials_options {
    const char *profile; /* instead of AWS_PROFILE, and then before the keys in the environment */
    const char *region;  /* for STS, when neither the environment nor the profile names one */
    /* NAME=value strings, ended by NULL, to read instead of the process's environment. What is
     * needed of it is copied: later changes are not seen. */
    const char *const *environment;
};

/* The chain. options may be NULL. Nothing is fetched yet. The caller destroys it. DSQL_NO_MEMORY,
 * or DSQL_IO when the process has no descriptors left. */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_credentials_new(const struct dsql_credentials_options *options,
                     struct dsql_credentials **credentials, struct dsql_err *err);

/* What a provider of the program's own fills: valid during its call only. */
struct dsql_credentials_reply;

/* Answers the fetch with these keys. The strings are copied and stay the caller's. DSQL_INVALID if
 * the id or the secret is NULL or can't be keys, or the time is negative; DSQL_NO_MEMORY. */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_credentials_reply_set(struct dsql_credentials_reply *reply, const char *access_key_id,
                           const char *secret_access_key,
                           const char *session_token, /* NULL for long-term keys */
                           int64_t expires_unix_s);   /* 0 for never */

/*
 * Fetches credentials: calls dsql_credentials_reply_set() and answers DSQL_OK, or fills *err and
 * answers its code. Called by one thread at a time, with no lock held; it may block, and
 * dsql_credentials_destroy() waits for it.
 */
typedef enum dsql_rc dsql_credentials_fetch_fn(void *arg, struct dsql_credentials_reply *reply,
                                               struct dsql_err *err);

/* Credentials from a function of the program's own instead of the chain. arg is handed to it and
 * must live until the object is destroyed, which is up to the caller. Fails as
 * dsql_credentials_new() does. */
DSQL_API DSQL_MUST_USE enum dsql_rc
dsql_credentials_new_custom(dsql_credentials_fetch_fn *fetch, void *arg,
                            struct dsql_credentials **credentials, struct dsql_err *err);

/* Whose they are; nothing in it is a secret. */
struct dsql_credentials_info {
    char provider[64];       /* "environment", "profile app", "instance role web", ... */
    char access_key_id[132]; /* terminated */
    int has_session_token;
    int64_t expires_unix_s; /* 0 for never */
};

/*
 * Makes sure that there are valid credentials, waiting at most wait_ns for them (0: not at all),
 * and says whose they are. DSQL_TIMEOUT if they are still being fetched; DSQL_DENIED if no provider
 * is set up or one was refused; otherwise what went wrong.
 */
DSQL_API DSQL_MUST_USE enum dsql_rc dsql_credentials_check(struct dsql_credentials *credentials,
                                                           int64_t wait_ns,
                                                           struct dsql_credentials_info *info,
                                                           struct dsql_err *err);

/* A service refused the credentials: they are fetched anew, at once or, if a fetch has just failed
 * or is less than a second old, when they are next needed. Does not block. */
DSQL_API void dsql_credentials_refused(struct dsql_credentials *credentials);

/* Stops a fetch that is under way and wipes everything. Calls with these credentials are not
 * allowed any more. NULL is fine. */
DSQL_API void dsql_credentials_destroy(struct dsql_credentials *credentials);

#ifdef __cplusplus
}
#endif
#endif

/*
 * The places credentials come from. A provider is a function: it answers DSQL_OK with the keys,
 * DSQL_NOT_FOUND if it is not set up (the message says what is not there), or why it failed, in
 * words that name the provider and what to do. No message holds a secret.
 *
 * All of them run in the one thread that fetches, and stop when cancel_fd is readable.
 */
#ifndef DSQL_AWS_PROVIDER_H
#define DSQL_AWS_PROVIDER_H

#include "aws/aws_env.h"
#include "aws/http.h"
#include "aws/keys.h"
#include "aws/profile.h"
#include "base/clock.h"

enum { DSQL_PROVIDER_ANSWER_MAX = 64 * 1024 }; /* of a metadata service, of STS, of a command */

struct dsql_provider_limits {
    int64_t http_ns;     /* for one request to STS or the container's endpoint */
    int64_t metadata_ns; /* for one request to the instance's metadata service */
    int64_t process_ns;  /* for a credential_process */
};

/* What providers work with during one fetch. */
struct dsql_provider {
    const struct dsql_aws_env *env;
    const struct dsql_profiles *profiles;
    struct dsql_span profile; /* the one in use */
    bool profile_named;       /* by a setting: the profile must be there */
    bool profile_only;        /* named, not by the environment: its keys do not count */
    struct dsql_span region;  /* for STS when nothing else names one; may be empty */
    struct dsql_http *http;
    const struct dsql_clock *clock;
    struct dsql_provider_limits limits;
    int cancel_fd;
    struct dsql_strbuf
        answer; /* over memory of DSQL_PROVIDER_ANSWER_MAX that is wiped after the fetch */
};

typedef enum dsql_rc dsql_provider_fn(struct dsql_provider *p, struct dsql_keys *keys,
                                      struct dsql_err *err);

DSQL_MUST_USE enum dsql_rc dsql_provider_environment(struct dsql_provider *p,
                                                     struct dsql_keys *keys, struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc dsql_provider_profile(struct dsql_provider *p, struct dsql_keys *keys,
                                                 struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc dsql_provider_container(struct dsql_provider *p, struct dsql_keys *keys,
                                                   struct dsql_err *err);
DSQL_MUST_USE enum dsql_rc dsql_provider_instance(struct dsql_provider *p, struct dsql_keys *keys,
                                                  struct dsql_err *err);

/* One request into p->answer, which is cleared first. */
DSQL_MUST_USE enum dsql_rc dsql_provider_ask(struct dsql_provider *p,
                                             const struct dsql_http_request *request, int *status,
                                             struct dsql_err *err);

/* Puts "name: " in front of the message and keeps the hint; answers rc. */
enum dsql_rc dsql_provider_failed(enum dsql_rc rc, struct dsql_err *err, const char *name);

/* Where a container's credentials are: DSQL_NOT_FOUND if nowhere; DSQL_INVALID if AWS's rules do
 * not allow the host: https anywhere, http only on this machine and the addresses of ECS and EKS.
 */
DSQL_MUST_USE enum dsql_rc dsql_provider_container_url(const struct dsql_aws_env *env,
                                                       struct dsql_strbuf *url,
                                                       struct dsql_err *err);

/* Loopback or link-local: never through a proxy. */
bool dsql_url_is_local(const struct dsql_url *url);

#endif

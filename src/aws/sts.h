/* AWS's Security Token Service, as far as credentials need it. */
#ifndef DSQL_AWS_STS_H
#define DSQL_AWS_STS_H

#include "aws/provider.h"

enum { DSQL_ROLE_DURATION_MIN_S = 900, DSQL_ROLE_DURATION_MAX_S = 43200 };

struct dsql_role {
    struct dsql_span arn;
    struct dsql_span session_name; /* empty: "libdsql-" and the time */
    struct dsql_span external_id;  /* may be empty */
    int64_t duration_s;            /* 0: as the service sees fit, an hour */
    struct dsql_span region;       /* of the profile; may be empty */
};

/* AssumeRole, signed with `with`. Refusals are DSQL_DENIED with the service's code and message. */
DSQL_MUST_USE enum dsql_rc dsql_sts_assume_role(struct dsql_provider *p,
                                                const struct dsql_role *role,
                                                const struct dsql_keys *with,
                                                struct dsql_keys *keys, struct dsql_err *err);

/* AssumeRoleWithWebIdentity: the token is the proof, nothing is signed. */
DSQL_MUST_USE enum dsql_rc dsql_sts_assume_role_with(struct dsql_provider *p,
                                                     const struct dsql_role *role,
                                                     const struct dsql_secret *web_identity,
                                                     struct dsql_keys *keys, struct dsql_err *err);

/* The URL to ask and the region to sign for. */
struct dsql_sts_place {
    char url[512];
    char region[64];
};
DSQL_MUST_USE enum dsql_rc dsql_sts_find(const struct dsql_provider *p, struct dsql_span region,
                                         struct dsql_sts_place *place, struct dsql_err *err);

#endif

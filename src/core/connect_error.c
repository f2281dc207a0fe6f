#include "core/connect_error.h"

#include "core/classify.h"

const char *dsql_connect_class_name(enum dsql_connect_class cls)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        DSQL_CONNECT_TABLE(NAME)
#undef NAME
    };
    return (unsigned)cls < DSQL_CONNECT_CLASSES ? names[cls] : "?";
}

const char *dsql_connect_advice(enum dsql_connect_class cls)
{
    switch (cls) {
    case DSQL_CONNECT_THROTTLED:
        return "the cluster's connects a second are used up: lower DSQL_CONNECTION_RATE_LIMIT or "
               "share the budget of the fleet";
    case DSQL_CONNECT_FULL:
        return "the cluster has as many connections as it allows: lower DSQL_POOL_MAX_OPEN of the "
               "processes that share it, or have the quota raised";
    case DSQL_CONNECT_TOKEN_EXPIRED:
        return "tokens are refused for their date although they are new: set this machine's clock";
    case DSQL_CONNECT_DENIED:
        return "check the credentials, the role's IAM permission (dsql:DbConnectAdmin for admin, "
               "dsql:DbConnect for others), region and user; 'dsql doctor' tells more";
    case DSQL_CONNECT_TLS:
        return "the server's certificate is not trusted for this name: check the endpoint, or name "
               "its root with DSQL_CA_FILE";
    case DSQL_CONNECT_RESOURCES:
        return "this process has no descriptors or memory left: raise 'ulimit -n' above "
               "DSQL_POOL_MAX_OPEN";
    case DSQL_CONNECT_NETWORK:
        return "check that the endpoint can be reached on its port; 'dsql doctor' tells more";
    case DSQL_CONNECT_CLASSES:
        break;
    }
    return "";
}

enum dsql_connect_class dsql_connect_class_of_token(enum dsql_rc rc)
{
    if (rc == DSQL_NO_MEMORY)
        return DSQL_CONNECT_RESOURCES;
    return rc == DSQL_DENIED || rc == DSQL_INVALID ? DSQL_CONNECT_DENIED : DSQL_CONNECT_NETWORK;
}

enum dsql_connect_class dsql_connect_classify(const struct dsql_connect_failure *failure,
                                              enum dsql_rc *rc)
{
    if (failure->no_resources) {
        *rc = DSQL_LIMIT;
        return DSQL_CONNECT_RESOURCES;
    }
    if (failure->untrusted) {
        *rc = DSQL_DENIED;
        return DSQL_CONNECT_TLS;
    }
    struct dsql_verdict verdict =
        dsql_classify(DSQL_PHASE_CONNECT, failure->sqlstate, failure->message, failure->hint);
    *rc = verdict.rc;
    switch ((int)verdict.rc) {
    case DSQL_THROTTLED:
        return DSQL_CONNECT_THROTTLED;
    case DSQL_LIMIT:
        return DSQL_CONNECT_FULL;
    case DSQL_DENIED:
        return verdict.token_expired ? DSQL_CONNECT_TOKEN_EXPIRED : DSQL_CONNECT_DENIED;
    case DSQL_LOST:
    case DSQL_UNAVAILABLE:
    case DSQL_TIMEOUT:
        return DSQL_CONNECT_NETWORK;
    default: /* an error that will be the same next time: no such database, a refused parameter */
        return DSQL_CONNECT_DENIED;
    }
}

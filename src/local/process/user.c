#include "local/process/user.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

enum dsql_rc dsql_local_user_find(struct dsql_local_user *user, struct dsql_err *err)
{
    static const char *const names[] = {"postgres", "nobody"};
    *user = (struct dsql_local_user){geteuid(), getegid()};
    if (user->uid != 0)
        return DSQL_OK;
    for (size_t i = 0; i < DSQL_COUNT_OF(names); i++) {
        const struct passwd *entry = getpwnam(names[i]);
        if (entry && entry->pw_uid != 0) {
            *user = (struct dsql_local_user){entry->pw_uid, entry->pw_gid};
            return DSQL_OK;
        }
    }
    return dsql_err_set(
        err, DSQL_INVALID,
        "PostgreSQL refuses to run as root and there is no user postgres or nobody");
}

bool dsql_local_user_become(const struct dsql_local_user *user)
{
    if (geteuid() != 0)
        return geteuid() == user->uid;
    return setgroups(0, NULL) == 0 && setgid(user->gid) == 0 && setuid(user->uid) == 0 &&
           setuid(0) != 0; /* there is no way back */
}

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/shown.h"
#include "cli/httpd.h"
#include "cli/proxy_options.h"

enum { DEFAULT_PORT = 6432 };

static enum dsql_rc read_allowed(const char *list, struct dsql_proxy_options *o,
                                 struct dsql_err *err)
{
    struct dsql_span rest = dsql_span_of(list), name;
    char text[64];
    while (rest.len > 0) {
        (void)dsql_span_cut(rest, ',', &name, &rest);
        if (name.len == 0 || name.len >= sizeof(text) || o->uid_count == DSQL_PROXY_UIDS)
            return dsql_err_set(err, DSQL_INVALID, "--allow=%s is no list of users",
                                dsql_shown_str(list).text);
        memcpy(text, name.ptr, name.len);
        text[name.len] = '\0';
        const struct passwd *user = getpwnam(text);
        if (!user)
            return dsql_err_set(err, DSQL_INVALID, "this machine has no user %s",
                                dsql_shown_str(text).text);
        o->uids[o->uid_count++] = user->pw_uid;
    }
    return DSQL_OK;
}

/* The role admin has to be asked for by name: the default user of the settings is not taken. */
static enum dsql_rc settle_user(const struct dsql_args *args, struct dsql_proxy_setup *setup,
                                struct dsql_err *err)
{
    const char *user = dsql_args_get(args, "user");
    struct dsql_strbuf text;
    struct dsql_span rest, name;
    if (!user && !getenv("DSQL_USER") && !getenv("CLUSTER_USER")) {
        (void)dsql_err_set(err, DSQL_INVALID, "which role of the database shall clients have?");
        dsql_err_hint(err, "name it with --user or DSQL_USER; admin too is served only by name");
        return DSQL_INVALID;
    }
    if (!user)
        user = setup->pool.connection.user;
    rest = dsql_span_of(user);
    while (rest.len > 0) {
        (void)dsql_span_cut(rest, ',', &name, &rest);
        if (setup->role_count == DSQL_PROXY_ROLES)
            return dsql_err_set(err, DSQL_INVALID, "a proxy serves at most %d roles",
                                DSQL_PROXY_ROLES);
        dsql_strbuf_init(&text, setup->roles[setup->role_count], sizeof(setup->roles[0]));
        dsql_strbuf_add(&text, name);
        if (text.cut || text.len == 0)
            return dsql_err_set(err, DSQL_INVALID, "%s is no list of roles",
                                dsql_shown_str(user).text);
        setup->role_count++;
    }
    return setup->role_count > 0 ? DSQL_OK
                                 : dsql_err_set(err, DSQL_INVALID, "--user names no role");
}

static enum dsql_rc settle_folder(const struct dsql_args *args, struct dsql_proxy_options *o,
                                  struct dsql_err *err)
{
    enum dsql_rc rc =
        dsql_args_text(args, "socket-dir", o->socket_folder, sizeof(o->socket_folder), err);
    if (rc || !o->socket_folder[0] || access(o->socket_folder, W_OK) == 0)
        return rc;
    return dsql_err_set(err, DSQL_INVALID, "--socket-dir=%s is no folder to write to",
                        dsql_shown_str(o->socket_folder).text);
}

static bool put_name(struct dsql_span from, char to[DSQL_USER_NAME])
{
    struct dsql_strbuf text;
    dsql_strbuf_init(&text, to, DSQL_USER_NAME);
    dsql_strbuf_add(&text, from);
    return !text.cut && text.len > 0;
}

/* A list of the form USER:ROLE,... */
static enum dsql_rc read_map(const char *list, struct dsql_proxy_setup *setup, struct dsql_err *err)
{
    struct dsql_proxy_options *o = &setup->proxy;
    struct dsql_span rest = dsql_span_of(list), pair, user, role;
    while (rest.len > 0) {
        (void)dsql_span_cut(rest, ',', &pair, &rest);
        if (o->map_count == DSQL_PROXY_NAMES || !dsql_span_cut(pair, ':', &user, &role) ||
            !put_name(user, o->map[o->map_count].user) ||
            !put_name(role, o->map[o->map_count].role))
            return dsql_err_set(err, DSQL_INVALID, "--map=%s is no list of USER:ROLE",
                                dsql_shown_str(list).text);
        size_t i = 0;
        while (i < setup->role_count && strcmp(setup->roles[i], o->map[o->map_count].role) != 0)
            i++;
        if (i == setup->role_count) {
            (void)dsql_err_set(err, DSQL_INVALID, "--map names the role %s, which is not served",
                               dsql_shown(role).text);
            dsql_err_hint(err, "name it with --user too");
            return DSQL_INVALID;
        }
        o->map_count++;
    }
    return DSQL_OK;
}

/* The word "on" or "off"; true: off. */
static enum dsql_rc read_compat(const struct dsql_args *args, bool *strict, struct dsql_err *err)
{
    const char *compat = dsql_args_get(args, "compat");
    *strict = compat && strcmp(compat, "off") == 0;
    return !compat || *strict || strcmp(compat, "on") == 0
               ? DSQL_OK
               : dsql_err_set(err, DSQL_INVALID, "--compat=%s is neither on nor off",
                              dsql_shown_str(compat).text);
}

static enum dsql_rc read_address(const struct dsql_args *args, const char **address,
                                 struct dsql_err *err)
{
    *address = dsql_args_get(args, "address");
    return !*address || dsql_httpd_is_address(*address)
               ? DSQL_OK
               : dsql_err_set(err, DSQL_INVALID,
                              "--address=%s is no address such as 127.0.0.1:9464",
                              dsql_shown_str(*address).text);
}

static enum dsql_rc check_endpoint(const struct dsql_pool_options *pool, struct dsql_err *err)
{
    if (pool->connection.endpoint[0])
        return DSQL_OK;
    (void)dsql_err_set(err, DSQL_INVALID, "no endpoint");
    dsql_err_hint(err, "set DSQL_ENDPOINT; to try it without a cluster: "
                       "'dsql local exec -- dsql proxy'");
    return DSQL_INVALID;
}

/* The options about clients: which users, and from where. */
static bool read_entry(const struct dsql_args *args, struct dsql_proxy_setup *setup,
                       struct dsql_err *err)
{
    struct dsql_proxy_options *o = &setup->proxy;
    const char *map = dsql_args_get(args, "map"), *allowed = dsql_args_get(args, "allow");
    return (!allowed || !read_allowed(allowed, o, err)) && !settle_user(args, setup, err) &&
           !settle_folder(args, o, err) &&
           !dsql_args_text(args, "listen", o->address, sizeof(o->address), err) &&
           !dsql_args_text(args, "users", o->users_file, sizeof(o->users_file), err) &&
           !dsql_args_text(args, "cert", o->certificate, sizeof(o->certificate), err) &&
           !dsql_args_text(args, "key", o->key, sizeof(o->key), err) &&
           !dsql_args_text(args, "operators", o->operators, sizeof(o->operators), err) &&
           !dsql_args_number(args, "user-clients", 1, 1000000, &o->user_clients_max, err) &&
           !dsql_args_duration(args, "login", DSQL_MS, DSQL_H, &o->login_ns, err) &&
           (!map || !read_map(map, setup, err));
}

enum dsql_rc dsql_proxy_read_options(const struct dsql_args *args, struct dsql_proxy_setup *setup,
                                     struct dsql_err *err)
{
    struct dsql_proxy_options *o = &setup->proxy;
    int64_t port = DEFAULT_PORT, retries = 0;
    *setup = (struct dsql_proxy_setup){.drain_ns = 30 * DSQL_S,
                                       .handover_path = dsql_args_get(args, "handover")};
    *o = (struct dsql_proxy_options){
        .clients_max = 10000,
        .wait_ns = 30 * DSQL_S,
        .login_ns = 30 * DSQL_S,
        .clock = &dsql_clock_system,
    };
    enum dsql_rc rc = dsql_pool_options_env(&setup->pool, err);
    if (rc)
        return rc;
    bool ok = !dsql_args_number(args, "port", 0, UINT16_MAX, &port, err) &&
              !dsql_args_number(args, "connections", 1, 10000, &setup->connections, err) &&
              !dsql_args_number(args, "clients", 1, 1000000, &o->clients_max, err) &&
              !dsql_args_number(args, "retry-conflicts", 0, 100, &retries, err) &&
              !read_compat(args, &o->strict, err) &&
              !dsql_args_duration(args, "wait", DSQL_MS, DSQL_H, &o->wait_ns, err) &&
              !dsql_args_duration(args, "drain", 0, DSQL_H, &setup->drain_ns, err) &&
              read_entry(args, setup, err) && !read_address(args, &setup->address, err) &&
              !check_endpoint(&setup->pool, err);
    o->port = (uint16_t)port;
    o->retries = (int)retries;
    return ok ? DSQL_OK : DSQL_INVALID;
}

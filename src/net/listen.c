#include "net/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/strbuf.h"

bool dsql_address_is_local(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    if (address->sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
    return address->sa_family == AF_UNIX;
}

uint16_t dsql_address_port(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)address)->sin_port);
    if (address->sa_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    return 0;
}

enum dsql_rc dsql_listen_tcp(const char *address, uint16_t *port, int backlog, int *fd,
                             struct dsql_err *err)
{
    struct sockaddr_storage where = {0};
    struct sockaddr_in *v4 = (struct sockaddr_in *)&where;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&where;
    socklen_t len = sizeof(*v4);
    int yes = 1;
    if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(*port);
    } else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(*port);
        len = sizeof(*v6);
    } else {
        return dsql_err_set(err, DSQL_INVALID, "%.100s is no numeric address", address);
    }
    int made = socket(where.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(made, (const struct sockaddr *)&where, len) != 0 || listen(made, backlog) != 0 ||
        getsockname(made, (struct sockaddr *)&where, &len) != 0) {
        (void)dsql_err_set(err, DSQL_IO, "can't listen on %.100s:%u: %s", address, (unsigned)*port,
                           strerror(errno));
        dsql_err_hint(err, "choose another --port, or 0 for any");
        if (made >= 0)
            close(made);
        return DSQL_IO;
    }
    *port = dsql_address_port((const struct sockaddr *)&where);
    *fd = made;
    return DSQL_OK;
}

enum dsql_rc dsql_listen_loopback(uint16_t *port, int backlog, int *fd, struct dsql_err *err)
{
    return dsql_listen_tcp("127.0.0.1", port, backlog, fd, err);
}

bool dsql_unix_address(const char *path, struct sockaddr_un *address)
{
    struct dsql_strbuf text;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    dsql_strbuf_init(&text, address->sun_path, sizeof(address->sun_path));
    dsql_strbuf_add_str(&text, path);
    return !text.cut;
}

enum dsql_rc dsql_listen_unix(const char *path, mode_t mode, int backlog, int *fd,
                              struct dsql_err *err)
{
    struct sockaddr_un address;
    if (!dsql_unix_address(path, &address))
        return dsql_err_set(err, DSQL_INVALID, "the path %.100s is too long for a socket", path);
    (void)unlink(path);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    mode_t old = umask(0777 & ~mode);
    bool ok = made >= 0 && bind(made, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
              listen(made, backlog) == 0;
    (void)umask(old);
    if (!ok) {
        (void)dsql_err_set(err, DSQL_IO, "can't listen at %.200s: %s", path, strerror(errno));
        if (made >= 0)
            close(made);
        return DSQL_IO;
    }
    *fd = made;
    return DSQL_OK;
}

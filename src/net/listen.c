#include "net/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/strbuf.h"

enum dsql_rc dsql_listen_loopback(uint16_t *port, int backlog, int *fd, struct dsql_err *err)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(*port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    int yes = 1;
    int made = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
        bind(made, (const struct sockaddr *)&address, len) != 0 || listen(made, backlog) != 0 ||
        getsockname(made, (struct sockaddr *)&address, &len) != 0) {
        (void)dsql_err_set(err, DSQL_IO, "can't listen on 127.0.0.1:%u: %s", (unsigned)*port,
                           strerror(errno));
        dsql_err_hint(err, "choose another --port, or 0 for any");
        if (made >= 0)
            close(made);
        return DSQL_IO;
    }
    *port = ntohs(address.sin_port);
    *fd = made;
    return DSQL_OK;
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
